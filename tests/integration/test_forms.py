"""Tests that the same trace in other wrappings gives the same report, and that the outputs agree."""
import csv
import gzip
import io
import json
import struct

from integration import support

TRACE = support.GOLDEN / "communication-exposed-and-hidden/trace.json"


def zstd_stored(data):
    """Returns a valid zstd frame of stored blocks, made without a compressor."""
    blocks = [data[i : i + 100_000] for i in range(0, len(data), 100_000)] or [b""]
    body = b"".join(struct.pack("<I", (len(b) << 3) | (i == len(blocks) - 1))[:3] + b for i, b in enumerate(blocks))
    return b"\x28\xb5\x2f\xfd" + b"\x00\x38" + body  # No checksum, no content size; window of 128 KiB.


def without_wrapping(report):
    """Returns the report without the parts that may differ: the path, the size on disk and the name of the format."""
    path = report["inputs"][0]["path"]
    report["inputs"][0].update(bytes=None, format=None)
    return json.loads(json.dumps(report).replace(path, "TRACE"))


class Wrappings(support.ProgramTest):
    def setUp(self):
        super().setUp()
        self.data = TRACE.read_bytes()
        self.expected = without_wrapping(self.report(TRACE))

    def same(self, name, data):
        with self.subTest(name):
            self.assertEqual(without_wrapping(self.report(self.write(name, data))), self.expected)

    def test_compressed(self):
        half = len(self.data) // 2
        self.same("a.json.gz", gzip.compress(self.data))
        self.same("a.json.zst", zstd_stored(self.data))
        self.same("members.json.gz", gzip.compress(self.data[:half]) + gzip.compress(self.data[half:]))
        self.same("frames.json.zst", zstd_stored(self.data[:half]) + zstd_stored(self.data[half:]))

    def test_bytes_behind_a_whole_compressed_stream_are_no_cut(self):
        for name, data in (("a.json.gz", gzip.compress(self.data)), ("a.json.zst", zstd_stored(self.data))):
            with self.subTest(name):
                report = without_wrapping(self.report(self.write(name, data + b"garbage\n")))
                codes = [issue["code"] for issue in report["health"]["issues"]]
                self.assertIn("trailing-garbage", codes)
                self.assertNotIn("cut-compression", codes)
                self.assertEqual(report["health"]["grade"], self.expected["health"]["grade"])
                self.assertEqual(report["gpu_time"], self.expected["gpu_time"])

    def test_bytes_that_should_have_been_the_rest_of_the_trace_are_a_cut(self):
        half = len(self.data) // 2
        array = json.dumps(json.loads(self.data)["traceEvents"]).encode()  # A bare array may lack its end.
        for name, data in (
            ("object.json.gz", gzip.compress(self.data[:half]) + b"garbage"),
            ("array.json.gz", gzip.compress(array[: array.rindex(b"]")]) + b"garbage"),
            ("member.json.gz", gzip.compress(self.data) + b"\x1f\x8bgarbage"),
        ):
            with self.subTest(name):
                codes = [issue["code"] for issue in self.report(self.write(name, data))["health"]["issues"]]
                self.assertIn("cut-compression", codes)
                self.assertNotIn("trailing-garbage", codes)

    def test_content_decides_not_the_name(self):
        self.same("gzip-without-suffix", gzip.compress(self.data))
        self.same("plain.json.gz", self.data)
        self.same("gzip.json", gzip.compress(self.data))

    def test_white_space_and_byte_order_mark(self):
        self.same("crlf.json", self.data.replace(b"\n", b"\r\n"))
        self.same("mark.json", b"\xef\xbb\xbf" + self.data)
        self.same("one-line.json", json.dumps(json.loads(self.data), separators=(",", ":")).encode())
        self.same("indented.json", json.dumps(json.loads(self.data), indent=8).encode())

    def test_keys_in_any_order(self):
        trace = json.loads(self.data)
        trace["traceEvents"] = [dict(reversed(e.items())) for e in trace["traceEvents"]]
        self.same("reversed.json", json.dumps(dict(reversed(trace.items()))).encode())

    def test_escapes_in_names(self):
        escaped = "".join(f"\\u{ord(c):04x}" for c in "kernel").encode()
        self.same("escaped.json", self.data.replace(b'"kernel"', b'"' + escaped + b'"'))

    def test_bare_array_has_the_same_times(self):
        report = self.report(self.write("array.json", json.dumps(json.loads(self.data)["traceEvents"])))
        for row in report["gpu_time"] + report["idle"]:
            self.assertIsNone(row["rank"], "an array has no distributedInfo")
            row["rank"] = 0
        self.assertEqual((report["gpu_time"], report["idle"]), (self.expected["gpu_time"], self.expected["idle"]))


class Outputs(support.ProgramTest):
    def test_csv_is_whole(self):
        folder = self.scratch / "tables"
        outcome = support.headroom("report", TRACE, "--csv", folder)
        self.assertEqual(outcome.code, 0, outcome)
        tables = {}
        for path in folder.glob("*.csv"):
            rows = list(csv.reader(io.StringIO(path.read_text(), newline="")))
            self.assertGreater(len(rows), 0, f"{path.name} has no head")
            self.assertEqual({len(r) for r in rows}, {len(rows[0])}, f"{path.name} is ragged")
            tables[path.stem] = rows
        report = self.report(TRACE)
        self.assertIn("kernels", tables)
        self.assertEqual(
            [r[tables["kernels"][0].index("name")] for r in tables["kernels"][1:]],
            [r["name"] for r in report["kernels"]],
        )

    def test_time_and_quiet_leave_stdout_alone(self):
        plain = support.headroom("report", TRACE)
        timed = support.headroom("report", TRACE, "--time")
        quiet = support.headroom("report", TRACE, "--quiet")
        self.assertEqual((timed.code, timed.out), (0, plain.out))
        self.assertTrue(timed.err, "--time says nothing")
        self.assertEqual((quiet.code, quiet.err), (0, b""))

    def test_top_limits_the_tables(self):
        report = self.report(support.GOLDEN / "host-bound-two-steps/trace.json", "--top", 1)
        self.assertEqual(len(report["kernels"]), 1)
        self.assertLessEqual(len(report["operators"]), 1)

    def test_rank_keeps_one_rank(self):
        folder = support.GOLDEN / "two-files-two-ranks"
        report = self.report(folder / "rank0.json", folder / "rank1.json", "--rank", 1)
        self.assertEqual([r["rank"] for r in report["gpu_time"]], [1])

    def test_no_colour_without_a_terminal(self):
        outcome = support.headroom("report", TRACE, environment={"TERM": "xterm-256color", "CLICOLOR_FORCE": "0"})
        self.assertNotIn(b"\x1b", outcome.out)
