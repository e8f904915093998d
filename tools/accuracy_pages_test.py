#!/usr/bin/env python3
"""Tests of tools/accuracy_pages.py, and that the pages and the index of docs/accuracy/ fit together."""
import contextlib
import io
import math
import pathlib
import re
import shutil
import tempfile
import unittest
from unittest import mock

import accuracy_pages
from accuracy_pages import IN_SAMPLE, LEFT_OUT, Figure

accuracy = accuracy_pages.load("accuracy")


class Figures(unittest.TestCase):
    FIGURE = Figure(
        "steps", LEFT_OUT, [-10.0, 2.0, 3.0, 1.0], [True, True, True, False], [True, False], ["a", "b", "c", "d"]
    )

    def test_columns(self):
        self.assertEqual(self.FIGURE.columns(), ["steps", "4", "4.0 %", "2.5 %", "10.0 %", "75 %", "50 %", "left out"])

    def test_sentences_name_errors_level_and_sign(self):
        text = self.FIGURE.sentences()
        for part in ("4.0 % (median 2.5 %, worst 10.0 %)", "80 % interval contains 75 %", "50 % state correctly"):
            self.assertIn(part, text)

    def test_without_interval_and_gain(self):
        figure = Figure("peaks", IN_SAMPLE, [1.0], unit="points")
        self.assertEqual(figure.columns()[2:7], ["1.0 points"] * 3 + ["no interval", "-"])
        self.assertIn("no 80 % interval", figure.sentences())
        self.assertEqual(figure.worst(), [])

    def test_the_worst_cases_come_first(self):
        self.assertEqual(self.FIGURE.worst(2)[0], "Worst cases: a (-10.0 %); c (+3.0 %).")

    def test_a_gain_is_five_percent_or_more(self):
        self.assertEqual(
            [accuracy_pages.is_gain(100, after) for after in (94, 95, 96, 105)], [True, True, False, False]
        )

    def test_gains_between_gpus(self):
        """An iteration takes 100, 90 and 50 ms on three GPUs. The predictions are 100, 99 and 50 ms."""

        def step(gpu, true, predicted):
            row = {"model": "m", "mode": "inf", "seq": "1", "batch": "1", "e2e_ms": str(true)}
            return gpu, row, predicted, math.log(true / predicted), abs(true - predicted) < 5

        steps = [step("A", 100, 100), step("B", 90, 99), step("C", 50, 50)]
        figure = accuracy_pages.load("predict_accuracy").figure_of_steps("iterations", steps)
        # Of six moves from one GPU to another, only the gain from A to B is missed.
        self.assertEqual([figure.right.count(True), figure.right.count(False)], [5, 1])
        self.assertEqual([f"{error:.0f}" for error in figure.errors], ["0", "10", "0"])
        self.assertEqual(figure.columns()[5], "67 %")


class Pages(unittest.TestCase):
    def setUp(self):
        """Copies the pages, so that tests can damage them."""
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        shutil.copytree(accuracy_pages.FOLDER, folder / "accuracy")
        shutil.copy(accuracy_pages.INDEX, folder / "accuracy.md")
        self.enterContext(mock.patch.object(accuracy_pages, "FOLDER", folder / "accuracy"))
        self.enterContext(mock.patch.object(accuracy_pages, "INDEX", folder / "accuracy.md"))

    def check(self, *arguments):
        """Returns the exit code of tools/accuracy, and its messages."""
        output = io.StringIO()
        with contextlib.redirect_stderr(output), contextlib.redirect_stdout(output):
            code = accuracy.main([*arguments, "input-pipelines"])
        return code, output.getvalue()

    def test_current_pages_pass(self):
        self.assertEqual(self.check("--check"), (0, ""))

    def test_a_stale_page_fails_and_is_repaired(self):
        page = accuracy_pages.FOLDER / "input-pipelines.md"
        text = page.read_text()
        page.write_text(re.sub(r"\+40\.5 %", "+40.4 %", text, count=1))
        self.assertNotEqual(page.read_text(), text)
        code, message = self.check("--check")
        self.assertEqual(code, 1)
        self.assertIn(f"{page} is out of date", message)
        self.assertEqual(self.check()[0], 0)
        self.assertEqual(page.read_text(), text)

    def test_a_stale_index_fails(self):
        """The index comes from all pages, so a changed figure of any page makes it stale."""
        for name in accuracy_pages.ORDER:
            with self.subTest(name):
                page = accuracy_pages.FOLDER / f"{name}.md"
                text = page.read_text()
                mean = accuracy_pages.first_row(name)[1][2]
                page.write_text(text.replace(f"| {mean} |", "| 99.9 % |", 1))
                code, message = self.check("--check")
                page.write_text(text)
                self.assertEqual(code, 1)
                self.assertIn("accuracy.md is out of date", message)

    def test_each_page_begins_with_what_to_believe(self):
        self.assertEqual(sorted(accuracy_pages.ORDER), sorted(accuracy.PAGES))
        for name in accuracy_pages.ORDER:
            with self.subTest(name):
                text = (accuracy_pages.FOLDER / f"{name}.md").read_text()
                self.assertRegex(text, r"^# .*\?\n\nExpect an error of [\d.]+ ")
                self.assertIn("80 % interval", text)

    def test_the_index_is_short(self):
        self.assertLess(len(accuracy_pages.INDEX.read_text().splitlines()), 60)


if __name__ == "__main__":
    unittest.main()
