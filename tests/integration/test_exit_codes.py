"""Tests exit codes: 0 fine, 2 usage, 3 input unreadable or not a trace. On an error, stdout is empty, and stderr names
the object and a remedy."""
import gzip
import os
import subprocess

from integration import support

TRACE = support.GOLDEN / "host-bound-two-steps/trace.json"

USAGE: dict[str, tuple[list, str]] = {  # Case: (arguments, text that the message must contain).
    "no command": ([], "report"),
    "unknown command": (["nonsense"], "nonsense: no such command; the commands are report, ui, data"),
    "a command that is misspelt": (["reprot", TRACE], "reprot: no such command; did you mean report"),
    "a command of a command that there is not": (
        ["baseline", "foo"],
        "baseline foo: no such command; the commands are save, list",
    ),
    "help of what is no command": (["help", "reprot"], "help reprot: no such command; did you mean report"),
    "a flag that is misspelt": (["report", TRACE, "--ony", "steps"], "--ony: no such flag; did you mean --only"),
    "a flag of a command of a command": (
        ["data", "bench", "m:f", "--workerz=3"],
        "--workerz: no such flag; did you mean --workers\nSee headroom data bench --help",
    ),
    "a command of a command that is misspelt": (
        ["baseline", "sav", "x", TRACE],
        "baseline sav: no such command; did you mean save",
    ),
    "a command of a command that is missing": (["baseline"], "baseline requires a command: save, list"),
    "a flag where a command must be": (
        ["baseline", "--bogus", "x"],
        "baseline --bogus: no such flag; a command comes first: save, list",
    ),
    "a flag of no command": (["-x", "5"], "-x"),
    "no trace": (["report"], "trace"),
    "unknown flag": (["report", TRACE, "--nonsense"], "--nonsense"),
    "unknown short flag": (["report", TRACE, "-Z"], "-Z"),
    "value for a switch": (["report", TRACE, "--json=surplus"], "json"),
    "two formats on one stdout": (["report", TRACE, "--json", "--md"], "--md"),
    "steps backwards": (["report", TRACE, "--steps", "9:3"], "9:3"),
    "steps that are words": (["report", TRACE, "--steps", "a:b"], "a:b"),
    "three steps": (["report", TRACE, "--steps", "1:2:3"], "1:2:3"),
    "steps without value": (["report", TRACE, "--steps"], "--steps"),
    "no steps in steps": (["report", TRACE, "--steps", ""], "--steps"),
    "marker without a name": (["report", TRACE, "--step-marker", ""], "--step-marker"),
    "folder without a name": (["report", TRACE, "--csv", ""], "--csv"),
    "output without a name": (["report", TRACE, "-o", ""], "--output"),
    **{
        f"output of {words[0]} without a name": ([*words, "-o", ""], "--output")
        for words in (
            ("calibrate", "--gpu"),
            ("data", TRACE),
            ("diff", TRACE, TRACE),
            ("doctor",),
            ("export", TRACE, "--to", "chrome"),
            ("merge", TRACE, TRACE),
            ("monitor",),
            ("predict", TRACE),
            ("query", TRACE, "SELECT 1"),
            ("redact", TRACE),
            ("repair", TRACE),
            ("scale", TRACE),
            ("slice", TRACE, "--steps", "3:3"),
            ("whatif", TRACE, "amp"),
        )
    },
    "negative rows": (["report", TRACE, "--top", "-1"], "--top"),
    "rows that are a word": (["report", TRACE, "--top", "many"], "--top"),
    "threads that are a word": (["report", TRACE, "--threads", "all"], "--threads"),
    "rank that is a word": (["report", TRACE, "--rank", "first"], "--rank"),
}

PNG = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    + bytes(200)
)
# Names that the message must contain, and the remedy.
EMPTY = ("is empty", "record the trace again")
CUT = ("ends before its event list", "copy the file or record the trace again")
NOT_YET = ("which is not read yet", 'export the PyTorch profiler\'s JSON: prof.export_chrome_trace("trace.json.gz")')
NOT_A_TRACE = (
    "is not a trace",
    "expected JSON with a list of events (as prof.export_chrome_trace(...) writes), "
    "a Perfetto trace or an XPlane profile, plain or packed (.gz, .zst, .xz, .bz2, .zip, .tar)",
)

UNREADABLE = {  # File name: (bytes, fragments of the message).
    "empty.json": (b"", EMPTY),
    "blank.json": (b" \n\t\n", CUT),
    "picture.json": (PNG, NOT_A_TRACE),
    "picture.json.gz": (gzip.compress(PNG), NOT_A_TRACE),
    "nothing.json.gz": (gzip.compress(b""), CUT),
    "head-only.json.gz": (gzip.compress(b"[]")[:10], (*CUT, "the gzip stream is truncated")),
    "broken.json.gz": (b"\x1f\x8b\x08\x00" + bytes(range(7, 60)), (*CUT, "the gzip stream is damaged")),
    "nothing.json.zst": (b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00", CUT),
    "broken.json.zst": (b"\x28\xb5\x2f\xfd" + b"\xff" * 40, (*CUT, "the zstd stream is damaged")),
    "text.json": (b'Traceback (most recent call last):\n  File "train.py"\n', NOT_A_TRACE),
    "page.json": (
        b"<!DOCTYPE html><html><body>404 Not Found</body></html>",
        ("is a web page", "download the file itself"),
    ),
    "pointer.json": (b"version https://git-lfs.github.com/spec/v1\n", ("is a Git LFS pointer", "git lfs pull")),
    "broken.zip": (b"PK\x03\x04" + b"\xff" * 40, ("truncated or damaged", "copy the file again")),
    "nothing.zip": (b"PK\x05\x06" + bytes(18), ("an archive without files",)),
    "broken.json.xz": (b"\xfd7zXZ\x00" + bytes(40), ("truncated or damaged", "copy the file again")),
    "number.json": (b"42", NOT_A_TRACE),
    "string.json": (b'"traceEvents"', NOT_A_TRACE),
    "null.json": (b"null", NOT_A_TRACE),
    "settings.json": (
        b'{"learning_rate": 0.1, "layers": [1, 2, 3]}',
        ('is JSON without "traceEvents"', "pass the file that prof.export_chrome_trace(...) wrote"),
    ),
    "numbers.json": (b"[1, 2, 3]", NOT_A_TRACE),
    "report.sqlite": (b"SQLite format 3\x00" + bytes(500), ("an SQLite database", "copy it again")),
    "results.db.gz": (gzip.compress(b"SQLite format 3\x00" + bytes(500)), ("an SQLite database", "copy it again")),
    "run.nsys-rep": (PNG, ("is an Nsight Systems report", "nsys export --type sqlite")),
    "host.xplane.pb": (b"\n\xa0\x02\x08\x01\x12" + bytes(500), NOT_A_TRACE),  # The first plane identifies such a file.
    "run.pftrace": (b"\n\x7b\x40" + bytes(500), NOT_A_TRACE),
    "random.bin": (bytes((i * 197 + 31) % 256 for i in range(5000)), NOT_A_TRACE),
    "zeros.bin": (bytes(5000), NOT_A_TRACE),
}


class Fine(support.ProgramTest):
    def test_report(self):
        self.assertEqual(support.headroom("report", TRACE).code, 0)

    def test_help_goes_to_stdout_and_fits(self):
        for args in (["--help"], ["report", "--help"]):
            with self.subTest(args):
                outcome = support.headroom(*args)
                self.assertEqual((outcome.code, outcome.err), (0, b""), outcome)
                self.assertIn("report", outcome.text)
                self.assert_readable_text(outcome.text, "help")

    def test_help_is_a_command_and_runs_nothing(self):
        for words in ((), ("report",), ("data", "bench")):
            self.assertEqual(support.headroom("help", *words).out, support.headroom(*words, "--help").out, words)
        ran = self.scratch / "ran"
        self.assertEqual(
            support.headroom("help", "record", "-o", self.scratch / "x.pftrace", "--", "touch", ran).code, 0
        )
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_help_names_every_flag(self):
        text = support.headroom("report", "--help").text
        for flag in ("--json", "--md", "--csv", "--steps", "--rank", "--top", "--quiet", "--threads", "--time"):
            self.assertIn(flag, text)

    def test_a_trace_without_events_is_no_crash(self):
        # An empty list may be a trace (0) or not (3). It never causes a signal or an empty success.
        for data in ('{"traceEvents": []}', "[]"):
            outcome = support.headroom("report", self.write("none.json", data))
            self.assertIn(outcome.code, (0, 3), outcome)
            self.assertTrue(outcome.out if outcome.code == 0 else outcome.err, outcome)


class Usage(support.ProgramTest):
    def test_each_is_refused(self):
        for why, (args, named) in USAGE.items():
            with self.subTest(why):
                self.assert_refused(support.headroom(*args), 2, named)


class Overwriting(support.ProgramTest):
    """An output never replaces an input trace, under any name."""

    def test_each_is_refused_and_the_trace_is_kept(self):
        data = TRACE.read_bytes()
        self.write("trace.json", data)
        (self.scratch / "link.json").symlink_to("trace.json")
        (self.scratch / "again.json").hardlink_to(self.scratch / "trace.json")
        (self.scratch / "kernels.csv").hardlink_to(self.scratch / "trace.json")
        for args in (
            ("trace.json", "-o", "trace.json"),
            ("trace.json", "--json", "-o", "./link.json"),
            ("link.json", "--md", "-o", "trace.json"),
            ("trace.json", "-o", "again.json"),
            (TRACE, "trace.json", "-o", "trace.json"),
            ("kernels.csv", "--csv", "."),
        ):
            with self.subTest(args):
                self.assert_refused(
                    support.headroom("report", *args, cwd=self.scratch), 2, "is an input trace", "name another"
                )
                self.assertEqual((self.scratch / "trace.json").read_bytes(), data)
                self.assertTrue((self.scratch / "link.json").is_symlink())

    def test_another_file_is_written(self):
        self.write("trace.json", TRACE.read_bytes())
        self.assertEqual(support.headroom("report", "trace.json", "-o", "out.txt", cwd=self.scratch).code, 0)
        self.assertIn("Host-bound: ", (self.scratch / "out.txt").read_text())


class Unreadable(support.ProgramTest):
    def assert_bad_input(self, outcome, *fragments):
        self.assert_refused(outcome, 3, *fragments)
        self.assert_printable(outcome.message, "stderr")

    def test_each_is_refused(self):
        for name, (data, fragments) in UNREADABLE.items():
            with self.subTest(name):
                self.assert_bad_input(support.headroom("report", "--json", self.write(name, data)), name, *fragments)

    def test_a_missing_file(self):
        self.assert_bad_input(
            support.headroom("report", self.scratch / "absent.json"), "absent.json", "no such file", "check its path"
        )

    def test_a_directory(self):
        self.assert_bad_input(
            support.headroom("report", self.scratch), self.scratch.name, "the folder has no trace", "name the files"
        )

    def test_a_file_that_may_not_be_read(self):
        if os.geteuid() == 0:
            self.skipTest("root may read everything")
        path = self.write("locked.json", TRACE.read_bytes())
        path.chmod(0)
        self.assert_bad_input(support.headroom("report", path), "locked.json", "check its permissions")

    def test_one_bad_file_of_two_refuses_both(self):
        # A report on only part of the input would silently lose a rank.
        for args in ((TRACE, self.scratch / "absent.json"), (self.scratch / "absent.json", TRACE)):
            self.assert_bad_input(support.headroom("report", "--json", *args), "absent.json", "check its path")

    def test_a_hostile_file_name_is_escaped(self):
        path = self.write("a\x1b[31m\nb.json", b"")
        self.assert_bad_input(support.headroom("report", path), "a\\x1b[31m\\nb.json", *EMPTY)

    @support.NEEDS_FULL_DEVICE
    def test_a_full_disk_is_not_success(self):
        with open(support.FULL_DEVICE, "wb") as full:
            code = subprocess.run(
                [support.BINARY, "report", TRACE], stdout=full, stderr=subprocess.DEVNULL, timeout=60
            ).returncode
        self.assertGreater(code, 0)
