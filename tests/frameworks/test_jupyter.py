"""JupyterLab: a kernel runs a notebook that uses headroom, and Chromium shows it."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import unittest
import urllib.request

from frameworks.programs import SAMPLE, FrameworkTest
from integration import support

CELLS = (
    "import headroom",
    f"trace = headroom.load({str(SAMPLE)!r})\ntrace",
    "trace.report()['steps']['p50_ms']",
    "trace.report()",
    "trace.show(height=500)",
    "trace.predict(gpu=['A100-80', 'L4'])",
    "with headroom.scope('cell'):\n    pass\nheadroom.stats('cell').count",
)
# Prints what the page of a notebook shows: the text of the notebook, that of the frame, and errors of both.
BROWSER = """
const { createRequire } = require('module');
const [root, address, picture] = process.argv.slice(2);
const { chromium } = createRequire(root + '/ui/package.json')('playwright-core');
(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
  const page = await browser.newPage({ viewport: { width: 1300, height: 2200 } });
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  await page.goto(address);
  await page.waitForSelector('.jp-RenderedHTML table', { timeout: 90000 });
  const frame = await (await page.waitForSelector('iframe[title=Headroom]')).contentFrame();
  await frame.waitForSelector('h2', { timeout: 30000 });
  const bars = await page.locator('.headroom [role=img] > div').count();
  await page.screenshot({ path: picture });
  console.log(JSON.stringify({
    notebook: await page.innerText('.jp-Notebook'), frame: await frame.innerText('body'), bars, errors,
  }));
  await browser.close();
})();
"""


def notebook(cells):
    return {
        "cells": [
            {
                "cell_type": "code",
                "id": f"cell-{i}",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": cell,
            }
            for i, cell in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


class Jupyter(FrameworkTest):
    def test_a_notebook(self):
        path = self.write("notebook.ipynb", json.dumps(notebook(CELLS)))
        outcome = support.run(
            [sys.executable, "-m", "jupyter", "execute", "--inplace", path], seconds=120, environment=self.environment
        )
        self.assertEqual(outcome.code, 0, f"{outcome}\n{outcome.message}")
        texts = [
            "".join("".join(output["data"]["text/plain"]) for output in cell["outputs"])
            for cell in json.loads(path.read_text())["cells"]
        ]
        self.assertIn("<headroom.Report: GPU-bound: the GPU works", texts[3])
        self.assertEqual(texts[0], "")
        self.assertIn(SAMPLE.name, texts[1])
        self.assertEqual(float(texts[2]), self.report(SAMPLE)["steps"]["p50_ms"])
        self.assertEqual(texts[-1], "1")
        self.look(path)

    def look(self, path):
        """Opens the executed notebook in JupyterLab and requires that the page, the bar and the tables are visible."""
        browser = shutil.which("chromium")
        if browser is None or not (support.ROOT / "ui/node_modules/playwright-core").exists():
            raise unittest.SkipTest("no chromium, or no packages of the page (tools/test_page installs them)")
        jupyter = [sys.executable, "-m", "jupyter"]
        trusted = support.run([*jupyter, "trust", path], seconds=60, environment=self.environment)
        self.assertEqual(trusted.code, 0, trusted)  # JupyterLab shows scripts of trusted notebooks only.
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        server = subprocess.Popen(
            [
                *(*jupyter, "lab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"),
                *("--ServerApp.token=secret", f"--ServerApp.root_dir={path.parent}", "--ServerApp.port_retries=0"),
            ],
            env={**os.environ, **self.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            address = f"http://127.0.0.1:{port}/lab/tree/{path.name}?token=secret"
            for _ in range(120):
                try:
                    urllib.request.urlopen(address, timeout=10).close()
                    break
                except OSError:
                    time.sleep(0.5)
            script = self.write("look.cjs", BROWSER)
            shown = support.run(
                ["node", script, support.ROOT, address, self.scratch / "notebook.png"],
                seconds=180,
                environment={**self.environment, "CHROMIUM": browser},
            )
        finally:
            server.terminate()
            server.wait(30)
        self.assertEqual(shown.code, 0, f"{shown}\n{shown.message}")
        seen = json.loads(shown.text.splitlines()[-1])
        self.assertEqual(seen["errors"], [])
        self.assertGreaterEqual(seen["bars"], 3)
        for words in ("GPU-bound: the GPU works", "what to do", "NVIDIA L4", "peak memory"):
            self.assertIn(words, seen["notebook"])
        for words in ("Headroom", "What if", "GPU-bound"):
            self.assertIn(words, seen["frame"])
