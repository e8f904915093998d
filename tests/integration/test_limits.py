"""Tests inputs made to exhaust resources. They are refused quickly, with the limit and its flag named, or read within
bounds."""
import base64
import gzip
import pathlib
import re
import sqlite3
import struct
import unittest
import zlib

from integration import support
from oracle.xplane import put

HEAD = b'{"traceEvents": ['
MEBI = 1 << 20
ADDRESS_SPACE = 3 << 29  # 1.5 GiB: a bomb that expands does not fit.


def gzip_bomb(head, filler, count):
    """Returns `head`, then `count` times `filler`, as gzip. Repeats one compressed piece, so this is fast."""
    first, body, crc = (
        zlib.compressobj(9, zlib.DEFLATED, -15),
        zlib.compressobj(9, zlib.DEFLATED, -15),
        zlib.crc32(head),
    )
    stream = first.compress(head) + first.flush(zlib.Z_FULL_FLUSH)
    stream += (body.compress(filler) + body.flush(zlib.Z_FULL_FLUSH)) * count
    for _ in range(count):
        crc = zlib.crc32(filler, crc)
    size = (len(head) + count * len(filler)) & 0xFFFFFFFF
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff" + stream + b"\x03\x00" + struct.pack("<II", crc, size)


def zstd_bomb(head, byte, count):
    """Returns `head`, then `count` blocks of 128 KiB of one byte, as zstd."""

    def block(kind, size, last):
        return struct.pack("<I", (size << 3) | (kind << 1) | last)[:3]

    return (
        b"\x28\xb5\x2f\xfd\x00\x38"
        + block(0, len(head), 0)
        + head
        + (block(1, 128 * 1024, 0) + byte) * count
        + block(0, 0, 1)
    )


class Makers(unittest.TestCase):
    """Tests that the bombs are valid files: small ones expand to the promised content."""

    def test_gzip(self):
        self.assertEqual(gzip.decompress(gzip_bomb(HEAD, b" " * 1000, 3)), HEAD + b" " * 3000)

    def test_ratio(self):
        self.assertGreater(64 * MEBI / len(gzip_bomb(HEAD, b" " * MEBI, 64)), 500)


class Bombs(support.ProgramTest):
    def assert_defused(self, name, data):
        outcome = support.headroom("report", self.write(name, data), processor_s=10, address_space=ADDRESS_SPACE)
        self.assert_refused(outcome, 3, name)
        self.assertRegex(outcome.message, r"--[a-z][a-z-]+", "the flag that raises the limit is not named")
        self.assertRegex(outcome.message, r"\d", "the limit is not named")
        return outcome

    def test_gzip_of_two_gigabytes_of_spaces(self):
        self.assert_defused("spaces.json.gz", gzip_bomb(HEAD, b" " * MEBI, 2048))

    def test_zstd_of_two_gigabytes_of_spaces(self):
        self.assert_defused("spaces.json.zst", zstd_bomb(HEAD, b" ", 16 * 1024))

    def test_gzip_of_two_gigabytes_in_one_string(self):
        self.assert_defused("string.json.gz", gzip_bomb(HEAD + b'{"ph": "X", "name": "', b"A" * MEBI, 2048))

    def test_gzip_of_two_gigabytes_of_brackets(self):
        self.assert_defused("brackets.json.gz", gzip_bomb(HEAD, b"[" * MEBI, 2048))

    def test_gzip_of_two_gigabytes_of_zeros_is_no_trace(self):
        # The file does not begin like a trace, and it exceeds the size limit. Either reason suffices to refuse it at
        # once.
        path = self.write("zeros.json.gz", gzip_bomb(b"", bytes(MEBI), 2048))
        outcome = support.headroom("report", path, processor_s=10, address_space=ADDRESS_SPACE)
        self.assert_refused(outcome, 3, path.name)

    def test_a_named_limit_can_be_raised(self):
        path = self.write(
            "small.json.gz",
            gzip_bomb(
                HEAD + b'{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, '
                b'"ts": 1, "dur": 1, "args": {}}',
                b" " * MEBI,
                256,
            ),
        )
        outcome = support.headroom("report", path, processor_s=10)
        if outcome.code == 0:
            self.skipTest("256 MiB of spaces are within the limit")
        flags = re.findall(r"--[a-z][a-z-]+", outcome.message)
        self.assertTrue(
            any(support.headroom("report", path, flag, 1_000_000_000, processor_s=20).code == 0 for flag in flags),
            outcome,
        )


class Sizes(support.ProgramTest):
    KERNEL = b'{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1000, "dur": 100, "args": {}}'

    def assert_bounded(self, name, data):
        """Requires that the program reads or refuses the file within 15 s of CPU time, with a small output."""
        outcome = support.headroom("report", "--json", self.write(name, data), processor_s=15)
        self.assertIn(outcome.code, (0, 3), outcome)
        self.assertLess(len(outcome.out) + len(outcome.err), MEBI, "the output grows with the input")
        return outcome

    def test_a_string_of_100_megabytes(self):
        long_name = self.KERNEL.replace(b"gemm", b"A" * 100_000_000)
        self.assert_bounded("long.json", HEAD + self.KERNEL + b"," + long_name + b"," + self.KERNEL + b"]}")

    def test_deep_nesting(self):
        for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
            args = opening * 200_000 + b"1" + closing * 200_000
            deep = self.KERNEL.replace(b"{}", args)
            outcome = self.assert_bounded("deep.json", HEAD + self.KERNEL + b"," + deep + b"," + self.KERNEL + b"]}")
            if outcome.code == 0:
                self.assertGreaterEqual(outcome.json()["inputs"][0]["events"], 2, "the events beside it are lost")
            self.assert_bounded("open.json", HEAD + opening * 200_000)
            self.assert_bounded("metadata.json", b'{"x": ' + args + b', "traceEvents": [' + self.KERNEL + b"]}")

    def test_many_keys_and_many_files(self):
        args = b"{" + b",".join(b'"key%d": %d' % (i, i) for i in range(200_000)) + b"}"
        self.assert_bounded("keys.json", HEAD + self.KERNEL.replace(b"{}", args) + b"]}")

    def test_numbers_out_of_range(self):
        for number in (
            b"1e400",
            b"-1e400",
            b"9" * 400,
            b"0." + b"0" * 400 + b"1",
            b"-0",
            b"1E3",
            b"0x10",
            b"+1",
            b"1.",
            b".5",
            b"9223372036854775807",
            b"9223372036854775808",
            b"true",
            b'"12.5"',
            b"[1]",
            b"{}",
            b"null",
        ):
            for field in (b'"ts": 1000', b'"dur": 100', b'"tid": 7', b'"pid": 0'):
                event = self.KERNEL.replace(field, field.split(b":")[0] + b": " + number)
                with self.subTest(event):
                    data = HEAD + self.KERNEL + b"," + event + b"," + self.KERNEL.replace(b"1000", b"1200") + b"]}"
                    outcome = self.assert_bounded("number.json", data)
                    self.assertEqual(outcome.code, 0, outcome)
                    self.assertEqual(support.violations(outcome.json()), [])

    @unittest.skipUnless(support.FULL, "only with --full")
    def test_a_list_of_exactly_one_million_events_is_suspect(self):
        event = b'{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": %d, "dur": 1}'
        data = HEAD + b",".join(event % i for i in range(1_000_000)) + b"]}"
        report = self.report(self.write("million.json", data))
        self.assertIn("event-cap", [i["code"] for i in report["health"]["issues"]])


class References(support.ProgramTest):
    """Tests files that hold a long text, a list or a packet once, and refer to it many times. Their size bounds the
    result.
    """

    LONG = "x" * 500_000

    def assert_bounded(self, name, data, code):
        """Requires a read within 15 s of CPU time and 1.5 GiB, and the health issue `code` unless it is None."""
        path = data if isinstance(data, pathlib.Path) else self.write(name, data)
        outcome = support.headroom("report", "--json", path, processor_s=15, address_space=ADDRESS_SPACE)
        self.assertEqual(outcome.code, 0, outcome)
        issues = {issue["code"]: issue for issue in outcome.json()["health"]["issues"]}
        if code:
            self.assertIn(code, issues)
        return issues

    # --- XPlane: stats name texts by number, and events of one kind share stats ---

    @staticmethod
    def plane(events, *names, name="/host:CPU", line="python"):
        """Returns a plane with one line; `names`: (field, number, text[, stats])."""
        metadata = b"".join(
            put(field, put(1, number) + put(2, put(2, text) + b"".join(more))) for field, number, text, *more in names
        )
        events = b"".join(put(4, event) for event in events)
        return put(1, put(2, name) + put(3, put(1, 1) + put(2, line) + put(3, 1000) + events) + metadata)

    def test_stats_that_name_a_long_text(self):
        def event(number, stats):
            return put(1, 1) + put(2, number * 1_000_000) + put(3, 1000) + stats

        texts = ((4, 1, "work"), (5, 1, self.LONG), (5, 2, "key"), (5, 3, "number"))
        stat = put(4, put(1, 2) + put(7, 1))
        for name, events in {
            "in one event": [event(0, stat * 60_000)],
            "in many": [event(i, stat + put(4, put(1, 3) + put(4, i))) for i in range(5000)],
        }.items():
            with self.subTest(name):
                issues = self.assert_bounded("long.xplane.pb", self.plane(events, *texts), "oversized-event")
                self.assertIn("arguments were dropped", issues["oversized-event"]["detail"])

    def test_stats_that_all_events_share(self):
        shared = put(5, put(1, 2) + put(4, 5)) * 100_000
        events = [put(1, 1) + put(2, i * 1_000_000) + put(3, 1000) for i in range(100_000)]
        self.assert_bounded(
            "shared.xplane.pb", self.plane(events, (4, 1, "work", shared), (5, 2, "key")), "oversized-event"
        )

    def test_a_plane_in_every_few_bytes(self):
        event = put(1, 65_535) + put(3, 1000)
        self.assert_bounded(
            "planes.xplane.pb", self.plane([event], (4, 65_535, "work"), (5, 65_535, "key")) * 50_000, None
        )

    def test_a_plane_that_claims_two_gigabytes(self):
        plane = self.plane([put(1, 1) + put(3, 1000)], (4, 1, "work"))
        claims = b"\x0a\xff\xff\xff\xff\x07" + plane[2:]
        self.assert_bounded("claims.xplane.pb", plane + claims, "truncated")

    # --- Perfetto: interned texts, arguments of slices that are opened again, packed packets ---

    @staticmethod
    def packets(*contents):
        """Returns packets of one sequence. The first clears its state and describes track 7."""
        first = put(10, 1) + put(13, 1) + put(60, put(1, 7) + put(2, "work"))
        return b"".join(
            put(1, content) for content in (first, *(put(10, 1) + put(13, 2) + content for content in contents))
        )

    @staticmethod
    def slice_event(time, kind, *arguments):
        return put(8, time) + put(
            11, put(9, kind) + put(11, 7) + put(23, "work") + b"".join(put(4, argument) for argument in arguments)
        )

    def test_arguments_that_name_a_long_text(self):
        texts = put(12, put(3, put(1, 1) + put(2, "key")) + put(29, put(1, 1) + put(2, self.LONG)))
        for name, argument in {
            "": lambda i: (put(1, 1) + put(17, 1), put(10, "number") + put(4, i)),
            "nested": lambda i: (put(10, "list") + put(12, put(17, 1)) * 1000 + put(12, put(4, i)),),
        }.items():
            with self.subTest(name):
                data = self.packets(texts, *(self.slice_event(1000 + i, 3, *argument(i)) for i in range(3000)))
                issues = self.assert_bounded("long.pftrace", data, "oversized-event")
                self.assertIn("arguments were dropped", issues["oversized-event"]["detail"])

    def test_many_arguments_of_one_event(self):
        names = put(12, b"".join(put(3, put(1, i) + put(2, f"n{i}")) for i in range(1, 200_001)))
        self.assert_bounded(
            "many.pftrace",
            self.packets(names, self.slice_event(1000, 1, *(put(1, i) + put(4, 5) for i in range(1, 200_001)))),
            None,
        )

    def test_a_slice_that_is_opened_again_and_again(self):
        contents = [self.slice_event(1000, 1)]
        for i in range(20_000):
            contents += [
                self.slice_event(2000, 2, put(10, f"argument {i}") + put(4, i)),
                self.slice_event(2000, 1, put(10, "continues") + put(4, 1)),
            ]
        self.assert_bounded("again.pftrace", self.packets(*contents), None)

    def test_small_packets_that_unpack_to_large_ones(self):
        # 47,662 instants by zstd, in 116 bytes.
        packed = base64.b64decode(
            "KLUv/QBo9AAAsAoUUAFoAkDoB1oLSANYB7oBBHdvcmsBAM7/M59NRAAAAAEA/f+ZTyBEAAAAAQD9/zkA"
            "AkQAAAABAP3/OQACRAAAAAEA/f85AAJEAAAAAQD9/zkAAkQAAAABAP3/OQACRQAAAAEA8f85AAI="
        )
        data = self.packets(*[put(133, packed)] * 400)
        self.assertLess(len(data), 60_000)
        for name, nested in (("packed.pftrace", data), ("packed.pftrace.gz", gzip.compress(data))):
            with self.subTest(name):
                path = self.write(name, nested)
                outcome = support.headroom("report", path, processor_s=5, address_space=ADDRESS_SPACE)
                self.assert_refused(outcome, 3, "--max-expansion", "in ")

    def test_a_long_name_that_every_event_has_is_not_written_out_without_bound(self):
        names = put(12, put(2, put(1, 1) + put(2, "N" * 50_000)))
        events = (put(8, 1000 + i) + put(11, put(9, 3) + put(10, 1) + put(11, 7)) for i in range(20_000))
        trace = self.write("names.pftrace", self.packets(names, *events))
        for kind, name in (("repair", "out.json"), ("chrome", "out.json"), ("csv", "out"), ("chakra", "out")):
            with self.subTest(kind):
                out = self.scratch / name
                command = ("repair", trace) if kind == "repair" else ("export", trace, "--to", kind)
                outcome = support.headroom(*command, "-o", out, processor_s=5, address_space=ADDRESS_SPACE)
                self.assert_refused(outcome, 3, "not written", "--max-expansion")
                self.assertFalse(out.exists())

    def test_every_command_that_reads_a_trace_takes_the_flag_that_it_names(self):
        for command in (
            "report",
            "whatif",
            "predict",
            "scale",
            "data",
            "diff",
            "query",
            "repair",
            "redact",
            "slice",
            "merge",
            "export",
            "ui",
        ):
            with self.subTest(command):
                self.assertIn("--max-expansion N", support.headroom(command, "--help").text)

    # --- Pickles: one dictionary or list, many times ---

    @staticmethod
    def pickle(*pairs):
        """Returns a dictionary whose values are opcodes."""

        def text(key):
            return b"X" + struct.pack("<I", len(key)) + key.encode()

        return b"}(" + b"".join(text(key) + value for key, value in pairs) + b"u"

    def snapshot(self, *pairs, segments=b"]", traces=b"]"):
        return b"\x80\x04" + self.pickle(*pairs, ("segments", segments), ("device_traces", traces)) + b"."

    def entry(self, size, frames=b"]"):
        action = b"X\x05\x00\x00\x00alloc"
        return self.pickle(("action", action), ("addr", b"K\x01"), ("size", size), ("frames", frames))

    def test_a_long_dictionary_as_every_segment(self):
        data = self.snapshot(
            ("x", b"}(" + b"K\x01K\x01" * 500_000 + b"u\x94"), segments=b"](" + b"h\x00" * 300_000 + b"e"
        )
        self.assert_bounded("segments.pickle", data, None)

    def test_a_long_list_as_every_stack(self):
        entries = b"](](" + self.entry(b"K\x05", frames=b"h\x00") * 50_000 + b"ee"
        self.assert_bounded(
            "stacks.pickle", self.snapshot(("x", b"](" + b"K\x01" * 1_000_000 + b"e\x94"), traces=entries), None
        )

    def test_numbers_of_the_memo_that_collide(self):
        step = 85_229 * 172_933  # Sizes at which hash tables double.
        puts = b"".join(b"N" + b"p%d\n" % ((i + 1) * step) + b"0" for i in range(120_000))
        self.assert_bounded("memo.pickle", self.snapshot(("x", puts + b"N")), None)

    def test_sizes_whose_sum_is_beyond_all_numbers(self):
        largest = b"\x8a\x06" + struct.pack("<Q", 1 << 42)[:6]
        data = self.snapshot(("x", self.entry(largest) + b"\x94"), traces=b"](](" + b"h\x00" * 2_200_000 + b"ee")
        sql = "select min(total_allocated_bytes), max(total_allocated_bytes) from memory_events"
        outcome = support.headroom("query", "--json", self.write("sum.pickle", data), sql, processor_s=30)
        self.assertEqual(outcome.json()["rows"], [[1 << 42, 1 << 61]], outcome)

    # --- A long name of many events ---

    def test_a_long_name_of_all_copies(self):
        events = [put(1, 1) + put(2, i * 1_000_000) + put(3, 1000) for i in range(100_000)]
        data = self.plane(events, (4, 1, "Memcpy" + self.LONG), name="/device:GPU:0", line="Stream #1")
        self.assert_bounded("copies.xplane.pb", data, None)

    # --- rocprofv3: text after damage that looks like records ---

    def test_sizes_without_an_end(self):
        data = (
            b'{"rocprofiler-sdk-tool": [{"metadata": {}, "buffer_records": {"kernel_dispatch": [{"a": ['
            + b'"size":1' * 9_000_000
        )
        self.assert_bounded("sizes.json", data, "oversized-event")

    # --- SQLite: a text that all rows share, pages that many rows refer to ---

    def test_a_column_whose_default_is_a_long_text(self):
        path = self.scratch / "default.sqlite"
        with sqlite3.connect(path) as database:
            database.execute('CREATE TABLE NVTX_EVENTS (start, "end", eventType, globalTid)')
            database.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, 1)", ((i, i + 1) for i in range(200_000)))
            database.execute(f"ALTER TABLE NVTX_EVENTS ADD COLUMN text TEXT DEFAULT '{self.LONG}'")
        database.close()
        issues = self.assert_bounded("", path, "damaged-table")
        self.assertIn("more text than the file size allows", issues["damaged-table"]["detail"])


if __name__ == "__main__":
    unittest.main()
