"""Tests a server's trace of captured graphs, with the trace of their capture (vLLM on an MI300X, HIP graphs).

The expected values come from the events: the n-th launch inside the capture belongs to the n-th kernel of the
replay.
"""

import gzip
import json
import shutil

from integration import support

REPLAY = "wild/tracelens__vllm_decode__graph_execution.json.gz"
CAPTURE = "wild/tracelens__vllm_decode__graph_capture.json.gz"
LAUNCHES = ("hipLaunchKernel", "hipModuleLaunchKernel", "hipExtModuleLaunchKernel")


def events_of(path):
    with gzip.open(path) as file:
        return json.load(file)["traceEvents"]


def time_by_operator(replay, capture):
    """Returns GPU time in us by the innermost operator around each captured launch."""
    calls = sorted((e for e in capture if e.get("cat") == "cuda_runtime"), key=lambda e: e["ts"])
    begin = next(e["ts"] for e in calls if e["name"] == "hipStreamBeginCapture")
    end = next(e["ts"] for e in calls if e["name"] == "hipStreamEndCapture")
    launches = [e for e in calls if begin < e["ts"] < end and e["name"] in LAUNCHES]
    graph = next(e["args"]["correlation"] for e in replay if e["name"] == "hipGraphLaunch")
    kernels = sorted(
        (e for e in replay if e.get("cat") == "kernel" and e["args"]["correlation"] == graph), key=lambda e: e["ts"]
    )
    assert [e["args"]["kernel"] for e in launches] == [e["name"] for e in kernels]
    operators = sorted((e for e in capture if e.get("cat") == "cpu_op"), key=lambda e: (e["ts"], -e["dur"]))
    times = {}
    for launch, kernel in zip(launches, kernels):
        around = [o for o in operators if o["ts"] <= launch["ts"] and launch["ts"] < o["ts"] + o["dur"]]
        name = around[-1]["name"]
        times[name] = times.get(name, 0) + kernel["dur"]
    return times


class Captures(support.ProgramTest):
    def setUp(self):
        super().setUp()
        self.replay, self.capture = support.data_file(REPLAY), support.data_file(CAPTURE)

    def rows(self, report, table="operators"):
        return {row["name"]: row for row in report[table]}

    def test_operators_of_a_replay_are_those_of_its_capture(self):
        wanted = time_by_operator(events_of(self.replay), events_of(self.capture))
        alone, joined = self.report(self.replay), self.report(self.replay, "--capture", self.capture)
        self.assertEqual(len(wanted), 12)
        before, rows = self.rows(alone), self.rows(joined)
        for name, time_us in wanted.items():
            outside = before[name]["total_us"] if name in before else 0
            self.assertAlmostEqual(rows[name]["total_us"], time_us + outside, places=5, msg=name)
        self.assertIn("replayed-graphs", [issue["code"] for issue in alone["health"]["issues"]])
        self.assertNotIn("replayed-graphs", [issue["code"] for issue in joined["health"]["issues"]])
        for key in ("steps", "bottleneck", "gpu_time", "idle", "kernels", "syncs", "run"):
            self.assertEqual(joined[key], alone[key], key)

    def test_a_folder_with_the_list_of_captures(self):
        for name in (CAPTURE, "wild/tracelens__vllm_decode__execution_details.json"):
            shutil.copy(support.data_file(name), self.scratch)
        joined = self.report(self.replay, "--capture", self.scratch)
        self.assertEqual(joined["operators"], self.report(self.replay, "--capture", self.capture)["operators"])

    def test_the_page_tells_the_same(self):
        page = self.scratch / "page.html"
        outcome = support.headroom("report", self.replay, "--capture", self.capture, "--html", page)
        self.assertEqual(outcome.code, 0, outcome)
        self.assertIn("vllm::moe_forward", page.read_text())

    def test_other_commands_accept_a_capture(self):
        for command, arguments in (("whatif", ["amp"]), ("predict", ["--gpu", "A100-80"])):
            with self.subTest(command):
                joined = support.headroom(command, self.replay, *arguments, "--json", "--capture", self.capture)
                self.assertEqual(joined.code, 0, joined)
                missing = self.scratch / "none"
                refused = support.headroom(command, self.replay, *arguments, "--capture", missing)
                self.assert_refused(refused, 3, "none")
                target = shutil.copy(self.capture, self.scratch / "capture.json.gz")
                refused = support.headroom(
                    command, self.replay, *arguments, "--json", "--capture", target, "-o", target
                )
                self.assert_refused(refused, 2, "-o")
        commands = [
            finding["whatif"]
            for finding in self.report(self.replay, "--capture", self.capture)["findings"]
            if finding["whatif"]
        ]
        self.assertTrue(all("--capture" in command for command in commands), commands)

    def test_another_capture_is_said_not_to_fit(self):
        other = self.report(self.replay, "--capture", self.replay)
        self.assertIn("unmatched-capture", [issue["code"] for issue in other["health"]["issues"]])

    def test_a_capture_that_is_no_trace(self):
        path = self.write("capture.json", "no trace")
        self.assert_refused(support.headroom("report", self.replay, "--capture", path), 3, path.name)
        self.assert_refused(support.headroom("report", self.replay, "--capture", path.parent / "none"), 3, "none")
        path.write_text('[{"file": "a.json", "batch_size": 8}]')
        self.assert_refused(
            support.headroom("report", self.replay, "--capture", path), 3, path.name, "list of captures"
        )
        path.write_text("[]")
        report = self.report(self.replay, "--capture", path)
        self.assertIn("unmatched-capture", [issue["code"] for issue in report["health"]["issues"]])
