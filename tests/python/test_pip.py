"""Tests `pip install .`, offline: the timer is built and packed with its type information. Without CMake the
installation fails, unless only the timers are wanted.
"""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@unittest.skipUnless(all(map(importlib.util.find_spec, ("pip", "setuptools", "wheel"))), "no pip, setuptools or wheel")
class Pip(unittest.TestCase):
    def test_install_from_the_tree(self):
        with tempfile.TemporaryDirectory(prefix="headroom-test-") as scratch:
            folder = pathlib.Path(scratch)
            tree, target, tools = folder / "tree", folder / "target", folder / "tools"
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            for name in ("python", "include"):
                shutil.copytree(ROOT / name, tree / name, ignore=ignored)
            for name in ("setup.py", "pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE"):
                shutil.copy2(ROOT / name, tree)
            tools.mkdir()
            (tools / "cmake").write_text("#!/bin/sh\nexit 1\n")
            (tools / "cmake").chmod(0o755)
            environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PIP_NO_INDEX": "1"}
            environment.pop("PYTHONPATH", None)

            def install(**more):
                return subprocess.run(
                    [
                        sys.executable,
                        "-m",
                        "pip",
                        "install",
                        "--no-build-isolation",
                        "--no-deps",
                        "--target",
                        target,
                        tree,
                    ],
                    env={**environment, **more},
                    capture_output=True,
                    text=True,
                )

            done = install()
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertIn("the program cannot be built here", done.stdout + done.stderr)
            self.assertFalse((target / "headroom").exists())
            done = install(HEADROOM_TIMERS_ONLY="1")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

            package = target / "headroom"
            here = {
                str(path.relative_to(ROOT / "python/headroom"))
                for pattern in ("*.py", "*.pyi", "py.typed", "_inject/*.py")
                for path in (ROOT / "python/headroom").glob(pattern)
            }
            there = {
                str(path.relative_to(package))
                for path in package.rglob("*")
                if path.is_file() and path.suffix != ".pyc"
            }
            self.assertEqual(there - here, {"_timer.abi3.so"})
            self.assertEqual(here - there, set())

            code = (
                "import headroom\n"
                "with headroom.scope('x'): pass\n"
                "assert headroom.stats('x').count == 1\n"
                "print(headroom.__version__)\n"
                "try: headroom.Graph\n"
                "except ImportError as error: print('engine' in str(error))"
            )
            done = subprocess.run(
                [sys.executable, "-B", "-c", code],
                cwd=folder,
                env={**environment, "PYTHONPATH": str(target)},
                capture_output=True,
                text=True,
            )
            self.assertRegex(done.stdout, r"^\d+\.\d+\.\d+\nTrue\n$")
            self.assertEqual(done.stderr, "")

            # The command exists, and says what this installation lacks.
            done = subprocess.run(
                [target / "bin" / "headroom", "record", "--", "true"],
                cwd=folder,
                env={**environment, "PYTHONPATH": str(target)},
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("this installation has no program", done.stderr)

    def test_the_command_never_starts_itself(self):
        """pip's script is where a prefix has the program: bin/headroom, three folders above the package."""
        with tempfile.TemporaryDirectory(prefix="headroom-test-") as scratch:
            prefix = pathlib.Path(scratch)
            package = prefix / "lib/python3/site-packages/headroom"
            shutil.copytree(ROOT / "python/headroom", package, ignore=shutil.ignore_patterns("__pycache__"))
            script = prefix / "bin/headroom"
            script.parent.mkdir()
            script.write_text(f"#!{sys.executable}\nimport sys\nfrom headroom.__main__ import main\nsys.exit(main())\n")
            script.chmod(0o755)
            done = subprocess.run(
                [script, "report"],
                env={**os.environ, "PYTHONPATH": str(package.parent)},
                capture_output=True,
                text=True,
                timeout=20,
            )
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("this installation has no program", done.stderr)

    def test_the_program_beside_the_module_is_run(self):
        build = pathlib.Path(os.environ.get("HEADROOM_BINARY", ROOT / "build/release/headroom")).resolve().parent
        for args, code in ((("--version",), 0), (("report", "no such file"), 3)):
            asked = subprocess.run([build / "headroom", *args], capture_output=True, text=True)
            done = subprocess.run(
                [sys.executable, "-m", "headroom", *args],
                env={**os.environ, "PYTHONPATH": str(build / "python")},
                capture_output=True,
                text=True,
            )
            self.assertEqual(
                (done.returncode, done.stdout, done.stderr), (asked.returncode, asked.stdout, asked.stderr)
            )
            self.assertEqual(done.returncode, code)


if __name__ == "__main__":
    unittest.main()
