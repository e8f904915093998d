#!/usr/bin/env python3
"""Tests of tools/import_graph.py: cycles of imports in a small package.

usage: python3 tools/import_graph_test.py
"""

import pathlib
import tempfile
import unittest

from import_graph import cycle_of_imports

# A package without cycles. Each case below replaces one module.
CLEAN = {
    "__init__.py": "from pkg import high as high\nfrom pkg.low import value\n",
    "low.py": "import os\n\nvalue = 1\n",
    "high.py": "import pkg.low\nfrom pkg import low\nfrom pkg._compiled import fast\n",
    "_compiled.pyi": "fast: int\n",
    "inner/start.py": "def start():\n    from pkg import high\n",
}


def found_in(modules):
    with tempfile.TemporaryDirectory() as folder:
        package = pathlib.Path(folder, "pkg")
        for name, text in modules.items():
            path = package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return cycle_of_imports(package)


class CycleOfImportsTest(unittest.TestCase):
    def test_a_package_without_cycles(self):
        self.assertIsNone(found_in(CLEAN))

    def test_a_cycle_is_told_with_its_place_and_the_remedy(self):
        self.assertEqual(
            found_in({**CLEAN, "low.py": "import os\nimport pkg.high\n"}),
            "pkg/low.py:2: imports form a cycle: pkg.high -> pkg.low -> pkg.high; move what they share into a "
            "module that imports none of them",
        )

    def test_each_way_to_import_counts(self):
        cases = {
            "a module of the package": "from pkg import high\n",
            "a name of a module": "from pkg.high import fast\n",
            "relative": "from . import high\n",
            "relative, a name of a module": "from .high import fast\n",
            "in a function": "def use(): from pkg import high\n",
            "for type checkers": "if TYPE_CHECKING: import pkg.high\n",
        }
        for what, text in cases.items():
            with self.subTest(what):
                self.assertRegex(found_in({**CLEAN, "low.py": text}) or "", "^pkg/low.py:1: .*: pkg.high -> pkg.low")

    def test_a_name_of_the_package_itself_counts(self):
        for text in ("from pkg import value\n", "import pkg\n"):
            with self.subTest(text):
                self.assertRegex(
                    found_in({**CLEAN, "high.py": text}) or "", "^pkg/high.py:1: .*: pkg -> pkg.high -> pkg;"
                )

    def test_invalid_python_is_left_to_others(self):
        self.assertIsNone(found_in({**CLEAN, "low.py": "def\n"}))


if __name__ == "__main__":
    unittest.main()
