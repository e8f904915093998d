"""Tests a recording that the program and a second decoder read."""
import collections
import gzip
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from integration import support

WRITER = support.BINARY.parent / "tests/recording/write_recording"
GOLDEN = support.GOLDEN / "recording/trace.pftrace"


def written(*args):
    return subprocess.run([WRITER, *args], check=True, stdout=subprocess.PIPE).stdout


def decoded(trace):
    """Returns the output of `protoc` for a trace. Raises if it cannot decode the trace."""
    command = ["protoc", "--decode=perfetto.protos.Trace", "-I", str(support.ROOT / "src/base"), "perfetto_trace.proto"]
    return subprocess.run(command, check=True, input=trace, stdout=subprocess.PIPE).stdout.decode()


class SecondDecoder(support.ProgramTest):
    """`protoc` shares only the file format with our encoder and reader."""

    def setUp(self):
        if shutil.which("protoc") is None:
            self.skipTest("protoc is missing; install protobuf-compiler (tools/setup)")

    def test_reads_every_field_and_counts_what_was_written(self):
        text = decoded(written())
        unknown = re.findall(r"^ *\d+: .*$|^ *\d+ \{$", text, re.MULTILINE)
        self.assertEqual(unknown, [], "fields that perfetto_trace.proto does not name")
        types = collections.Counter(re.findall(r"type: (TYPE_\w+)", text))
        # A step has six regions: itself, loader, FORWARD, launch, prefetch, callback; and one on the GPU.
        self.assertEqual(types, {"TYPE_SLICE_BEGIN": 14, "TYPE_SLICE_END": 14, "TYPE_COUNTER": 2, "TYPE_INSTANT": 1})
        self.assertEqual(text.count("gpu_render_stage_event {"), 2)
        self.assertEqual(text.count("sequence_flags: 1\n"), 1)
        self.assertEqual(text.count('name: "step"'), 3)  # A name, a category, an argument.
        for name in ("dataloader_next", "FORWARD", "callbacks.Checkpoint.on_step_end", "prefetch"):
            self.assertEqual(text.count(f'name: "{name}"'), 1, f"{name} is interned once")
        for told in ('process_name: "python train.py"', 'unit_name: "%"', "primary_trace_clock: 3", 'name: "gemm"'):
            self.assertEqual(text.count(told), 1, told)

    def test_agrees_with_our_reader_on_what_is_left_of_a_cut_file(self):
        trace = written()
        for packets in (5, 20, 40):
            text = decoded(trace)
            end = self.end_of_packet(trace, packets)
            self.assertEqual(decoded(trace[:end]), "".join(self.packets(text)[:packets]))
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "cut.pftrace"
                path.write_bytes(trace[: end + 3])
                report = support.headroom("report", path, "--json").json()
            codes = [issue["code"] for issue in report["health"]["issues"]]
            self.assertIn("truncated", codes)

    @staticmethod
    def packets(text):
        return re.findall(r"^packet \{\n.*?^\}\n", text, re.MULTILINE | re.DOTALL)

    @staticmethod
    def end_of_packet(trace, count):
        at = 0
        for _ in range(count):
            at, length, shift = at + 1, 0, 0
            while True:
                length |= (trace[at] & 0x7F) << shift
                shift += 7
                at += 1
                if trace[at - 1] < 0x80:
                    break
            at += length
        return at


class Recording(support.ProgramTest):
    def test_the_golden_is_what_the_encoder_writes(self):
        self.assertEqual(GOLDEN.read_bytes(), written(), f"write it again: {WRITER} > {GOLDEN}")

    def test_a_killed_program_leaves_a_report(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "killed.pftrace"
            path.write_bytes(written("killed"))
            report = support.headroom("report", path, "--json").json()
        self.assertEqual(support.violations(report), [])
        issues = {issue["code"]: issue["count"] for issue in report["health"]["issues"]}
        self.assertEqual(issues["unfinished-span"], 2)  # The second step and its FORWARD.
        self.assertEqual(report["inputs"][0]["format"], "perfetto-protobuf")

    def test_compressed_files_and_any_name(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run"
            path.write_bytes(gzip.compress(written()))
            report = support.headroom("report", path, "--json").json()
        self.assertEqual(report["inputs"][0]["format"], "perfetto-protobuf")
        self.assertEqual(report["steps"]["count"], 2)


if __name__ == "__main__":
    unittest.main()
