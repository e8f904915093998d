"""Tests the code that the page shows at a line of the trace."""

import json

from integration import support
from integration.page_server import Server


def trace_with_lines(locations):
    """Returns a trace with a step in which each function launches a kernel of 100 us."""
    events = [
        {"cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 200 * len(locations)}
    ]
    for number, location in enumerate(locations, start=1):
        at = 200 * (number - 1)
        correlation = {"correlation": number, "External id": number}
        events += [
            {
                "cat": "python_function",
                "name": location,
                "pid": 1,
                "tid": 1,
                "ts": at,
                "dur": 190,
                "args": {"Python id": number, "Python parent id": None},
            },
            {
                "cat": "cpu_op",
                "name": "aten::mm",
                "pid": 1,
                "tid": 1,
                "ts": at + 1,
                "dur": 20,
                "args": {"External id": number},
            },
            {
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "pid": 1,
                "tid": 1,
                "ts": at + 5,
                "dur": 5,
                "args": correlation,
            },
            {
                "cat": "kernel",
                "name": "gemm",
                "pid": 0,
                "tid": 7,
                "ts": at + 12,
                "dur": 100,
                "args": {**correlation, "device": 0, "stream": 7},
            },
        ]
    return {"schemaVersion": 1, "traceEvents": [{"ph": "X", **event} for event in events]}


class Source(support.ProgramTest):
    """The program lies above the folder of its traces, as `python3 train.py` in a project leaves it."""

    def setUp(self):
        super().setUp()
        (self.scratch / "model").mkdir()
        (self.scratch / "traces").mkdir()
        (self.scratch / "model/net.py").write_text("import torch\n\n\ndef forward(x):\n    return x @ x\n")
        self.locations = ["model/net.py(4): forward", "model/gone.py(7): step", f"{self.scratch}/model/net.py(1): f"]
        trace = self.scratch / "traces/trace.json"
        trace.write_text(json.dumps(trace_with_lines(self.locations)))
        self.server = Server(trace)
        self.addCleanup(self.server.stop)

    def test_the_code_of_a_line(self):
        _, report = self.server.ask("report")
        self.assertEqual(sorted(row["location"] for row in report["lines"]), sorted(self.locations))
        status, answer = self.server.ask("source", location=self.locations[0])
        self.assertEqual((status, support.answer_violations(answer)), (200, []))
        self.assertEqual(
            answer,
            {
                "schema": "headroom.source/1",
                "path": str(self.scratch / "model/net.py"),
                "line": 4,
                "first_line": 2,
                "lines": ["", "", "def forward(x):", "    return x @ x"],
            },
        )
        status, answer = self.server.ask("source", location=self.locations[2])
        self.assertEqual((status, answer["lines"][0]), (200, "import torch"))

    def test_only_code_that_the_trace_names_is_shown(self):
        for location, why in (
            (self.locations[1], "model/gone.py: the file is not on this machine"),
            ("/etc/passwd(1): f", "the trace has no such line"),
            ("", "the trace has no such line"),
        ):
            status, answer = self.server.ask("source", location=location)
            self.assertEqual(status, 400)
            self.assertIn(why, answer["error"])
