"""The `check` command of every finding runs, and prints the figure that the finding quotes."""
import os
import re
import subprocess
import unittest

from integration import support

GOLDENS = ("host-bound-two-steps", "gpu-bound", "communication-exposed-and-hidden", "copy-to-device-exposed")
REAL = ("h200/traces/bert_base_amp-fp16.json.gz", "h200/traces/vgg19_fp32.json.gz", "h200/traces/gpt2_fp32.json.gz",
        "h200/traces/resnet50_bs-8.json.gz", "public-traces/hta__nccl_parser_config__nccl_data.json.gz",
        "public-traces/tracelens__mi300__resnet_act_checkpoint.json.gz",
        "public-traces/hta__trace_filter__sampled_rank-0.json.gz")

# A number with a unit, not part of a name: 62 %, 1.25 ms, 3x, 4,467 kernels are figures; sm90 and fp32 are not.
FIGURE = re.compile(r"(?<![\w.#-])(\d[\d,]*(?:\.\d+)?)\s?(?:%|ns\b|us\b|ms\b|s\b|x\b|[KMG]i?B\b|bytes\b|\w+s\b)")


def figures(text):
    return [f.replace(",", "") for f in FIGURE.findall(text)]


def shows(output, figure):
    """Whether the figure is in the output as a number of its own, thousands separated or not, as printed or exact."""
    places = len(figure.partition(".")[2])
    for word in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w*\d)", output):
        if round(float(word.replace(",", "")), places) == float(figure):
            return True
    return False


class Reading(unittest.TestCase):
    """The two helpers, without the program."""

    def test_figures(self):
        self.assertEqual(figures("GPU idle 62.5 % of 1,250 us, 3x, 4,467 kernels on sm90 in fp32, step #4"), ["62.5", "1250", "3", "4467"])

    def test_shows(self):
        self.assertTrue(shows('{"idle_ms": 1250.0}', "1250"))
        self.assertTrue(shows("share 62.4999", "62.5"))
        self.assertTrue(shows("1,250 us", "1250"))
        self.assertFalse(shows("11250 us, 12.50", "1250"))
        self.assertFalse(shows("sm1250", "1250"))


class Checks(support.ProgramTest):
    def run_check(self, command, cwd):
        link = self.scratch / "headroom"
        if not link.exists():
            link.symlink_to(support.BINARY)
        return subprocess.run(["sh", "-c", command], cwd=cwd, capture_output=True, timeout=120,
                              env={**os.environ, "PATH": f"{self.scratch}:{os.environ['PATH']}"})

    def check_findings(self, path):
        report = self.report(path.name, cwd=path.parent)
        for finding in report["findings"]:
            with self.subTest(f"{path.name}: {finding['id']}"):
                done = self.run_check(finding["check"], path.parent)
                self.assertEqual(done.returncode, 0, (finding["check"], done.stderr))
                quoted = figures(finding["title"]) or figures(" ".join(finding["evidence"]))
                self.assertTrue(quoted, f"neither title nor evidence holds a figure: {finding}")
                shown = done.stdout.decode()
                for figure in quoted:
                    self.assertTrue(shows(shown, figure), f"{figure} of {finding['title']!r} is not in the output of {finding['check']}")
        return report["findings"]

    def test_goldens(self):
        found = {name: self.check_findings(support.GOLDEN / name / "trace.json") for name in GOLDENS}
        self.assertTrue(found["host-bound-two-steps"], "a host-bound trace without a finding")

    def test_real_traces(self):
        for name in REAL:
            self.assertTrue(self.check_findings(support.data_file(name)) is not None)
