"""Tests the files that the program keeps on this machine: shared by several programs, private, and never through a
trap."""
import concurrent.futures
import json
import os
import pathlib
import stat
import subprocess
from collections.abc import Callable

from integration import support

SAMPLE = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"


class LocalState(support.ProgramTest):
    def setUp(self):
        super().setUp()
        self.environment = {"XDG_STATE_HOME": str(self.scratch)}
        self.ledger = self.scratch / "headroom/forecasts.jsonl"

    def save(self, factor="2"):
        return support.headroom(
            "whatif", SAMPLE, f"gpu-speed:factor={factor}", "--save", "-q", environment=self.environment, seconds=60
        )

    def test_of_twenty_savers_at_once_none_loses_a_forecast(self):
        factors = [f"1.{i}" for i in range(11, 31)]
        with concurrent.futures.ThreadPoolExecutor(len(factors)) as pool:
            outcomes = list(pool.map(self.save, factors))
        self.assertEqual({outcome.code for outcome in outcomes}, {0})
        lines = [json.loads(line) for line in self.ledger.read_text().splitlines()]
        self.assertEqual(len(lines), len(factors))

    def test_a_line_that_was_torn_spoils_no_other(self):
        self.assertEqual(self.save().code, 0)
        with self.ledger.open("a") as file:
            file.write('{"torn": ')
        self.assertEqual(self.save("3").code, 0)
        lines = self.ledger.read_text().splitlines()
        self.assertEqual(len(lines), 3)
        json.loads(lines[2])

    def test_only_its_owner_reads_it(self):
        self.assertEqual(self.save().code, 0)
        self.assertEqual(stat.S_IMODE(self.ledger.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(self.ledger.parent.stat().st_mode), 0o700)

    def test_what_is_no_file_is_refused_and_not_waited_for(self):
        self.ledger.parent.mkdir()
        elsewhere = self.scratch / "elsewhere"
        elsewhere.write_text("precious")
        traps: dict[str, Callable[[pathlib.Path], object]] = {
            "a pipe": os.mkfifo,
            "a folder": os.mkdir,
            "a symbolic link": lambda path: os.symlink(elsewhere, path),
        }
        for what, make in traps.items():
            for name, command in (
                ("forecasts.jsonl", ("whatif", SAMPLE, "gpu-speed:factor=2", "--save")),
                ("calibration.toml", ("whatif", SAMPLE, "gpu-speed:factor=2")),
            ):
                with self.subTest(what=what, name=name):
                    place = self.ledger.parent / name
                    make(place)
                    outcome = support.headroom(*command, environment=self.environment, seconds=30)
                    self.assert_refused(outcome, 3, what, name, "--no-local-state")
                    subprocess.run(["rm", "-r", place], check=True)
        self.assertEqual(elsewhere.read_text(), "precious")

    def test_of_two_savers_of_one_baseline_one_is_told(self):
        def save(_):
            return support.headroom("baseline", "save", "main", SAMPLE, "-q", cwd=self.scratch, seconds=60)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            outcomes = list(pool.map(save, range(4)))
        self.assertEqual(sorted(outcome.code for outcome in outcomes), [0, 2, 2, 2])
        for outcome in outcomes:
            if outcome.code != 0:
                self.assertIn("replace it with --force", outcome.message)

    def test_a_baseline_that_is_no_file_is_refused(self):
        folder = self.scratch / ".headroom/baselines"
        folder.mkdir(parents=True)
        os.mkfifo(folder / "main.json")
        for command in (("baseline", "save", "main", SAMPLE, "--force"), ("diff", "main", SAMPLE)):
            with self.subTest(command=command[0]):
                self.assert_refused(support.headroom(*command, cwd=self.scratch, seconds=30), 3, "a pipe", "main.json")
