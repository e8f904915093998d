#!/usr/bin/env python3
"""Tests of tools/check_words."""
import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
LOADER = importlib.machinery.SourceFileLoader("check_words", str(HERE / "check_words"))
SPEC = importlib.util.spec_from_loader("check_words", LOADER)
assert SPEC is not None
check_words = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(check_words)


class Words(unittest.TestCase):
    def found(self, name, source):
        """Returns [(line, refused word)] of a file."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            path.write_text(source)
            shown, comments = check_words.texts(path)
            return [
                (line, match[0])
                for line, text in shown + comments
                for pattern, _ in check_words.terms()
                if (match := pattern.search(text))
            ]

    def test_each_term_is_found_by_its_pattern(self):
        rows = [line for line in check_words.STYLE.read_text().splitlines() if line.startswith("| ") and "`" in line]
        self.assertEqual(len(rows), len(check_words.terms()))
        for row in rows:
            for word in row.split("|")[1].split(","):
                with self.subTest(word):
                    self.assertTrue(any(pattern.search(word) for pattern, _ in check_words.terms()), word)

    def test_strings_and_comments_of_sources_are_checked(self):
        self.assertEqual(
            self.found("a.cc", 'f("seldom\\n");\n// It cannot\n// be told.\ng("12 ms "\n  "a step");\n'),
            [(1, "seldom"), (4, "ms a step"), (2, "cannot be told")],
        )
        self.assertEqual(
            self.found("a.cc", 'f("http://seldom", x);\ng();  /// Alike.\n'), [(1, "seldom"), (2, "Alike")]
        )
        self.assertEqual(
            self.found("a.cc", """j.Key("seldom").String("alike"); f("// seldom", '"', "cannot be told");\n"""),
            [(1, "alike"), (1, "seldom"), (1, "cannot be told")],
        )
        self.assertEqual(self.found("a.py", '# seldom\nx = "It is told so."\n"""\nBoth are alike."""\n')[0][1], "alike")
        self.assertEqual(self.found("a.tsx", "// seldom\n<p>Both are alike</p>\n"), [(2, "alike"), (1, "seldom")])

    def test_openings_of_comments(self):
        for comment in ("Of each rank.", "What a step takes.", "Whether it ends."):
            self.assertTrue(check_words.BAD_OPENING.match(comment), comment)
        for comment in ("Offsets of ranks.", "Returns what is left.", "Whatever"):
            self.assertFalse(check_words.BAD_OPENING.match(comment), comment)

    def test_code_in_documents_is_not_checked(self):
        self.assertEqual(self.found("a.md", "Use `seldom`.\nThis is seldom so.\n"), [(2, "seldom")])

    def test_files_that_nobody_reads_are_left_out(self):
        for name in ("src/base/a_test.cc", "docs/decisions/0001-a.md", "ui/src/a.test.ts", "tools/check"):
            self.assertFalse(check_words.is_read(name), name)
        for name in (
            "src/base/a.cc",
            "include/headroom/a.hpp",
            "docs/report.md",
            "README.md",
            "ui/src/views/a.tsx",
            "python/headroom/a.py",
        ):
            self.assertTrue(check_words.is_read(name), name)


if __name__ == "__main__":
    unittest.main()
