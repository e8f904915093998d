"""Tests the questions of the command line as functions: results equal the program's JSON and have attributes, HTML,
frames and plots.
"""
import contextlib
import json
import pickle
import subprocess
import tempfile
import unittest
import unittest.mock
from html.parser import HTMLParser
from pathlib import Path

import headroom
from headroom import _html, _program
from support import BERT, BINARY, RESNET, ROOT

FUSED, LOADER = (
    ROOT / "data/samples" / name for name in ("bert_base_fused_bf16_h200.json.gz", "loader_one_worker.pftrace.gz")
)


def program(*words):
    done = subprocess.run([BINARY, *map(str, words), "--json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


class Text(HTMLParser):
    """The visible text of HTML, and a count of elements that were never closed."""

    def __init__(self, source):
        super().__init__()
        self.text, self.open = "", 0
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.open += tag not in ("br",)

    def handle_endtag(self, tag):
        self.open -= 1

    def handle_data(self, data):
        self.text += data


class Answers(unittest.TestCase):
    scratch: Path

    @classmethod
    def setUpClass(cls):
        cls.scratch = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="headroom-test-")))

    def test_the_same_json_as_the_command_line(self):
        trace = headroom.load(RESNET)
        for answer, words in (
            (trace.report(), ("report", RESNET)),
            (trace.whatif(["amp"]), ("whatif", RESNET, "amp")),
            (headroom.predict(RESNET, gpu=["A100-80", "L4"]), ("predict", RESNET, "--gpu", "A100-80,L4")),
            (trace.predict(gpu="L4", total_steps=1000), ("predict", RESNET, "--gpu", "L4", "--total-steps", "1000")),
            (
                trace.scale(gpus=[1, "2x4"], bandwidth_gbps=100),
                ("scale", RESNET, "--gpus", "1,2x4", "--bandwidth-gbps", 100),
            ),
            (headroom.diff(BERT, FUSED), ("diff", BERT, FUSED)),
            (headroom.load(BERT).diff(FUSED, steps=(4, 5)), ("diff", BERT, FUSED, "--steps", "4:5")),
            (headroom.data(LOADER, "workers=3"), ("data", LOADER, "workers=3")),
        ):
            with self.subTest(words):
                self.assertEqual(answer, program(*words))
                self.assertEqual(answer.to_dict(), program(*words))

    def test_defaults_are_those_of_the_command_line(self):
        self.assertEqual(headroom.predict(RESNET), program("predict", RESNET))
        self.assertEqual(headroom.scale(RESNET), program("scale", RESNET))

    def test_attributes_and_copies(self):
        report = headroom.report(RESNET)
        self.assertEqual(report.bottleneck.verdict, report["bottleneck"]["verdict"])
        self.assertEqual(report.findings[0].saves_ms.mid, report["findings"][0]["saves_ms"]["mid"])
        with self.assertRaisesRegex(AttributeError, "no 'bottelneck'; the keys are .*bottleneck"):
            report.bottelneck
        self.assertIn("bottleneck", dir(report))
        self.assertAlmostEqual(sum(report.parts().values()), report.step_breakdown.of_ms, places=6)
        again = pickle.loads(pickle.dumps(report))
        self.assertEqual((type(again), again), (type(report), report))
        self.assertIs(type(report.to_dict()["bottleneck"]), dict)

    def test_headlines_and_html(self):
        for answer, words, cells in (
            (
                headroom.report(RESNET),
                "GPU-bound: the GPU works 95.4 % of the mean step",
                ("GPU-bound: the GPU works", "backward", "tensor cores"),
            ),
            (headroom.whatif(RESNET), "step 79.6 ms; amp saves", ("fused-optimizer", "speedup")),
            (headroom.predict(RESNET, gpu=["A100-80", "L4"]), "fastest: A100-80", ("NVIDIA L4", "peak memory")),
            (headroom.scale(RESNET, gpus=8, bandwidth_gbps=100), "8 GPUs: efficiency", ("100 Gbit/s",)),
            (
                headroom.diff(BERT, FUSED),
                "the runs are not comparable",
                ("host wait", "aten::_fused_adamw_", "math_dtype"),
            ),
            (headroom.whatif(RESNET, ["fp8"]), "fp8: no forecast: ", ("fp8",)),
            (headroom.whatif(LOADER, ["data-loading"]), "data-loading saves up to 39", ("up to",)),
            (headroom.data(LOADER), "bound by preparation; 97 %", ("Crop", "workers=6")),
        ):
            with self.subTest(words):
                self.assertIn(words, str(answer))
                self.assertIn(words, repr(answer))
                page = Text(answer._repr_html_())
                self.assertEqual(page.open, 0)
                for cell in cells:
                    self.assertIn(cell, page.text)
                self.assertNotIn("None", page.text)

    def test_names_of_a_trace_are_text_in_html(self):
        forecasts = headroom.whatif(RESNET, ["amp"])
        forecasts.scenarios[0]["why"] = "<script>alert(1)</script>"
        self.assertNotIn("<script>", forecasts._repr_html_())

    def test_functions_stay_functions(self):
        """Importing a submodule binds its name in the package, which must not hide a function."""
        headroom.load(RESNET).show()
        for name in headroom.__all__:
            getattr(headroom, name)
        for name in ("data", "diff", "page", "predict", "report", "scale", "slice", "whatif"):
            self.assertTrue(callable(getattr(headroom, name)), name)
        self.assertTrue(callable(headroom.data.bench))

    def test_a_loaded_trace_and_another_folder(self):
        report = headroom.report(headroom.load(RESNET))
        self.assertEqual(report, program("report", RESNET))
        with contextlib.chdir(RESNET.parent):
            trace = headroom.load(RESNET.name)
        self.assertEqual(trace.path, RESNET.name)
        self.assertEqual(trace.predict(gpu="L4").targets[0].gpu, "L4")

    def test_rare_figures(self):
        """Values that the schemas allow and the samples lack."""
        loading = headroom.data(LOADER, "workers=3")
        self.assertIn("workers=3", loading._repr_html_())
        loading["bound"], loading["forecast"], loading["no_forecast"] = "none", None, "no loader"
        self.assertIn("not input-bound", str(loading))
        self.assertIn("no loader", loading._repr_html_())
        several = headroom.predict([RESNET, BERT], gpu=["L4", "A100-80"])
        self.assertIn("several jobs", str(several))
        self.assertIn("resnet50", Text(several._repr_html_()).text)
        self.assertEqual(_html.interval({"low": 1234.5, "mid": 1500, "high": 2000}), "1.5 s (1.23&ndash;2)")
        self.assertEqual(_html.interval({"low": 1, "mid": 2, "high": None}), "2 ms")
        report = headroom.report(RESNET)
        devices = [{"device": 0, "peak_bytes": 2**31}, {"device": None, "peak_bytes": 2**40}]  # The last: the host.
        report["memory"] = {"devices": devices}
        self.assertIn("2 GiB", report._repr_html_())
        # The words of the command line: a bound is no saving, and faster hardware no change.
        bert = headroom.whatif(BERT)
        self.assertIn("saves up to 33.8 ms", str(bert))
        bert.scenarios[:] = [row for row in bert.scenarios if row.name in ("host-speed", "fused-optimizer")]
        self.assertIn("fused-optimizer saves 15 ms", str(bert))
        self.assertIn("up to 33.8 ms", headroom.report(BERT)._repr_html_())

    def test_a_gate_is_a_result(self):
        passed = headroom.diff(BERT, BERT, gate="gpu_tasks<=+0%")
        self.assertIs(passed.passed, True)
        failed = headroom.diff(BERT, FUSED, gate=["step_ms<=+3%", "gpu_tasks<=+0%"])
        self.assertIs(failed.passed, False)
        self.assertIs(headroom.diff(BERT, BERT).passed, None)

    def test_refusals(self):
        for error, words, ask in (
            (ValueError, "unknown GPU 'H1000'", lambda: headroom.predict(RESNET, gpu="H1000")),
            (ValueError, "--no-such: no such flag", lambda: headroom.scale(RESNET, gpus=2, no_such=1)),
            (headroom.TraceError, "nowhere.json: cannot open", lambda: headroom.predict("nowhere.json", gpu="L4")),
            (headroom.TraceError, "-dash.json: cannot open", lambda: headroom.data("-dash.json")),
            (ValueError, "requires a trace for each of a and b", lambda: headroom.diff([], RESNET)),
            (ValueError, "output: not supported here", lambda: headroom.predict(RESNET, gpu="L4", output="x")),
            (TypeError, "a path or a loaded trace, not NoneType", lambda: headroom.report(None)),
            (TypeError, "steps: requires a pair .* not '3:4'", lambda: headroom.report(RESNET, steps="3:4")),
            (ValueError, "unknown GPU '5'", lambda: headroom.predict(RESNET, gpu=5)),  # type: ignore[arg-type]
            (TypeError, "or a list of them, not int", lambda: headroom.data(3)),  # type: ignore[arg-type]
            (TypeError, "a path or a pandas DataFrame, not list", lambda: headroom.predict(gpu="L4", ops=[1])),
            (
                KeyError,
                "not a list of Report; its lists are .*kernels",
                lambda: headroom.report(RESNET).to_pandas("steps"),
            ),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                ask()
        with unittest.mock.patch("headroom.__main__.find_program", return_value=None):
            with self.assertRaisesRegex(ImportError, "has only the Python module"):
                headroom.data(LOADER)

    def test_flags(self):
        self.assertEqual(
            _program.flags_of(
                {"with_": "a", "steps": (3, 4), "full": True, "rank": None, "also_b": ["x", "y"], "top": 0}
            ),
            ["--with", "a", "--steps", "3:4", "--full", "--also-b", "x", "--also-b", "y", "--top", "0"],
        )

    def test_slice(self):
        part = headroom.slice(RESNET, self.scratch / "part.json.gz", steps=(4, 5))
        self.assertEqual([step.index for step in headroom.report(part).steps.list][-2:], [4, 5])

    def test_the_page(self):
        page = headroom.load(RESNET).show(height=500)
        self.assertIn("height:500px", page._repr_html_())
        file = page.save(self.scratch / "page.html")
        self.assertEqual(file.read_text(encoding="utf-8"), page.text)
        self.assertTrue(page.text.startswith("<!doctype html>"), page.text[:40])

    def test_frames(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("no pandas")
        frame = headroom.predict(RESNET, gpu=["A100-80", "L4"]).to_pandas()
        self.assertEqual(list(frame.gpu), ["A100-80", "L4"])
        self.assertIn("step_ms.mid", frame.columns)
        kernels = pandas.DataFrame(
            {
                "op": ["linear", "linear"],
                "b": [1, 1],
                "m": [64, 512],
                "k": [256, 1024],
                "n": [256, 1024],
                "latency_ms": [0.02, 0.2],
            }
        )
        predicted = headroom.predict_kernels(kernels, source="T4", target="L4")
        self.assertEqual(list(predicted.op), list(kernels.op))
        self.assertTrue((predicted.predicted_ms > 0).all())
        file = self.scratch / "kernels.csv"
        kernels.to_csv(file, index=False)
        self.assertTrue(headroom.predict_kernels(file, source="T4", target="L4").equals(predicted))

    def test_plots(self):
        try:
            import matplotlib
        except ImportError:
            self.skipTest("no matplotlib")
        matplotlib.use("agg")
        for answer in (
            headroom.report(RESNET),
            headroom.whatif(RESNET, ["amp", "tf32"]),
            headroom.predict(RESNET, gpu=["A100-80", "L4"]),
            headroom.scale(RESNET, gpus=[1, 2, 8], bandwidth_gbps=100),
            headroom.diff(BERT, FUSED),
        ):
            with self.subTest(type(answer).__name__):
                ax = answer.plot()
                self.assertTrue(ax.patches or ax.lines)
                ax.figure.savefig(self.scratch / f"{type(answer).__name__}.png")
        bars = headroom.diff(BERT, FUSED).plot().patches
        self.assertAlmostEqual(bars[0].get_height(), headroom.diff(BERT, FUSED).step_ms.a)


if __name__ == "__main__":
    unittest.main()
