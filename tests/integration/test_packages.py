"""Tests the installed files: complete, relocatable, and usable by other programs; docs/install.md."""
import gzip
import pathlib
import re
import shutil
import subprocess
import unittest

from integration import support

BUILD = support.BINARY.parent
CONSUMER = support.ROOT / "tests/packages/consumer"
ABI = support.ROOT / "tests/abi"
ENGINE = BUILD / "python/headroom"
VERSION = re.search(r"project\(headroom VERSION ([\d.]+)", (support.ROOT / "CMakeLists.txt").read_text()).group(1)


def exported(file):
    """Returns the symbols that a library or program exports, one "T name" per line, as nm prints them."""
    rows = subprocess.run(
        ["nm", "-D", "--defined-only", file], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return sorted(row.split(maxsplit=1)[1] for row in rows)


class Packages(support.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if support.sanitized() or not (BUILD / "cmake_install.cmake").exists():
            raise unittest.SkipTest(f"{BUILD} is no build folder of which something can be installed")
        if not (BUILD / "install/man1").exists():
            raise unittest.SkipTest(f"{BUILD} is built in part: cmake --build --preset release")

    def run_well(self, *command, **kwargs):
        outcome = support.run(command, **kwargs)
        self.assertEqual(outcome.code, 0, outcome)
        return outcome.text

    def install(self):
        """Returns a prefix that was moved after the installation."""
        first, prefix = self.scratch / "first", self.scratch / "moved here"
        self.run_well("cmake", "--install", BUILD, "--prefix", first)
        first.rename(prefix)
        return prefix

    def record(self, prefix, program):
        """Returns {name: count} of a program's regions, as the installed Headroom records and reports them."""
        file = self.scratch / f"{program[-1].name}.pftrace"
        environment = {"PYTHONPATH": ""}
        self.run_well(prefix / "bin/headroom", "record", "-o", file, "--", *program, environment=environment)
        report = support.run([prefix / "bin/headroom", "report", "--json", file], environment=environment).json()
        self.assertEqual(report["steps"]["count"], 5, report["steps"])
        return {row["key"]: row["count"] for row in report["regions"]}


class Install(Packages):
    def test_a_moved_prefix_is_whole(self):
        prefix = self.install()
        here = {path.relative_to(prefix).as_posix() for path in prefix.rglob("*") if path.is_file()}
        for name in (
            "bin/headroom",
            "include/headroom/timer.h",
            "include/headroom/detail/shared.h",
            "lib/headroom/libheadroom_cupti.so",
            "lib/headroom/python/headroom/_inject/sitecustomize.py",
            "lib/headroom/python/headroom/_timer.abi3.so",
            "share/cmake/Headroom/HeadroomConfig.cmake",
            "share/pkgconfig/headroom.pc",
            "share/bash-completion/completions/headroom",
            "share/zsh/site-functions/_headroom",
            "share/fish/vendor_completions.d/headroom.fish",
            "share/doc/headroom/README.md",
            "share/doc/headroom/LICENSE",
            "share/doc/headroom/docs/install.md",
            "share/doc/headroom/CHANGELOG.md",
        ):
            self.assertIn(name, here)
        self.assertFalse([name for name in here if "__pycache__" in name or name.endswith((".cc", ".a"))])
        headers = {
            path.relative_to(support.ROOT).as_posix()
            for path in (support.ROOT / "include").rglob("*")
            if path.is_file()
        }
        self.assertEqual({name for name in here if name.startswith("include/")}, headers)
        names = re.findall(r"^  ([a-z][a-z-]*) ", support.headroom("--help").text.split("\n\n")[2], re.MULTILINE)
        for name in names:
            page = prefix / f"share/man/man1/headroom-{name}.1.gz"
            self.assertEqual(gzip.decompress(page.read_bytes()).decode(), support.headroom("man", name).text)
        # No file contains the path of its build or installation.
        for name in here:
            data = (prefix / name).read_bytes()
            for place in (self.scratch / "first", support.ROOT):
                self.assertNotIn(f"{place}/".encode(), data, f"{name} holds the path {place}")

    def test_a_python_program_is_recorded_with_the_installed_module(self):
        prefix = self.install()
        program = self.write(
            "loop.py",
            "import headroom, pathlib, sys\n"
            "assert pathlib.Path(headroom.__file__).is_relative_to(sys.argv[1]), headroom.__file__\n"
            "for i in range(5):\n    with headroom.step(i), headroom.scope('work'):\n        pass\n",
        )
        out = self.scratch / "out.pftrace"
        self.run_well(
            prefix / "bin/headroom",
            "record",
            "-o",
            out,
            "--",
            "/usr/bin/python3",
            program,
            prefix,
            environment={"PYTHONPATH": prefix / "lib/headroom/python"},
        )
        self.assertEqual(support.headroom("report", "--json", out).json()["steps"]["count"], 5)

    def test_consumers_by_cmake_and_pkg_config(self):
        prefix = self.install()
        build = self.scratch / "consumer"
        self.run_well("cmake", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_STANDARD=17")
        self.run_well("cmake", "--build", build)
        self.assertEqual(self.record(prefix, [build / "loop_c"])["work in C"], 5)
        self.assertEqual(self.record(prefix, [build / "loop_cc"])["work in C++"], 5)
        where = {"PKG_CONFIG_PATH": str(prefix / "share/pkgconfig")}
        self.assertEqual(self.run_well("pkg-config", "--modversion", "headroom", environment=where).strip(), VERSION)
        for source, compiler, region in (
            (CONSUMER / "loop.c", "cc -std=c11 -D_DEFAULT_SOURCE", "work in C"),
            (CONSUMER / "loop.cc", "c++ -std=c++17", "work in C++"),
        ):
            program = self.scratch / f"by_pkg_config_{source.suffix[1:]}"
            self.run_well(
                "sh",
                "-c",
                f'eval {compiler} -Wall -Werror "$1" -o "$2" $(pkg-config --cflags --libs headroom)',
                "sh",
                source,
                program,
                environment=where,
            )
            self.assertEqual(self.record(prefix, [program])[region], 5)

    def test_another_version_is_refused(self):
        prefix = self.install()
        project = self.scratch / "project"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(p LANGUAGES C)\nfind_package(Headroom 99 REQUIRED)\n"
        )
        outcome = support.run(["cmake", "-S", project, "-B", self.scratch / "b", f"-DCMAKE_PREFIX_PATH={prefix}"])
        self.assertNotEqual(outcome.code, 0)
        self.assertIn(f"version: {VERSION}", outcome.message)


class Symbols(Packages):
    """Compares the symbols with tests/abi/. Adding or removing one is a decision, which appears in a diff."""

    def compare(self, name, found):
        self.assertEqual(found, (ABI / f"{name}.symbols").read_text().splitlines(), f"tests/abi/{name}.symbols")

    def test_libraries(self):
        for name, file in (
            ("libheadroom_cupti", BUILD / "libheadroom_cupti.so"),
            ("libheadroom_mpi", BUILD / "libheadroom_mpi.so"),
            ("_timer", ENGINE / "_timer.abi3.so"),
            ("libheadroom_engine", ENGINE / "libheadroom_engine.so"),
        ):
            if not file.exists():
                continue  # The library that it needs is not on this machine: docs/dependencies.md.
            with self.subTest(name):
                self.compare(name, exported(file))

    def test_libraries_that_use_the_headers(self):
        """A shared library must not export symbols of included headers, except those that C++ needs once per
        program."""
        for source, compiler in (
            (CONSUMER / "loop.c", ("cc", "-std=c11", "-D_DEFAULT_SOURCE")),
            (CONSUMER / "loop.cc", ("c++", "-std=c++17")),
        ):
            with self.subTest(source.name):
                library = self.scratch / f"{source.name}.so"
                self.run_well(
                    *compiler, "-O0", "-fPIC", "-shared", "-I", support.ROOT / "include", source, "-o", library
                )
                self.compare(
                    f"consumer_{source.suffix[1:]}",
                    [row for row in exported(library) if "headroom" in row or row == "T main"],
                )


@unittest.skipUnless(support.FULL, "slow: tools/test --full")
class Debian(Packages):
    def test_packages(self):
        out = self.scratch / "packages"
        self.run_well("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", out, seconds=120)
        root = self.scratch / "root"
        for package in ("headroom", "headroom-dev"):
            file = next(out.glob(f"{package}_{VERSION}-1_*.deb"))
            self.run_well("dpkg-deb", "-x", file, root)
            if shutil.which("lintian"):  # CPack calls ldconfig for libraries one folder below lib/, which has no
                # effect.
                self.run_well(
                    "lintian",
                    "--allow-root",
                    "--fail-on",
                    "error,warning",
                    "--suppress-tags",
                    "maintscript-calls-ldconfig,initial-upload-closes-no-bugs",
                    file,
                    seconds=120,
                )
        depends = self.run_well("dpkg-deb", "-f", next(out.glob("headroom_*.deb")), "Depends")
        self.assertIn("libstdc++6", depends)
        self.assertNotIn("mpi", depends)  # About 100 MB that most users do not need: headroom-mpi.
        self.run_well(root / "usr/bin/headroom", "--version")
        outcome = support.run(
            ["/usr/bin/python3", "-c", "import headroom; print(headroom.__file__)"],
            environment={"PYTHONPATH": str(root / "usr/lib/python3/dist-packages")},
        )
        self.assertTrue(outcome.text.startswith(str(root)), outcome)


@unittest.skipUnless(support.FULL, "slow: tools/test --full")
class Wheel(Packages):
    def test_in_a_fresh_environment(self):
        self.run_well(
            "/usr/bin/python3",
            "-m",
            "pip",
            "wheel",
            support.ROOT,
            "--no-deps",
            "--no-build-isolation",
            "-w",
            self.scratch,
            seconds=900,
        )
        venv = self.scratch / "venv"
        self.run_well("/usr/bin/python3", "-m", "venv", "--system-site-packages", venv)
        python = venv / "bin/python"
        self.run_well(
            python, "-m", "pip", "install", "--no-deps", "--no-index", next(self.scratch.glob("*.whl")), seconds=120
        )
        code = (
            "import headroom, headroom.torch, headroom._timer, headroom._engine, importlib.metadata\n"
            "print(importlib.metadata.version('headroom'), headroom.__file__)"
        )
        version, place = self.run_well(python, "-c", code, cwd=self.scratch).split()
        self.assertEqual(version, VERSION)
        self.assertTrue(pathlib.Path(place).is_relative_to(venv))


class Versions(unittest.TestCase):
    def test_the_debian_changelog_begins_with_this_version(self):
        self.assertTrue(
            (support.ROOT / "packaging/debian/changelog").read_text().startswith(f"headroom ({VERSION}-1) ")
        )
