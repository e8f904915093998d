"""Tests that the `check` command of every finding runs, and prints the figure that the finding quotes."""
import os
import subprocess

from integration import support

GOLDENS = ("host-bound-two-steps", "gpu-bound", "communication-exposed-and-hidden", "copy-to-device-exposed")
REAL = (
    "h200/traces/bert_base_amp-fp16.json.gz",
    "h200/traces/vgg19_fp32.json.gz",
    "h200/traces/gpt2_fp32.json.gz",
    "h200/traces/resnet50_bs-8.json.gz",
    "public-traces/hta__nccl_parser_config__nccl_data.json.gz",
    "public-traces/tracelens__mi300__resnet_act_checkpoint.json.gz",
    "public-traces/hta__trace_filter__sampled_rank-0.json.gz",
)


class Checks(support.ProgramTest):
    def run_check(self, command, cwd):
        link = self.scratch / "headroom"
        if not link.exists():
            link.symlink_to(support.BINARY)
        return subprocess.run(
            ["sh", "-c", command],
            cwd=cwd,
            capture_output=True,
            timeout=120,
            env={**os.environ, "PATH": f"{self.scratch}:{os.environ['PATH']}"},
        )

    def check_findings(self, path):
        report = self.report(path.name, cwd=path.parent)
        for finding in report["findings"]:
            with self.subTest(f"{path.name}: {finding['id']}"):
                done = self.run_check(finding["check"], path.parent)
                self.assertEqual(done.returncode, 0, (finding["check"], done.stderr))
                self.assertTrue(finding["figure"], f"no figure: {finding}")
                self.assertIn(finding["figure"], " ".join([finding["title"], *finding["evidence"]]))
                self.assertIn(finding["figure"], done.stdout.decode(), f"not in the output of {finding['check']}")
        return report["findings"]

    def test_goldens(self):
        found = {name: self.check_findings(support.GOLDEN / name / "trace.json") for name in GOLDENS}
        self.assertTrue(found["host-bound-two-steps"], "a host-bound trace without a finding")

    def test_real_traces(self):
        for name in REAL:
            self.assertTrue(self.check_findings(support.data_file(name)), f"{name} without a finding")
