"""TensorFlow: the profile of a training loop on the CPU."""

import sys

from frameworks.programs import FrameworkTest
from integration import support


class TensorFlow(FrameworkTest):
    def test_steps_and_operations(self):
        job = [sys.executable, support.ROOT / "tests/frameworks/recorded_jobs.py", "tensorflow_steps", self.scratch]
        outcome = support.run(job, cwd=self.scratch, seconds=300, environment=self.environment)
        self.assertEqual(outcome.code, 0, f"{outcome}\n{outcome.message}")
        report = self.report(self.scratch / "tensorflow_steps.xplane.pb")
        self.assert_steps(report, 5)
        operators = [row["name"] for row in report["operators"]]
        self.assertTrue(any(name.startswith("gradient_tape/") for name in operators), operators)
        regions = {row["key"] for row in report["regions"]}
        self.assertEqual([key for key in regions if key.startswith(("TFE_", "Executor", "Kernel", "Iterator::"))], [])
