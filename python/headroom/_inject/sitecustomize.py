"""Puts Headroom's regions into a Python program under `headroom record`, which sets PYTHONPATH to this folder.

Without HEADROOM_SOCKET it does nothing. With it, it waits until the program imports torch, and then times its phases
(headroom/_patches.py); a program without torch costs nothing. `import headroom` works in the program, too, where it has
none of its own. PYTHONPATH stays, so that child processes are followed. The sitecustomize that would have been found
without this one runs as ever. Nothing here may reach the program: whatever goes wrong, it runs without regions.
"""
import sys

MYPY = False  # True to mypy. Annotations are in quotes: importing `typing` would slow every start of Python down.
if MYPY:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Optional, Sequence


def _run_next() -> None:
    """Runs the sitecustomize that this one hides."""
    import importlib.machinery
    import os

    # importlib.util has it, too, at 2 ms of other imports.
    from importlib._bootstrap import module_from_spec  # type: ignore[import]

    here = os.path.dirname(os.path.abspath(__file__))
    others = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module  # It may import itself.
    spec.loader.exec_module(module)


def _time_torch(torch: "ModuleType") -> None:
    from headroom import _patches

    _patches.inject(torch)


class _OwnPackage:
    """The last of the finders: gives the package that this file is part of, where no other has one named so."""

    @staticmethod
    def find_spec(
        name: str, path: "Optional[Sequence[str]]" = None, target: "Optional[ModuleType]" = None
    ) -> "Optional[ModuleSpec]":
        if name != "headroom":
            return None
        import os
        from importlib.machinery import PathFinder

        inject = os.path.dirname(os.path.abspath(__file__))
        return PathFinder.find_spec(name, [os.path.dirname(os.path.dirname(inject))])


class _AfterTorch:
    """A finder that finds nothing itself: it lets the others find torch, and is called when torch has been imported."""

    def __init__(self) -> None:
        self.asked = False

    def find_spec(
        self, name: str, path: "Optional[Sequence[str]]" = None, target: "Optional[ModuleType]" = None
    ) -> "Optional[ModuleSpec]":
        if name != "torch" or self.asked:
            return None
        import importlib.util

        self.asked = True  # Else it would be asked again from here.
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.asked = False
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: "ModuleType") -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            try:
                _time_torch(module)
            except Exception as error:  # Not the program's concern.
                _report(error)

        spec.loader.exec_module = exec_module  # type: ignore[assignment]
        return spec


def _report(error: Exception) -> None:
    try:
        print(f"headroom: the Python loop is not timed ({type(error).__name__}: {error})", file=sys.stderr)
    except Exception:
        pass


def _start() -> None:
    import os

    if not os.environ.get("HEADROOM_SOCKET"):
        return
    sys.meta_path.append(_OwnPackage)
    if os.environ.get("HEADROOM") != "0":
        sys.meta_path.insert(0, _AfterTorch())


try:
    _start()
except Exception as error:
    _report(error)
_run_next()
