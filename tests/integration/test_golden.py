"""Small readable traces with the result expected from the definitions, computed by hand.

tests/golden/NAME/ holds
    README.md        the tested behaviour, with the arithmetic
    trace.json       at most 60 lines (or files named by cmd)
    cmd              arguments after `headroom`, run in that folder
    expected.json    compared with stdout by support.mismatches; only its keys count
    expected.txt     each line must occur in stdout; a line after `!` must not
    expected.out     stdout, byte for byte
    expected.exit    exit code, if not 0
    expected.stderr  as expected.txt, for stderr
"""
import json
import re
import shlex
import unittest

from integration import support

FOLDERS = sorted(p for p in support.GOLDEN.iterdir() if p.is_dir())


def lines_of(path):
    return [line for line in path.read_text().split("\n") if line]


class Golden(support.ProgramTest):
    maxDiff = None

    def check(self, folder):
        args = shlex.split((folder / "cmd").read_text())
        outcome = support.headroom(*args, cwd=folder, environment={"LC_ALL": "C.UTF-8"})
        expected_exit = folder / "expected.exit"
        self.assertEqual(outcome.code, int(expected_exit.read_text()) if expected_exit.exists() else 0, outcome)
        if "--json" in args and outcome.code == 0:
            report = outcome.json()
            wrong = support.forecast_violations(report) if args[0] == "whatif" else support.violations(report)
            if (folder / "expected.json").exists():
                wrong += support.mismatches(json.loads((folder / "expected.json").read_text()), report)
            if wrong:
                self.fail("\n".join(wrong))
        elif "--md" in args:
            self.assert_whole_tables(outcome.text, folder.name)
        else:
            self.assert_readable_text(outcome.text, folder.name)
        if (folder / "expected.out").exists():
            self.assertEqual(outcome.text, (folder / "expected.out").read_text())
        for name, text in (("expected.txt", outcome.out), ("expected.stderr", outcome.err)):
            for line in lines_of(folder / name) if (folder / name).exists() else []:
                shown = text.decode("utf-8", "replace")
                if line.startswith("!"):
                    self.assertNotIn(line[1:], shown)
                else:
                    self.assertIn(line, shown)


class Folders(unittest.TestCase):
    """Tests that the goldens are complete and readable."""

    def test_every_golden_says_what_it_pins_and_can_fail(self):
        for folder in FOLDERS:
            with self.subTest(folder.name):
                self.assertTrue((folder / "README.md").read_text().strip())
                self.assertTrue((folder / "cmd").read_text().strip())
                self.assertTrue([*folder.glob("expected.*")])

    def test_traces_stay_small_enough_to_read(self):
        for path in support.GOLDEN.glob("*/*.json"):
            if not path.name.startswith("expected"):
                self.assertLessEqual(path.read_bytes().count(b"\n"), 60, path)

    def test_expectations_name_documented_health_codes(self):
        for folder in FOLDERS:
            path = folder / "expected.json"
            if path.exists():
                used = json.dumps(json.loads(path.read_text()).get("health", {}))
                for code in re.findall(r'"code": "([^"]+)"', used):
                    self.assertIn(code, support.known_codes(), folder.name)


for _folder in FOLDERS:

    def _test(self, folder=_folder):
        self.check(folder)

    _test.__doc__ = (_folder / "README.md").read_text().strip().split("\n")[0]
    setattr(Golden, "test_" + _folder.name.replace("-", "_").replace(".", "_"), _test)
