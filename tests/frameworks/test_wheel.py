"""The wheel, installed by pip into a fresh virtual environment with a current NumPy."""

import os
import subprocess
import sys

from frameworks.programs import SAMPLE, FrameworkTest
from integration import support

PROGRAM = f"""
import headroom, numpy
trace = headroom.load({str(SAMPLE)!r})
graph = trace.Graph()
graph.select(family="matmul").scale(0.5)
names = trace.query("select name from kernels")
print(numpy.__version__.split(".")[0], graph.replay().step_ms < graph.step_ms, len(names))
print(headroom.predict(trace, gpu="L4").targets[0].gpu, trace.tables.gpu_tasks.duration_ns.sum() > 0)
"""


class Wheel(FrameworkTest):
    def run_well(self, *command, **environment):
        done = subprocess.run(
            [str(word) for word in command],
            env={**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, **environment},
            cwd=self.scratch,
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_in_a_fresh_environment(self):
        python = self.scratch / "venv/bin/python"
        self.run_well(sys.executable, "-m", "venv", self.scratch / "venv")
        pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet")
        self.run_well(*pip, "install", "setuptools", "wheel")
        self.run_well(
            *(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", self.scratch, support.ROOT),
            HEADROOM_BUILD=str(support.BINARY.parent),
        )
        (wheel,) = self.scratch.glob("headroom-*.whl")
        self.assertIn("-cp39-abi3-", wheel.name)
        self.run_well(*pip, "install", wheel, "numpy")
        command = python.parent / "headroom"
        self.assertIn("GPU-bound", self.run_well(command, "report", SAMPLE))
        listed = self.run_well(python, "-c", PROGRAM)
        self.assertRegex(listed, r"^2 True \d+\nL4 True\n$")
        # The installed program finds what it injects into recorded programs.
        loop = self.write("loop.py", "import headroom\nfor i in range(5):\n    with headroom.step(i):\n        pass\n")
        recording = self.scratch / "r.pftrace"
        self.run_well(command, "record", "-o", recording, "--", python, loop)
        self.assertEqual(self.report(recording)["steps"]["count"], 5)
