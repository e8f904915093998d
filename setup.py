"""Builds for pip: the timer by setuptools, the engine and the program by CMake. The rest: pyproject.toml.

The timer needs a C compiler alone. Engine and program need what Headroom needs (docs/dependencies.md); where that is
missing they are left out with a remark, and headroom.Graph and its kin, and the command `headroom`, say so when they
are used.
"""
import pathlib
import platform
import re
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent
VERSION = re.search(r"project\(headroom VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)

# As cmake/Hardening.cmake; GCC and Clang ignore a second definition of the same value.
HARDENED = ["-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"]
HARDENED_LINK = ["-Wl,-z,relro,-z,now,-z,noexecstack"]
if platform.machine() in ("x86_64", "AMD64"):
    HARDENED += ["-fstack-clash-protection", "-fcf-protection"]
    HARDENED_LINK += ["-Wl,-z,shstk"]


def built_for_this_python(folder):
    cache = folder / "CMakeCache.txt"
    found = re.search(r"^_?Python_EXECUTABLE:\w+=(.+)$", cache.read_text(), re.MULTILINE) if cache.exists() else None
    return found is not None and pathlib.Path(found.group(1)).resolve() == pathlib.Path(sys.executable).resolve()


class BuildModules(build_ext):
    def run(self):
        super().run()
        target = pathlib.Path(self.get_ext_fullpath("headroom._timer")).parent
        try:
            folder = self.build_with_cmake()
        except (OSError, subprocess.CalledProcessError) as error:
            self.announce(
                f"headroom: without the engine (Graph, report, whatif) and without the program: {error}. "
                "They need cmake and the packages of docs/dependencies.md",
                level=3,
            )
            return
        engine = next((folder / "python" / "headroom").glob("_engine*.so"))
        shutil.copy2(engine, target / engine.name)
        if self.inplace:  # A checkout has its own in build/.
            return
        program = target / "_program"
        program.mkdir(exist_ok=True)
        for name in ("headroom", "libheadroom_cupti.so"):
            shutil.copy2(folder / name, program / name)

    def build_with_cmake(self):
        folder = ROOT / "build" / "release"  # What a developer has built is not built again.
        if not built_for_this_python(folder):
            folder = ROOT / "build" / f"pip-{sys.implementation.cache_tag}"
            generator = ["-G", "Ninja"] if shutil.which("ninja") else []
            subprocess.run(
                [
                    "cmake",
                    "-S",
                    ROOT,
                    "-B",
                    folder,
                    *generator,
                    "-DCMAKE_BUILD_TYPE=Release",
                    "-DBUILD_TESTING=OFF",
                    f"-DPython_EXECUTABLE={sys.executable}",
                ],
                check=True,
            )
        subprocess.run(
            ["cmake", "--build", folder, "--target", "_engine", "headroom", "headroom_cupti", "--parallel"], check=True
        )
        return folder


setup(
    version=VERSION,
    cmdclass={"build_ext": BuildModules},
    ext_modules=[
        Extension(
            "headroom._timer",
            ["python/src/timer.c"],
            include_dirs=["include"],
            py_limited_api=True,
            define_macros=[("HEADROOM_VERSION", f'"{VERSION}"')],
            extra_compile_args=["-std=gnu11", "-fvisibility=hidden", *HARDENED],
            extra_link_args=HARDENED_LINK,
        )
    ],
)
