"""Tests headroom.log_summary(): the figures of the OpenMetrics export, and the calls to each client.

wandb, mlflow and tensorboard are not installed here. Fakes have the documented signatures.
"""
import json
import re
import subprocess
import unittest

import headroom
import support


class WandbRun:
    """Fakes wandb.Run. wandb.log() has the same signature."""

    def __init__(self):
        self.calls = []

    def log(self, data, step=None, commit=None):
        self.calls.append((data, step))


class Mlflow:
    """Fakes the module: mlflow.log_metrics(metrics, step=None, synchronous=None, run_id=None, timestamp=None, ...)."""

    NAME = re.compile(r"[\w\-. :/]+")  # Names that MLflow accepts.

    def __init__(self):
        self.calls = []

    def log_metrics(self, metrics, step=None, synchronous=None, run_id=None, timestamp=None):
        for name, value in metrics.items():
            if not self.NAME.fullmatch(name) or not isinstance(value, (int, float)):
                raise ValueError(name)
        self.calls.append((metrics, step))

    def log_metric(self, *_):
        raise AssertionError("one by one would be a request each")


class SummaryWriter:
    """Fakes torch.utils.tensorboard.SummaryWriter."""

    def __init__(self):
        self.calls = []

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        self.calls.append((tag, scalar_value, global_step))


class Summary(unittest.TestCase):
    report: dict

    @classmethod
    def setUpClass(cls):
        cls.report = headroom.report(support.RESNET)

    def exported(self, trace):
        """Returns the output of `headroom export --to openmetrics`, by the names of summary()."""
        done = subprocess.run(
            [support.BINARY, "export", trace, "--to", "openmetrics", "-o", "-", "-q"],
            capture_output=True,
            check=True,
            text=True,
        )
        out = {}
        for line in done.stdout.splitlines():
            if not line.startswith("#"):
                name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
                values = [text for key, text in re.findall(r'(\w+)="([^"]*)"', labels or "") if key != "rank"]
                out["/".join([name, *values])] = float(value)
        return out

    def test_the_figures_are_those_of_openmetrics(self):
        for trace in (support.RESNET, support.BERT):
            want, got = self.exported(trace), headroom.summary(trace)
            self.assertEqual(list(want), list(got))
            for name, value in want.items():
                self.assertAlmostEqual(got[name], value, delta=1e-9 * max(1, value), msg=name)

    def test_the_key_figures_are_there(self):
        got = headroom.summary(self.report)
        self.assertEqual(got["headroom_step_seconds/p50"], self.report["steps"]["p50_ms"] / 1e3)
        self.assertEqual(got["headroom_mfu_ratio"], self.report["efficiency"]["mfu_pct"] / 100)
        self.assertTrue(0.9 < got["headroom_step_gpu_busy_ratio"] <= 1)
        parts = sum(value for name, value in got.items() if name.startswith("headroom_step_part_seconds/"))
        self.assertAlmostEqual(parts, self.report["step_breakdown"]["wall_ms"] / 1e3)
        for finding in self.report["findings"]:
            self.assertIn(f"headroom_finding_share_ratio/{finding['id']}", got)

    def test_calls_of_each_client(self):
        for step in (None, 100):
            clients: list = [WandbRun(), Mlflow()]
            for client in clients:
                logged = headroom.log_summary(self.report, client, step)
                self.assertEqual(client.calls, [(logged, step)])
                self.assertEqual(logged, headroom.summary(self.report))
            writer = SummaryWriter()
            logged = headroom.log_summary(headroom.load(support.RESNET), writer, step=step)
            self.assertEqual(writer.calls, [(name, value, step) for name, value in logged.items()])

    def test_what_is_refused(self):
        run = WandbRun()
        self.assertRaisesRegex(TypeError, "SummaryWriter", headroom.log_summary, self.report, object())
        self.assertRaisesRegex(
            ValueError, "headroom.report", headroom.log_summary, {"schema": "headroom.whatif/1"}, run
        )
        two = {**self.report, "inputs": self.report["inputs"] * 2}
        self.assertRaisesRegex(ValueError, "2 traces", headroom.log_summary, two, run)
        self.assertRaises(headroom.TraceError, headroom.log_summary, __file__, run)
        self.assertEqual(run.calls, [])

    def test_a_trace_without_gpu_work(self):
        done = subprocess.run(
            [support.BINARY, "report", support.ROOT / "data/samples/loader_one_worker.pftrace.gz", "--json"],
            capture_output=True,
            check=True,
        )
        got = headroom.summary(json.loads(done.stdout))
        self.assertIn("headroom_step_seconds/p50", got)
        self.assertFalse(
            any(name.startswith(("headroom_gpu_time", "headroom_step_gpu_busy", "headroom_mfu")) for name in got)
        )


if __name__ == "__main__":
    unittest.main()
