"""Tests several processes under a real mpirun: together they give the answer of a single process, and only rank 0
prints it."""
import ctypes.util
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from integration import ranks, support

TRACE = "public-traces/hta__nccl_parser_config__nccl_data.json.gz"
SAMPLE = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"

# Open MPI refuses root and restricts containers by default. This test needs more processes than processors.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
WORLD = 5


def mpirun(processes, *args, **kwargs):
    return support.headroom(
        *args, launcher=["mpirun", "-n", str(processes)], environment=ENVIRONMENT, seconds=120, **kwargs
    )


class Distributed(support.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if shutil.which("mpirun") is None:
            raise unittest.SkipTest("no mpirun (openmpi-bin)")
        if not (support.BINARY.parent / "libheadroom_mpi.so").exists():
            raise unittest.SkipTest(
                f"no libheadroom_mpi.so beside {support.BINARY}: built without MPI (libopenmpi-dev)"
            )

    def assert_same(self, processes, *args):
        """Compares the answers of several processes and of one."""
        one = support.headroom(*args)
        many = mpirun(processes, *args)
        self.assertEqual((many.code, many.text), (one.code, one.text), many)
        self.assertEqual(many.message, one.message)
        return many


class OverRanks(Distributed):
    made: pathlib.Path

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        trace = ranks.load(support.data_file(TRACE))
        made = tempfile.TemporaryDirectory(prefix="headroom-ranks-")
        cls.addClassCleanup(made.cleanup)
        cls.made = pathlib.Path(made.name)
        for rank in range(WORLD):
            seen = ranks.make_rank(trace, rank, WORLD, offset_us=1e6 * rank, late_us=900 if rank == 3 else 0)
            ranks.write(seen, cls.made / f"rank{rank}.json.gz")

    def setUp(self):
        super().setUp()
        self.folder = shutil.copytree(self.made, self.scratch / "traces")

    def test_every_form_is_the_same_to_the_byte(self):
        for form in ((), ("--json",), ("--md",), ("--only", "ranks"), ("--rank", "4", "--json")):
            for processes in (2, 3):
                with self.subTest(form=form, processes=processes):
                    self.assertIn(
                        "rank", self.assert_same(processes, "report", self.folder, "--no-local-state", *form).text
                    )

    def test_files_are_written_once_and_are_the_same(self):
        for processes, folder in ((1, self.scratch / "one"), (3, self.scratch / "three")):
            self.assertEqual(mpirun(processes, "report", self.folder, "--no-local-state", "--csv", folder).code, 0)
        names = sorted(path.name for path in (self.scratch / "one").iterdir())
        self.assertIn("kernels.csv", names)
        self.assertEqual(names, sorted(path.name for path in (self.scratch / "three").iterdir()))
        for name in names:
            self.assertEqual(
                (self.scratch / "one" / name).read_bytes(), (self.scratch / "three" / name).read_bytes(), name
            )

    def test_what_one_process_cannot_read_is_named_and_the_rest_goes_on(self):
        (self.folder / "rank2.json.gz").write_bytes(b"nothing of a trace")
        answer = self.assert_same(3, "report", self.folder, "--no-local-state", "--json").json()
        issues = {issue["code"]: issue["detail"] for issue in answer["health"]["issues"]}
        self.assertEqual(
            {issue["rank"] for issue in answer["health"]["issues"] if issue["code"] == "unreadable-file"}, {None}
        )
        self.assertEqual((answer["health"]["grade"], answer["ranks"][0]["grade"]), ("B", "A"))
        self.assertIn("rank2.json.gz", issues["unreadable-file"])
        self.assertEqual(len(answer["inputs"]), WORLD - 1)

    def test_time_lists_what_each_process_read(self):
        outcome = mpirun(2, "report", self.folder, "--no-local-state", "--time", "-o", self.scratch / "out.txt")
        self.assertEqual(outcome.code, 0, outcome)
        lines = re.findall(
            r"^process (\d) on \S+: (\d) files in [\d.]+ ms on \d+ threads?, peak [\d.]+ MB: (.*)$",
            outcome.message,
            re.MULTILINE,
        )
        self.assertEqual([number for number, _, _ in lines], ["0", "1"], outcome)
        self.assertEqual(sorted(count for _, count, _ in lines), ["2", "3"], outcome)
        read = sorted(path for _, _, paths in lines for path in paths.split(", "))
        self.assertEqual(read, [str(self.folder / f"rank{rank}.json.gz") for rank in range(WORLD)])

    def test_more_processes_than_files(self):
        self.assert_same(4, "report", self.folder / "rank0.json.gz", self.folder / "rank1.json.gz", "--no-local-state")


class OneWord(Distributed):
    """Errors are printed once."""

    def said(self, outcome):
        """Returns stderr without mpirun's own lines on a failed process."""
        return [line for line in outcome.message.splitlines() if line.startswith("headroom: ")]

    def test_a_wrong_flag(self):
        outcome = mpirun(3, "report", SAMPLE, "--no-such-flag")
        self.assertEqual((outcome.code, outcome.out, len(self.said(outcome))), (2, b"", 1), outcome)

    def test_wrong_flags_together(self):
        outcome = mpirun(3, "report", SAMPLE, "--json", "--md")
        self.assertEqual((outcome.code, outcome.out, len(self.said(outcome))), (2, b"", 1), outcome)

    def test_a_missing_file(self):
        outcome = mpirun(3, "report", self.scratch / "missing.json", SAMPLE)
        self.assertEqual((outcome.code, outcome.out, len(self.said(outcome))), (3, b"", 1), outcome)
        self.assertIn("missing.json", outcome.message)

    def test_an_empty_folder(self):
        outcome = mpirun(2, "report", self.scratch)
        self.assertEqual((outcome.code, outcome.out, len(self.said(outcome))), (3, b"", 1), outcome)

    def test_help(self):
        self.assert_same(2, "report", "--help")
        self.assert_same(2, "--version")


class Sweep(Distributed):
    def test_many_processes_say_what_one_says(self):
        self.assert_same(3, "whatif", SAMPLE, "--sweep", "amp", "--no-local-state")
        self.assert_same(2, "whatif", SAMPLE, "--sweep", "--json", "--no-local-state")

    def test_without_a_sweep(self):
        self.assert_same(2, "whatif", SAMPLE, "amp", "--no-local-state")
        self.assert_same(2, "whatif", "--list")

    def test_a_trace_that_is_none(self):
        outcome = mpirun(2, "whatif", self.write("empty.json", "{}"), "--sweep", "amp")
        self.assertEqual((outcome.code, outcome.out), (3, b""), outcome)
        self.assertEqual(outcome.message.count("empty.json"), 1, outcome)

    def test_a_process_with_another_calibration_is_no_help(self):
        """The step takes equally long, because the GPU limits it. The host's share differs."""
        flags = ["whatif", SAMPLE, "--sweep", "--json"]
        other = ["--calibration", support.GOLDEN / "whatif-text/calibration.toml"]
        outcome = support.run(
            [
                "mpirun",
                "-n",
                "1",
                support.BINARY,
                *flags,
                "--no-local-state",
                ":",
                "-n",
                "1",
                support.BINARY,
                *flags,
                *other,
            ],
            environment=ENVIRONMENT,
        )
        self.assertEqual(outcome.text, support.headroom(*flags, "--no-local-state").text)


class InsideAJob(Distributed):
    def test_a_program_of_mpi_may_run_it(self):
        """mpirun's variables are for the program that it starts. A report that took the program's place would wait
        forever."""
        program = self.write(
            "job.py",
            f"""
import ctypes, os, subprocess
mpi = ctypes.CDLL({ctypes.util.find_library("mpi")!r}, ctypes.RTLD_GLOBAL)
mpi.MPI_Init(None, None)
done = subprocess.run([{str(support.BINARY)!r}, "report", {str(SAMPLE)!r}, "--no-local-state", "--json"],
                      capture_output=True, timeout=60)
os.write(1, f"{{done.returncode}} {{len(done.stdout)}}\\n".encode())  # In one piece: lines of two processes stay whole.
mpi.MPI_Finalize()
""",
        )
        alone = support.headroom("report", SAMPLE, "--no-local-state", "--json")
        outcome = support.run(["mpirun", "-n", "2", sys.executable, program], environment=ENVIRONMENT)
        self.assertEqual(outcome.text.split("\n"), [f"0 {len(alone.out)}"] * 2 + [""], outcome)

    def test_without_the_module_it_says_so(self):
        lone = self.scratch / "bin"
        lone.mkdir()
        shutil.copy(support.BINARY, lone / "headroom")
        outcome = support.run(["mpirun", "-n", "2", lone / "headroom", "report", SAMPLE], environment=ENVIRONMENT)
        self.assertEqual((outcome.code, outcome.out), (2, b""), outcome)
        self.assertIn("libheadroom_mpi.so is neither next to the program nor", outcome.message)

    def test_a_script_whose_first_rank_wants_a_report(self):
        """Without an MPI library nearby, the program still inherits the launcher's variables."""
        ranked = (
            f'[ "$OMPI_COMM_WORLD_RANK" != 0 ] || {{ {support.BINARY} report {SAMPLE} --no-local-state --json; '
            'echo "exit $?"; }'
        )
        outcome = support.run(["mpirun", "-n", "2", "bash", "-c", ranked], environment=ENVIRONMENT)
        self.assertEqual(
            outcome.text, support.headroom("report", SAMPLE, "--no-local-state", "--json").text + "exit 0\n"
        )

    def test_a_process_that_dies_ends_the_others(self):
        outcome = support.run(
            [
                "mpirun",
                "-n",
                "1",
                support.BINARY,
                "report",
                SAMPLE,
                SAMPLE,
                ":",
                "-n",
                "1",
                "bash",
                "-c",
                "sleep 1; kill -9 $$",
            ],
            environment=ENVIRONMENT,
            seconds=30,
        )
        self.assertNotEqual(outcome.code, 0, outcome)
        self.assertEqual(outcome.out, b"", outcome)


if __name__ == "__main__":
    unittest.main()
