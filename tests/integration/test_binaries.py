"""Tests that all built programs and libraries are hardened, and load no library from the working directory."""
import platform
import re
import shutil
import subprocess
import unittest

from integration import support

BUILD = support.BINARY.parent
INTEL = platform.machine() == "x86_64"


def linked_files(folder):
    """Returns ELF programs and libraries below a folder. Object files are not linked yet, so they are left out."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or "CMakeFiles" in path.parts or path.suffix in (".o", ".a"):
            continue
        with path.open("rb") as file:
            if file.read(4) == b"\x7fELF":
                yield path


def readelf(*arguments):
    done = subprocess.run(["readelf", "--wide", *map(str, arguments)], capture_output=True, text=True, check=True)
    return done.stdout


def search_path(path):
    """Returns the folders that a file adds to the search path of libraries."""
    found = re.search(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", readelf("--dynamic", path))
    return found.group(1).split(":") if found else []


@unittest.skipUnless(shutil.which("readelf"), "readelf (binutils) is missing")
@unittest.skipIf(support.sanitized(), "a build with sanitizers is not shipped")
class Binaries(support.ProgramTest):
    def test_no_file_searches_a_relative_folder(self):
        files = list(linked_files(BUILD))
        self.assertIn(support.BINARY, files)
        for path in [support.BINARY, *support.some(files, every=4)]:
            with self.subTest(path=path.name):
                for folder in search_path(path):
                    self.assertTrue(folder.startswith(("/", "$ORIGIN/")), f"'{folder}' is of the working directory")

    def test_shipped_files_are_hardened(self):
        shipped = [support.BINARY, *BUILD.glob("libheadroom_*.so"), *(BUILD / "python/headroom").glob("*.so")]
        self.assertGreater(len(shipped), 1)
        for path in shipped:
            with self.subTest(path=path.name):
                for folder in search_path(path):  # Folders of libraries outside the system's folders.
                    self.assertTrue(folder.startswith("/"), folder)
                segments, dynamic = readelf("--segments", path), readelf("--dynamic", path)
                self.assertIn("GNU_RELRO", segments)
                self.assertRegex(dynamic, r"FLAGS.*NOW", "symbols stay writable")
                self.assertNotRegex(segments, r"GNU_STACK.*RWE", "the stack can be executed")
                symbols = readelf("--dyn-syms", path)
                self.assertIn("__stack_chk_fail", symbols, "no stack protector")
                if INTEL:
                    self.assertIn("SHSTK", readelf("--notes", path), "no shadow stack")
        symbols = readelf("--dyn-syms", support.BINARY)
        self.assertRegex(symbols, r"__\w+_chk\b", "calls are not fortified")
        self.assertRegex(readelf("--file-header", support.BINARY), r"Type:\s+DYN", "loaded at a fixed address")
