"""Tests counters over time, as the page of `headroom ui` draws them. They equal the report's figures, part by part."""
import json

import jsonschema

from integration import support
from integration.page_server import LOCAL, Server

LOADER = support.ROOT / "data/samples/loader_one_worker.pftrace.gz"


def counter(name, pid, time_us, value, series="value"):
    return {"ph": "C", "name": name, "pid": pid, "tid": 0, "ts": time_us, "args": {series: value}}


class Metrics(support.ProgramTest):
    def ask(self, trace):
        server = Server(trace)
        self.addCleanup(server.stop)
        status, answer = server.ask("metrics")
        self.assertEqual(status, 200, answer)
        jsonschema.validate(answer, json.loads((support.ROOT / "docs/schema/metrics-1.json").read_text()))
        return answer, support.headroom("report", trace, "--json", LOCAL).json()

    def of_chrome(self, events):
        """Returns the answer for a Chrome trace with these events."""
        return self.ask(self.write("trace.json", json.dumps({"traceEvents": events})))

    def test_each_row_of_the_report_has_its_curve(self):
        answer, report = self.ask(LOADER)
        self.assertEqual(
            [(step["index"], step["start_ms"]) for step in answer["steps"]],
            [(step["index"], step["start_ms"]) for step in report["steps"]["list"]],
        )
        curves = {
            (metric["name"], metric["unit"], curve["instance"]): curve["points"]
            for metric in answer["metrics"]
            for curve in metric["curves"]
        }
        self.assertGreater(len(report["metrics"]), 40)
        for row in report["metrics"]:
            points = curves[row["name"], row["unit"], row["instance"]]
            self.assertEqual(min(point[1] for point in points), row["min"], row)
            self.assertEqual(max(point[3] for point in points), row["max"], row)
            self.assertLessEqual(len(points), row["samples"])
            self.assertEqual([point[0] for point in points], sorted({point[0] for point in points}))

    def test_an_empty_queue_shows_among_samples_too_close_to_be_drawn_apart(self):
        # 10,000 samples: three batches once in ten, else none.
        answer, report = self.of_chrome(
            [counter("loader.ready", 1, 10 * i, 3 if i % 10 == 0 else 0) for i in range(10_000)]
        )
        (metric,) = answer["metrics"]
        (curve,) = metric["curves"]
        self.assertEqual((metric["name"], curve["instance"]), ("loader.ready", report["metrics"][0]["instance"]))
        self.assertEqual(len(curve["points"]), answer["buckets"])
        for _, least, mean, most in curve["points"]:
            self.assertEqual((least, most), (0, 3))
            self.assertAlmostEqual(mean, 0.3, delta=0.1)

    def test_each_process_has_a_curve_of_its_own(self):
        answer, report = self.of_chrome(
            [counter("util", pid, time, value) for time in (0, 1000) for pid, value in ((1, 10), (2, 90))]
        )
        self.assertEqual([(row["min"], row["max"]) for row in report["metrics"]], [(10, 90)])
        self.assertEqual(
            [[point[2] for point in curve["points"]] for curve in answer["metrics"][0]["curves"]], [[10, 10], [90, 90]]
        )
        self.assertEqual(len({curve["process"] for curve in answer["metrics"][0]["curves"]}), 2)

    def test_of_many_those_that_vary_most(self):
        answer, report = self.of_chrome(
            [counter("cpu", 1, time, 50 + core * time, str(core)) for core in range(128) for time in (0, 1)]
        )
        self.assertEqual(len(report["metrics"]), 128)
        (metric,) = answer["metrics"]
        self.assertEqual((len(metric["curves"]), metric["left_out"]), (16, 112))
        self.assertEqual({curve["instance"] for curve in metric["curves"]}, {str(core) for core in range(112, 128)})

    def test_a_trace_without_counters_has_none(self):
        answer, _ = self.ask(support.ROOT / "data/samples/resnet50_fp32_h200.json.gz")
        self.assertEqual(answer["metrics"], [])
        self.assertGreater(len(answer["steps"]), 0)
