"""Builds the wheel: the timer by setuptools, the engine and the program by CMake. The rest: pyproject.toml.

The wheel serves every CPython from 3.9 on: the timer keeps to the stable ABI, and ctypes calls the engine.

  HEADROOM_TIMERS_ONLY=1   leaves out the engine and the program; requires only a C compiler
  HEADROOM_BUILD=FOLDER    packs what a build folder of CMake holds, instead of building (packaging/build)
  HEADROOM_LICENCES=FOLDER also packs the licences of the libraries inside
  HEADROOM_PLATFORM=TAG    platform tag of the wheel, such as manylinux_2_28_x86_64
"""
import os
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
# By folder of the package: files of a build folder.
PARTS = {"": ("python/headroom/libheadroom_engine.*",), "_program": ("headroom", "libheadroom_cupti.so")}

# As cmake/Hardening.cmake; GCC and Clang ignore a second definition of the same value.
HARDENED = ["-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"]
HARDENED_LINK = ["-Wl,-z,relro,-z,now,-z,noexecstack"]
if platform.machine() in ("x86_64", "AMD64"):
    HARDENED += ["-fstack-clash-protection", "-fcf-protection"]
    HARDENED_LINK += ["-Wl,-z,shstk"]


class BuildParts(build_ext):
    def run(self):
        target = pathlib.Path(self.get_ext_fullpath("headroom._timer")).parent
        prebuilt = os.environ.get("HEADROOM_BUILD")
        parts = PARTS
        if prebuilt:
            folder = pathlib.Path(prebuilt)
            parts = {**PARTS, "": (*PARTS[""], "python/headroom/_timer.*")}
        else:
            super().run()
            if os.environ.get("HEADROOM_TIMERS_ONLY") == "1":
                return
            folder = self.build_with_cmake()
        for place, patterns in parts.items():
            if self.inplace and place:  # A checkout has its own program in build/.
                continue
            (target / place).mkdir(parents=True, exist_ok=True)
            for pattern in patterns:
                files = list(folder.glob(pattern))
                if not files:
                    sys.exit(f"headroom: {folder} has no {pattern}; build it first (docs/install.md)")
                for file in files:
                    shutil.copy2(file, target / place / file.name)
        if os.environ.get("HEADROOM_LICENCES"):
            shutil.copytree(os.environ["HEADROOM_LICENCES"], target / "_program/licences", dirs_exist_ok=True)

    def build_with_cmake(self):
        folder = ROOT / "build" / "release"  # What a developer has built is not built again.
        try:
            if not (folder / "CMakeCache.txt").exists():
                folder = ROOT / "build" / "pip"
                generator = ["-G", "Ninja"] if shutil.which("ninja") else []
                options = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF", f"-DPython_EXECUTABLE={sys.executable}"]
                subprocess.run(["cmake", "-S", ROOT, "-B", folder, *generator, *options], check=True)
            targets = ["headroom_engine", "headroom", "headroom_cupti"]
            subprocess.run(["cmake", "--build", folder, "--target", *targets, "--parallel"], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(
                f"headroom: the program cannot be built here: {error}.\n"
                "It needs cmake, a C++20 compiler and the libraries of docs/dependencies.md; tools/setup has them.\n"
                "HEADROOM_TIMERS_ONLY=1 pip install ... installs only the timers, without the command."
            )
        return folder


wheel = {"py_limited_api": "cp39"}
if os.environ.get("HEADROOM_PLATFORM"):
    wheel["plat_name"] = os.environ["HEADROOM_PLATFORM"]
setup(
    version=VERSION,
    cmdclass={"build_ext": BuildParts},
    options={"bdist_wheel": wheel},
    ext_modules=[
        Extension(
            "headroom._timer",
            ["python/src/stacks.c", "python/src/timer.c"],
            include_dirs=["include"],
            py_limited_api=True,
            define_macros=[("HEADROOM_VERSION", f'"{VERSION}"')],
            extra_compile_args=["-std=gnu11", "-fvisibility=hidden", *HARDENED],
            extra_link_args=HARDENED_LINK,
        )
    ],
)
