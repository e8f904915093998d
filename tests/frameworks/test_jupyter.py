"""JupyterLab: a kernel runs a notebook that uses headroom."""

import json
import sys

from frameworks.programs import SAMPLE, FrameworkTest
from integration import support

CELLS = (
    "import headroom",
    f"trace = headroom.load({str(SAMPLE)!r})\ntrace",
    "trace.report()['steps']['p50_ms']",
    "with headroom.scope('cell'):\n    pass\nheadroom.stats('cell').count",
)


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
        self.assertEqual(texts[0], "")
        self.assertIn(SAMPLE.name, texts[1])
        self.assertEqual(float(texts[2]), self.report(SAMPLE)["steps"]["p50_ms"])
        self.assertEqual(texts[3], "1")
