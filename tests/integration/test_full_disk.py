"""Tests commands that write traces, on a disk that becomes full and over an existing file. They never leave
half-written files, and keep the existing file.
"""
import gzip
import json

from integration import ranks, support

SAMPLE = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"
# Limits files to 16 KiB, so that writing fails midway, as on a full disk.
FULL = ("bash", "-c", 'ulimit -f 16; trap "" XFSZ; exec "$@"', "full")


class FullDisk(support.ProgramTest):
    COMMANDS = {
        "repair": ["repair"],
        "redact": ["redact"],
        "slice": ["slice", "--time", "0:50"],
        "chrome": ["export", "--to", "chrome"],
        "perfetto": ["export", "--to", "perfetto"],
        "csv": ["export", "--to", "csv"],
        "whatif": ["whatif", "tf32", "--write-trace"],
    }

    def arguments(self, what, trace, out):
        if what == "whatif":
            return ["whatif", trace, "tf32", "--write-trace", out]
        return [*self.COMMANDS[what], trace, "-o", out]

    def files(self):
        return {path.relative_to(self.scratch): path.read_bytes() for path in self.scratch.rglob("*") if path.is_file()}

    def test_nothing_is_half_written(self):
        for what in self.COMMANDS:
            for name in ("out.json", "out.json.gz", "out.pftrace"):
                if what == "whatif" and name.endswith(".pftrace"):
                    continue  # This command writes only Chrome's format.
                with self.subTest(what, name=name):
                    out = self.scratch / what / name
                    out.parent.mkdir(exist_ok=True)
                    if what != "csv":  # The tables go into a folder.
                        out.write_bytes(b"what was there")
                    before = self.files()
                    outcome = support.headroom(*self.arguments(what, SAMPLE, out), launcher=FULL)
                    self.assertEqual(outcome.code, 4, outcome)
                    self.assertIn("too large", outcome.message)
                    self.assertIn(name, outcome.message)
                    self.assertEqual(self.files(), before)

    def test_a_merge(self):
        trace = ranks.load(support.data_file("public-traces/hta__nccl_parser_config__nccl_data.json.gz"))
        folder = self.scratch / "traces"
        folder.mkdir()
        for rank in range(2):
            ranks.write(ranks.make_rank(trace, rank, 2), folder / f"rank{rank}.json.gz")
        out = self.write("job.json.gz", b"what was there")
        before = self.files()
        self.assert_refused(support.headroom("merge", folder, "-o", out, launcher=FULL), 4, "too large", "job.json.gz")
        self.assertEqual(self.files(), before)
        self.assert_refused(support.headroom("merge", folder, "-o", "-", cwd=self.scratch), 2, "-o -")
        self.assertEqual(self.files(), before)

    def test_a_map_goes_with_its_copy(self):
        """`redact --map` writes two files: both or neither."""
        text = json.dumps(
            {
                "traceEvents": [
                    {
                        "ph": "X",
                        "cat": "cpu_op",
                        "name": f"quokka{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}zz",
                        "pid": 1,
                        "tid": 1,
                        "ts": 10.5 * i,
                        "dur": 2,
                    }
                    for i in range(600)
                ]
            }
        )
        trace = self.write("t.json.gz", gzip.compress(text.encode()))
        before = self.files()
        outcome = support.headroom(
            "redact", trace, "-o", self.scratch / "s.json.gz", "--map", self.scratch / "map.json", launcher=FULL
        )
        self.assertEqual(outcome.code, 4, outcome)
        self.assertIn("map.json", outcome.message)
        self.assertEqual(self.files(), before)
