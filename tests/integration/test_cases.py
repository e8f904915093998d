"""Small inputs after public bug reports, and public files whose first report was wrong. Each has its right value, known
from the raw events (case.md beside the input says how)."""
import gzip
import json

from integration import support


class StepsWithoutMarks(support.ProgramTest):
    """Steps are found from the order of the kernels. Layers are not steps."""

    def steps(self, name):
        return self.report(support.data_file(name))["steps"]

    def test_loops(self):
        folder = "cases/07-loop-without-marks-not-found/"
        for name, count, mean_ms, within in (
            (folder + "loop10.json", 10, 1.75, 0.01),
            (folder + "nsys_loop.sqlite", 10, 17.2, 0.01),
            (folder + "rocprofv3_kernels_only.json.gz", 12, 8.4, 0.01),
            # 16.9 and 15.1 repetitions of 119 kernels.
            ("wild/nsys_ai__mfu_2gpu_before.sqlite", 16, 17.6, 0.01),
            ("wild/nsys_ai__mfu_2gpu_after.sqlite", 15, 19.9, 0.01),
        ):
            with self.subTest(name):
                steps = self.steps(name)
                self.assertEqual((steps["source"], steps["count"]), ("inferred", count))
                self.assertLess(abs(steps["mean_ms"] / mean_ms - 1), within)
                self.assertRegex(steps["marker"], r"^(about )?\d+ kernels in the same order$")

    def test_one_forward_pass(self):
        for name in (
            "cases/06-layers-taken-for-steps/one_forward.json.gz",
            "wild/particle_transformer__forward_batch_2.pt.trace.json.gz",
        ):
            with self.subTest(name):
                self.assertEqual(self.steps(name)["count"], 0)

    def test_ranges_of_servers(self):
        for name, count in (
            ("wild/tracelens__vllm_decode__graph_execution.json.gz", 1),
            ("public-traces/tracelens__inference__sglang_decode__sglang_Qwen3-8B_decode.json.gz", 1),
        ):
            with self.subTest(name):
                steps = self.steps(name)
                self.assertEqual((steps["source"], steps["count"]), ("annotation", count))


class HiddenMarks(support.ProgramTest):
    """A trace without its marks has the same steps."""

    NAMES = (
        "h200/traces/bert_base_amp-fp16.json.gz",
        "h200/traces/resnet50_bs-8.json.gz",
        "h200/traces/vgg19_fp32.json.gz",
        "h200-recurrent/traces/gnmt_fp32.json.gz",
        "public-traces/tracelens__mi300__resnet_act_checkpoint.json.gz",
        "wild/kineto__resnet50_workers_4.pt.trace.json.gz",
    )
    MARKS = ("ProfilerStep", "Optimizer.", "enumerate(")

    def hide(self, path):
        trace = json.loads(gzip.decompress(path.read_bytes()))
        trace["traceEvents"] = [
            event
            for event in trace["traceEvents"]
            if not event.get("cat", "").endswith("user_annotation")
            and not str(event.get("name")).startswith(self.MARKS)
        ]
        return self.write("hidden.json", json.dumps(trace))

    def test_steps_are_the_same(self):
        for name in self.NAMES:
            with self.subTest(name):
                path = support.data_file(name)
                marked, hidden = self.report(path)["steps"], self.report(self.hide(path))["steps"]
                self.assertEqual((marked["source"], hidden["source"]), ("annotation", "inferred"))
                self.assertEqual(hidden["count"], marked["count"])
                self.assertLess(abs(hidden["p50_ms"] / marked["p50_ms"] - 1), 0.03)
