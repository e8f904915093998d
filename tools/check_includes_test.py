#!/usr/bin/env python3
"""Tests of tools/check_includes: each rule is broken once in a small tree, and must be named.

usage: python3 tools/check_includes_test.py
"""

import pathlib
import runpy
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "check_includes"

# A tree in which every file keeps the rules. Each case below adds or replaces one file.
CLEAN = {
    "include/headroom/timer.h": "#pragma once\n#include <stdint.h>\n",
    "include/headroom/timer.hpp": '#pragma once\n#include "headroom/timer.h"\n',
    "src/base/time.h": "// Time.\n#pragma once\n#include <cstdint>\n",
    "src/base/time.cc": '#include "base/time.h"\n',
    "src/store/table.h": '#pragma once\n#include "base/time.h"\n',
    "src/ingest/reader.h": '#pragma once\n#include "store/table.h"\n',
    "src/ingest/open.cc": '#include "ingest/chrome/chrome.h"\n#include "ingest/reader.h"\n',
    "src/ingest/chrome/chrome.h": '#pragma once\n#include "ingest/reader.h"\n',
    "src/ingest/chrome/chrome.cc": '#include "ingest/chrome/chrome.h"\n',
    "src/ingest/nsys/nsys.h": '#pragma once\n#include "ingest/reader.h"\n',
    "src/capture/writer.cc": '#include "base/time.h"\n#include "headroom/timer.h"\n',
    "src/graph/graph.h": '#pragma once\n#include "store/table.h"\n',
    "src/sim/replay.h": '#pragma once\n#include "graph/graph.h"\n',
    "src/whatif/amp.cc": '#include "sim/replay.h"\n',
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
                "src/sim/bad.cc:1: src/sim/ may include base, graph;",
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
                "one format includes another",
                "src/ingest/chrome/bad.cc",
                '#include "ingest/nsys/nsys.h"\n',
                "src/ingest/chrome/bad.cc:1: the format ingest/chrome/ may not include the format ingest/nsys/",
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
                "src/utils/bad.cc:1: src/utils/ is not in the layer table",
            ),
            ("file outside of every layer", "src/bad.cc", "\n", "src/bad.cc:1: a source file in src/ itself"),
        ]
        for name, path, text, expected in cases:
            with self.subTest(name):
                result = check({**CLEAN, path: text})
                self.assertEqual(result.returncode, 1)
                self.assertEqual(len(result.stdout.splitlines()), 1, result.stdout)
                self.assertTrue(result.stdout.startswith(expected), result.stdout)

    def test_the_table_runs_one_way(self):
        below = set()
        for folder, may_include in runpy.run_path(str(SCRIPT))["MAY_INCLUDE"].items():
            self.assertLessEqual(set(may_include), below, folder)
            below.add(folder)

    def test_a_wrong_root_is_a_usage_error(self):
        result = check({"readme": ""})
        self.assertEqual(result.returncode, 2)
        self.assertIn("--root DIR", result.stderr)


if __name__ == "__main__":
    unittest.main()
