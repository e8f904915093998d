#!/usr/bin/env python3
"""Tests of tools/check_includes: breaks each rule once in a small tree and expects its message.

usage: python3 tools/check_includes_test.py
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "check_includes"

# A tree in which every file obeys the rules. Each case below adds or replaces one file.
CLEAN = {
    "tools/includes.toml": """
[folders]
base = []
capture = ["base"]
store = ["base"]
ingest = ["store"]
cost = []
graph = ["store"]
sim = ["graph"]
whatif = ["sim"]
cli = ["ingest", "sim"]

[rooms.ingest]
chrome = [""]
nsys = [""]
all = ["", "chrome"]
""",
    "include/headroom/timer.h": "#pragma once\n#include <stdint.h>\n",
    "include/headroom/timer.hpp": '#pragma once\n#include "headroom/timer.h"\n',
    "src/base/time.h": "// Time.\n#pragma once\n#include <cstdint>\n",
    "src/base/time.cc": '#include "base/time.h"\n',
    "src/base/window.h": "#pragma once\nnamespace headroom {\nclass Window {};\n}  // namespace headroom\n",
    "src/sim/own.cc": "namespace headroom {\nstruct Window;\nnamespace {\nstruct Window {};\n}  // namespace\n"
    "}  // namespace headroom\n",
    "src/store/table.h": '#pragma once\n#include "base/time.h"\n',
    "src/ingest/reader.h": '#pragma once\n#include "store/table.h"\n',
    "src/ingest/all/open.cc": '#include "ingest/chrome/chrome.h"\n#include "ingest/reader.h"\n',
    "src/ingest/chrome/chrome.h": '#pragma once\n#include "ingest/reader.h"\n',
    "src/ingest/chrome/chrome.cc": '#include "ingest/chrome/chrome.h"\n',
    "src/ingest/nsys/nsys.h": '#pragma once\n#include "ingest/reader.h"\n',
    "src/capture/writer.cc": '#include "base/time.h"\n#include "headroom/timer.h"\n',
    "src/graph/graph.h": '#pragma once\n#include "store/table.h"\n',
    "src/sim/replay.h": '#pragma once\n#include "graph/graph.h"\n',
    "src/whatif/amp.cc": '#include "sim/replay.h"\n',
    "src/whatif/amp_test.cc": '#include "ingest/reader.h"\n',
    "src/cost/devices.cc": '#include "embedded/device_files.h"\n',
    "src/cli/main.cc": '#include "sim/replay.h"\n#include "ingest/reader.h"\n',
    "tests/fuzz/fuzz_time.cc": '#include "base/time.h"\n#include "helper.h"\n',
    "tests/fuzz/helper.h": "#pragma once\n",
    "examples/loop.cc": "#include <headroom/timer.hpp>\n",
}


def check(files, *arguments):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return subprocess.run(
            [sys.executable, SCRIPT, "--root", root, *arguments], capture_output=True, text=True, check=False
        )


class CheckIncludesTest(unittest.TestCase):
    def test_a_clean_tree_passes_in_silence(self):
        result = check(CLEAN)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_each_broken_rule_is_named(self):
        cases = [
            (
                "upward include of a test",
                "src/base/time_test.cc",
                '\n#include "store/table.h"\n',
                "src/base/time_test.cc:2: src/base/ may include nothing private;",
            ),
            (
                "upward include",
                "src/base/bad.cc",
                '\n#include "store/table.h"\n',
                "src/base/bad.cc:2: src/base/ may include nothing private;",
            ),
            (
                "sideways include",
                "src/capture/bad.cc",
                '#include "store/table.h"\n',
                "src/capture/bad.cc:1: src/capture/ may include base;",
            ),
            (
                "a layer skipped that is not in the row",
                "src/sim/bad.cc",
                '#include "store/table.h"\n',
                "src/sim/bad.cc:1: src/sim/ may include graph;",
            ),
            (
                "a test file is no exception",
                "src/store/bad_test.cc",
                '#include "sim/replay.h"\n',
                "src/store/bad_test.cc:1: src/store/ may include base;",
            ),
            ("spaces do not hide it", "src/base/bad.cc", '  #  include   "store/table.h"\n', "src/base/bad.cc:1: "),
            (
                "angle brackets do not hide it",
                "src/base/bad.cc",
                "#include <store/table.h>\n",
                'src/base/bad.cc:1: <store/table.h> names a file of src/; write it "store/table.h"',
            ),
            (
                "a macro does not hide it",
                "src/base/bad.cc",
                "#include TABLE_HEADER\n",
                "src/base/bad.cc:1: an include through a macro",
            ),
            (
                "dots do not hide it",
                "src/base/bad.cc",
                '#include "base/../store/table.h"\n',
                'src/base/bad.cc:1: "base/../store/table.h" is not a plain path',
            ),
            (
                "one room includes another",
                "src/ingest/chrome/bad.cc",
                '#include "ingest/nsys/nsys.h"\n',
                "src/ingest/chrome/bad.cc:1: src/ingest/chrome/ may include of src/ingest/ the files of the folder ",
            ),
            (
                "public includes private",
                "include/headroom/bad.h",
                '#pragma once\n#include "base/time.h"\n',
                "include/headroom/bad.h:2: include/ may include nothing private;",
            ),
            (
                "an example includes private",
                "examples/bad.cc",
                '#include "base/time.h"\n',
                "examples/bad.cc:1: examples/ may include nothing private;",
            ),
            (
                "no such file in src/",
                "src/base/bad.cc",
                '#include "base/none.h"\n',
                'src/base/bad.cc:1: "base/none.h" does not resolve; there is no src/base/none.h',
            ),
            (
                "no such public header",
                "src/base/bad.cc",
                '#include "headroom/none.h"\n',
                'src/base/bad.cc:1: "headroom/none.h" does not resolve; there is no include/headroom/none.h',
            ),
            (
                "beside the file, not relative to src/",
                "src/base/bad.cc",
                '#include "time.h"\n',
                'src/base/bad.cc:1: "time.h" does not resolve; write it relative to src/',
            ),
            (
                "no such file beside a test",
                "tests/fuzz/bad.cc",
                '#include "none.h"\n',
                'tests/fuzz/bad.cc:1: "none.h" does not resolve beside this file',
            ),
            (
                "header without pragma once",
                "src/base/bad.h",
                "// #pragma once\n",
                "src/base/bad.h:1: header without `#pragma once`",
            ),
            (
                "folder that the table does not know",
                "src/utils/bad.cc",
                "\n",
                "src/utils/bad.cc:1: src/utils/ is not in tools/includes.toml",
            ),
            (
                "a type of a name that another file defines",
                "src/sim/window.h",
                "#pragma once\nnamespace headroom {\nstruct Window {};\n}  // namespace headroom\n",
                "src/sim/window.h:3: src/base/window.h defines headroom::Window, too;",
            ),
            ("file outside of every layer", "src/bad.cc", "\n", "src/bad.cc:1: a source file in src/ itself"),
        ]
        for name, path, text, expected in cases:
            with self.subTest(name):
                result = check({**CLEAN, path: text})
                self.assertEqual(result.returncode, 1)
                self.assertEqual(len(result.stdout.splitlines()), 1, result.stdout)
                self.assertTrue(result.stdout.startswith(expected), result.stdout)

    def test_a_test_may_include_any_room_of_its_folder(self):
        result = check({**CLEAN, "src/ingest/chrome/reader_test.cc": '#include "ingest/nsys/nsys.h"\n'})
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_the_table_is_checked(self):
        table = CLEAN["tools/includes.toml"]
        for name, old, new, expected in (
            (
                "an unused line",
                "cost = []",
                'cost = ["base"]',
                '[folders] "cost" lists "base", which it does not include',
            ),
            ("an unused room", 'nsys = [""]', 'nsys = ["", "chrome"]', '[rooms.ingest] "nsys" lists "chrome", which'),
            (
                "a cycle",
                "base = []",
                'base = ["sim"]',
                "[folders] forms a cycle: base -> sim -> graph -> store -> base",
            ),
        ):
            with self.subTest(name):
                files = {**CLEAN, "tools/includes.toml": table.replace(old, new)}
                if name == "a cycle":
                    files["src/base/bad.cc"] = '#include "sim/replay.h"\n'
                result = check(files)
                self.assertEqual(result.returncode, 1)
                self.assertEqual(len(result.stdout.splitlines()), 1, result.stdout)
                self.assertTrue(result.stdout.startswith(f"tools/includes.toml: {expected}"), result.stdout)

    def test_a_folder_holds_fifty_files_without_tests(self):
        files = {f"src/base/a{i}.cc": "" for i in range(47)} | {"src/base/a_test.cc": ""}
        self.assertEqual(check(CLEAN | files).returncode, 0)
        result = check(CLEAN | files | {"src/base/b.cc": ""})
        self.assertEqual(result.stdout, "src/base: 51 files, more than 50; divide it by subject\n")

    def test_a_wrong_root_is_a_usage_error(self):
        result = check({"readme": ""})
        self.assertEqual(result.returncode, 2)
        self.assertIn("--root DIR", result.stderr)


if __name__ == "__main__":
    unittest.main()
