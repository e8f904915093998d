"""Runs Python programs that use a framework, on the CPU and without a network, with a scratch folder as HOME."""

import sys
import textwrap

from integration import support

SAMPLE = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"
STEPS = 8
TRAINING = ("train_batch.forward", "train_batch.backward", "train_batch.optimizer")  # Names in `timings`.
OFFLINE_ON_THE_CPU = {
    "CUDA_VISIBLE_DEVICES": "",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "JAX_PLATFORMS": "cpu",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "WANDB_ERROR_REPORTING": "false",
    "WANDB_MODE": "offline",
    "WANDB_SILENT": "true",
}
CACHES = (
    "HF_HOME",
    "IPYTHONDIR",
    "JUPYTER_CONFIG_DIR",
    "WANDB_DIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
)


class FrameworkTest(support.ProgramTest):
    """A test that runs the text of a program in `self.scratch`."""

    def setUp(self):
        super().setUp()
        self.environment = {**OFFLINE_ON_THE_CPU, "HOME": str(self.scratch)}
        for name in CACHES:
            self.environment[name] = str(self.scratch / name.lower())

    def command(self, program, *arguments):
        return [sys.executable, self.write("program.py", textwrap.dedent(program)), *arguments]

    def run_program(self, program, *arguments):
        """Runs the program. Returns its Outcome. Fails if the exit code is not 0."""
        command = self.command(program, *arguments)
        outcome = support.run(command, cwd=self.scratch, seconds=300, environment=self.environment)
        self.assertEqual(outcome.code, 0, f"{outcome}\n{outcome.message}")
        return outcome

    def record(self, program, *arguments):
        """Runs the program under `headroom record`. Returns the recording. Fails if the exit code is not 0."""
        recording = self.scratch / "program.pftrace"
        command = self.command(program, *arguments)
        outcome = support.headroom(
            "record", "-o", recording, "--", *command, cwd=self.scratch, seconds=300, environment=self.environment
        )
        self.assertEqual(outcome.code, 0, f"{outcome}\n{outcome.message}")
        self.assertNotIn("the Python loop is not timed", outcome.message)
        return recording

    def assert_steps(self, report, count):
        """Requires `count` steps, marked in the file, and no health issue of severity error."""
        issues = report["health"]["issues"]
        self.assertEqual([issue for issue in issues if issue["severity"] == "error"], [])
        self.assertEqual(report["steps"]["source"], "annotation")
        self.assertEqual(report["steps"]["count"], count, report["steps"])

    def assert_timings(self, report, *names):
        """Requires one entry per step for each of the timings."""
        counts = {row["name"]: row["count"] for row in report["timings"]}
        self.assertEqual({name: counts.get(name) for name in names}, dict.fromkeys(names, STEPS), report["timings"])
