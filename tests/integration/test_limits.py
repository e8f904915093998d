"""Inputs made to exhaust: refused quickly, with the limit and its flag named, or read within bounds."""
import gzip
import re
import struct
import unittest
import zlib

from integration import support

# tests/run: no other tests meanwhile.
MEASURES_TIME = True

HEAD = b'{"traceEvents": ['
MEBI = 1 << 20
ADDRESS_SPACE = 3 << 29  # 1.5 GiB: a bomb that unfolds does not fit


def gzip_bomb(head, filler, count):
    """`head`, then `count` times `filler`, as gzip: one compressed piece is repeated, so this takes no time to make."""
    first, body, crc = zlib.compressobj(9, zlib.DEFLATED, -15), zlib.compressobj(9, zlib.DEFLATED, -15), zlib.crc32(head)
    stream = first.compress(head) + first.flush(zlib.Z_FULL_FLUSH)
    stream += (body.compress(filler) + body.flush(zlib.Z_FULL_FLUSH)) * count
    for _ in range(count):
        crc = zlib.crc32(filler, crc)
    size = (len(head) + count * len(filler)) & 0xFFFFFFFF
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff" + stream + b"\x03\x00" + struct.pack("<II", crc, size)


def zstd_bomb(head, byte, count):
    """`head`, then `count` blocks of 128 KiB of one byte, as zstd."""
    def block(kind, size, last):
        return struct.pack("<I", (size << 3) | (kind << 1) | last)[:3]
    return (b"\x28\xb5\x2f\xfd\x00\x38" + block(0, len(head), 0) + head
            + (block(1, 128 * 1024, 0) + byte) * count + block(0, 0, 1))


class Makers(unittest.TestCase):
    """The bombs are valid files: small ones unfold to what they claim."""

    def test_gzip(self):
        self.assertEqual(gzip.decompress(gzip_bomb(HEAD, b" " * 1000, 3)), HEAD + b" " * 3000)

    def test_ratio(self):
        self.assertGreater(64 * MEBI / len(gzip_bomb(HEAD, b" " * MEBI, 64)), 500)


class Bombs(support.ProgramTest):
    def assert_defused(self, name, data):
        outcome = support.headroom("report", self.write(name, data), seconds=10, address_space=ADDRESS_SPACE)
        self.assert_refused(outcome, 3, name)
        if not support.sanitized():
            self.assertLess(outcome.seconds, 5, outcome)
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
        # Not even the start of one: refused at once, for either reason.
        path = self.write("zeros.json.gz", gzip_bomb(b"", bytes(MEBI), 2048))
        self.assert_refused(support.headroom("report", path, seconds=10, address_space=ADDRESS_SPACE), 3, path.name)

    def test_a_named_limit_can_be_raised(self):
        path = self.write("small.json.gz", gzip_bomb(HEAD + b'{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, '
                                                     b'"ts": 1, "dur": 1, "args": {}}', b" " * MEBI, 256))
        outcome = support.headroom("report", path, seconds=10)
        if outcome.code == 0:
            self.skipTest("256 MiB of spaces are within the limit")
        flags = re.findall(r"--[a-z][a-z-]+", outcome.message)
        self.assertTrue(any(support.headroom("report", path, flag, 1_000_000_000, seconds=20).code == 0 for flag in flags), outcome)


class Sizes(support.ProgramTest):
    KERNEL = b'{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1000, "dur": 100, "args": {}}'

    def assert_bounded(self, name, data):
        """Read or refused within seconds, and what is printed stays small."""
        outcome = support.headroom("report", "--json", self.write(name, data), seconds=15)
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
        for number in (b"1e400", b"-1e400", b"9" * 400, b"0." + b"0" * 400 + b"1", b"-0", b"1E3", b"0x10", b"+1", b"1.", b".5",
                       b"9223372036854775807", b"9223372036854775808", b"true", b'"12.5"', b"[1]", b"{}", b"null"):
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
