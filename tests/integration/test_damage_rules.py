"""Tests that the same damage has the same effect in every format: docs/formats.md, "Rules of damage"."""
import gzip
import json
import sys

from integration import support
from oracle import xplane
from oracle.xplane import put

sys.path += [str(support.ROOT / "tests/nsight"), str(support.ROOT / "tests/rocprof")]

import export as nsight  # noqa: E402
import output  # noqa: E402
import rocpd  # noqa: E402

DAYS_US = 52 * 86_400e6
STEP_US, STEPS = 100, 20


def kineto(kernel_us=50.0, operator_us=80.0):
    """Returns a trace whose third-last step has a kernel and an operator of these lengths."""
    events = []
    for i in range(STEPS):
        start, odd = i * STEP_US, i == STEPS - 3
        correlation = {"correlation": i + 1}
        on_gpu = {"device": 0, "stream": 7, "grid": [8, 1, 1], "block": [128, 1, 1], "registers per thread": 8}
        on_gpu |= {"shared memory": 0, **correlation}
        events += [
            ("cpu_op", "aten::mm", 1, 1, start + 1, operator_us if odd else 80, {}),
            ("cuda_runtime", "cudaLaunchKernel", 1, 1, start + 10, 5, correlation),
            ("kernel", "gemm", 0, 7, start + 30, kernel_us if odd else 50, on_gpu),
        ]
    return {
        "schemaVersion": 1,
        "traceEvents": [
            {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
            for cat, name, pid, tid, ts, dur, args in events
        ],
    }


def halves(trace):
    """Returns the same spans, each as a beginning and an end."""
    events = []
    for event in trace["traceEvents"]:
        end = {"ph": "E", "pid": event["pid"], "tid": event["tid"], "name": event["name"]}
        events += [{**event, "ph": "B"}, {**end, "ts": event["ts"] + event["dur"]}]
        del events[-2]["dur"]
    return {**trace, "traceEvents": events}


def packets(trace):
    """Returns the same spans as slices of a Perfetto trace."""
    tracks = {1: ("main", 1), 7: ("STREAM [7]", 7)}
    out = put(1, put(10, 1) + put(13, 1))
    for uuid, (name, _) in tracks.items():
        out += put(1, put(10, 1) + put(60, put(1, uuid) + put(2, name)))
    for event in trace["traceEvents"]:
        arguments = b"".join(
            put(4, put(10, key) + put(4, value)) for key, value in event["args"].items() if isinstance(value, int)
        )
        on = put(11, 1 if event["cat"] != "kernel" else 7)
        for stamp, kind, more in (
            (event["ts"], 1, put(22, event["cat"]) + put(23, event["name"]) + arguments),
            (event["ts"] + event["dur"], 2, b""),
        ):
            out += put(1, put(8, round(stamp * 1000)) + put(10, 1) + put(13, 2) + put(11, put(9, kind) + on + more))
    return out


def planes(trace):
    """Returns the same spans as an XPlane."""

    def line(number, name, events):
        return xplane.Line(number, name, 0, events)

    def of(category):
        return [
            xplane.event(event["name"], event["ts"], event["dur"], **{"correlation_id": event["args"]["correlation"]})
            if "correlation" in event["args"]
            else xplane.event(event["name"], event["ts"], event["dur"])
            for event in trace["traceEvents"]
            if event["cat"] in category
        ]

    return xplane.write(
        [
            xplane.Plane(1, "/device:GPU:0", [line(7, "Stream #7(Compute)", of(("kernel",)))], {}),
            xplane.Plane(2, "/host:CPU", [line(1, "python", of(("cpu_op", "cuda_runtime")))], {}),
        ]
    )


class Rules(support.ProgramTest):
    def forms(self, trace):
        """Returns {format: path of the same trace} for each readable format."""
        made = self.scratch
        nsight.from_kineto(trace).write(made / "nsight.sqlite")
        output.write_json(made / "rocprof.json", output.from_kineto(trace))
        rocpd.write_rocpd(made / "rocpd.db", output.from_kineto(trace))
        return {
            "Kineto": self.write("kineto.json", json.dumps(trace)),
            "Kineto, halves": self.write("halves.json", json.dumps(halves(trace))),
            "Kineto, gzip": self.write("kineto.json.gz", gzip.compress(json.dumps(trace).encode())),
            "Perfetto": self.write("trace.pftrace", packets(trace)),
            "XPlane": self.write("host.xplane.pb", planes(trace)),
            "Nsight": made / "nsight.sqlite",
            "rocprofv3": made / "rocprof.json",
            "rocpd": made / "rocpd.db",
        }

    def issues(self, report):
        return {issue["code"]: issue["count"] for issue in report["health"]["issues"]}

    def test_what_runs_past_the_end_is_clipped_and_told(self):
        """Tests a kernel and a host span of 52 days. The program's copy agrees with the trace."""
        for damage, lengths in {"kernel": {"kernel_us": DAYS_US}, "operator": {"operator_us": DAYS_US}}.items():
            for form, path in self.forms(kineto(**lengths)).items():
                with self.subTest(damage=damage, form=form):
                    report = self.report(path)
                    self.assertGreaterEqual(self.issues(report).get("overflowing-duration", 0), 1)
                    (gpu,) = report["gpu_time"]
                    self.assertLess(gpu["span_ms"], 1.5 * STEPS * STEP_US / 1000)
                    for kind in ("json", "pftrace"):
                        copy = self.scratch / f"copy.{kind}"
                        outcome = support.headroom("repair", path, "-o", copy, "-q")
                        self.assertEqual(outcome.code, 0, outcome)
                        self.assertEqual(self.report(copy)["gpu_time"], report["gpu_time"])

    def test_whole_ones_are_not_clipped(self):
        busy = set()
        for form, path in self.forms(kineto()).items():
            with self.subTest(form=form):
                report = self.report(path)
                self.assertNotIn("overflowing-duration", self.issues(report))
                self.assertEqual(sum(kernel["count"] for kernel in report["kernels"]), STEPS)
                busy.add(report["gpu_time"][0]["busy_ms"])
        self.assertEqual(busy, {STEPS * 50 / 1000})

    def test_a_copy_that_is_cut_between_two_messages_is_told(self):
        trace = self.write("trace.json", json.dumps(kineto()))
        for kind, name in (("perfetto", "copy.pftrace"), ("chakra", "copy.0.et")):
            prefix = "copy" if kind == "chakra" else name
            outcome = support.headroom("export", trace, "--to", kind, "-o", self.scratch / prefix, "-q")
            self.assertEqual(outcome.code, 0, outcome)
            data = (self.scratch / name).read_bytes()
            ends = list(self.message_ends(data, kind == "perfetto"))
            self.assertNotIn("truncated", self.issues(self.report(self.scratch / name)))
            for end in ends[len(ends) // 2 : -1 : 7]:
                with self.subTest(kind=kind, end=end):
                    cut = self.write("cut." + name, data[:end])
                    self.assertIn("truncated", self.issues(self.report(cut)))

    @staticmethod
    def message_ends(data, has_keys):
        """Yields the offset of each message's end. A message follows its length, in Perfetto also a key."""
        at = 0
        while at < len(data):
            at += 1 if has_keys else 0
            length, at = xplane.varint(data, at)
            at += length
            yield at
