"""Times the phases of a Python program under `headroom record`, which sets PYTHONPATH to this folder.

Without HEADROOM_SOCKET it does nothing. With it, it waits until the program imports torch and then times the program's
phases (headroom/_patches.py). From the import of a framework on, it samples the stack (headroom/_stacks.py). Other
programs have no overhead. `import headroom` also works in a program that has no headroom package itself. PYTHONPATH
stays set, so child processes are recorded too. The sitecustomize that this file hides still runs. Errors in here never
reach the program; after an error, the program runs without regions.
"""
import sys

MYPY = False  # True to mypy. Annotations are in quotes: importing `typing` would slow every start of Python.
if MYPY:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Callable, Optional, Sequence


def _run_next() -> None:
    """Runs the sitecustomize that this one hides."""
    import importlib.machinery
    import os

    # importlib.util has this function too, but importing it takes 2 ms.
    from importlib._bootstrap import module_from_spec  # type: ignore[import]

    here = os.path.dirname(os.path.abspath(__file__))
    others = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module  # It may import itself.
    spec.loader.exec_module(module)


def _sample_stacks() -> None:
    from headroom import _stacks

    _stacks.start()


def _time_torch(torch: "ModuleType") -> None:
    from headroom import _patches

    _patches.inject(torch)


class _OwnPackage:
    """The last finder: finds the package that contains this file if no other finder has a package of that name."""

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


_FRAMEWORKS = ("torch", "sklearn", "jax", "tensorflow")


class _AroundFrameworks:
    """Finds nothing itself: lets the other finders find a framework, and adds steps before and after its import."""

    def __init__(self) -> None:
        self.asked = ""
        self.samples = False

    def find_spec(
        self, name: str, path: "Optional[Sequence[str]]" = None, target: "Optional[ModuleType]" = None
    ) -> "Optional[ModuleSpec]":
        if name not in _FRAMEWORKS or name == self.asked:
            return None
        import importlib.util

        self.asked = name  # Prevents recursion: find_spec() asks this finder too.
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.asked = ""
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: "ModuleType") -> None:
            if not self.samples:
                self.samples = True
                _guarded(_sample_stacks)
            execute(module)
            if name == "torch":
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                _guarded(lambda: _time_torch(module))

        spec.loader.exec_module = exec_module  # type: ignore[assignment]
        return spec


def _guarded(step: "Callable[[], None]") -> None:
    """An error in here must not stop the program."""
    try:
        step()
    except Exception as error:
        _report(error)


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
        sys.meta_path.insert(0, _AroundFrameworks())


try:
    _start()
except Exception as error:
    _report(error)
_run_next()
