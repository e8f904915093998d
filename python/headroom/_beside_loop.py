"""Regions around work that is not part of a training step: saving, loading, printing and logging. Private.

`headroom record` uses it. Each of these can take longer than a step, and a profile of the steps alone does not show it.
"""

from __future__ import annotations

import functools
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Dict, Optional, Sequence

from headroom import _timer, _trainers

TENSORBOARD = ("add_scalar", "add_scalars", "add_histogram", "add_image", "add_figure", "flush")
MLFLOW = ("log_metric", "log_metrics", "log_param", "log_params", "log_artifact", "log_artifacts", "log_figure")


class _Patcher:
    def __init__(self, tools: _trainers.Tools) -> None:
        self._tools = tools

    def time(self, owner: Any, name: str, key: str) -> None:
        self._tools.replace(owner, name, self._tools.timed(_timer.Scope(key)))

    def torch(self, torch: Any) -> None:
        for name in ("save", "load"):
            self.time(torch.serialization, name, f"torch.{name}")
            timed = getattr(torch.serialization, name)  # Pickle finds a function by its module.
            self._tools.replace(torch, name, _constant(timed))
        # Tensor.__repr__, print() and format() of a tensor with several elements call it. It copies from the GPU.
        self.time(sys.modules["torch._tensor_str"], "_str", "print tensor")

    def wandb(self, wandb: Any) -> None:
        self.time(wandb.sdk.wandb_run.Run, "log", "wandb.log")

    def mlflow(self, mlflow: Any) -> None:
        for name in MLFLOW:
            self.time(mlflow, name, f"mlflow.{name}")

    def tensorboard(self, writer: Any) -> None:
        for name in TENSORBOARD:
            self.time(writer.SummaryWriter, name, f"SummaryWriter.{name}")


def _constant(value: Any) -> Callable[[Any], Any]:
    return lambda original: value


Patch = Callable[[Any], None]


def _guarded(patch: Patch, module: Any) -> None:
    """A release that moved a function must stop neither the program nor the other regions: this one is missing."""
    try:
        patch(module)
    except Exception:
        pass


class _AfterImport:
    """Finds nothing itself: lets the other finders find a module, and patches it after its import."""

    def __init__(self, patches: Dict[str, Patch]) -> None:
        self._patches = patches

    def find_spec(
        self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> Optional[ModuleSpec]:
        if name not in self._patches:
            return None
        import importlib.util

        patch = self._patches.pop(name)  # Removed first, because find_spec() asks this finder, too.
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _guarded(patch, module)

        spec.loader.exec_module = exec_module  # type: ignore[assignment]
        return spec


def install(torch: Any, tools: _trainers.Tools) -> None:
    """Patches torch, the loggers and trainers that are imported, and the others after their import."""
    patcher = _Patcher(tools)
    _guarded(patcher.torch, torch)
    patches: Dict[str, Patch] = {
        "wandb": patcher.wandb,
        "mlflow": patcher.mlflow,
        "torch.utils.tensorboard.writer": patcher.tensorboard,
    }
    for name, patch in _trainers.AFTER_IMPORT.items():
        patches[name] = functools.partial(patch, tools=tools)
    for name in list(patches):
        module = sys.modules.get(name)
        if module is not None:
            _guarded(patches.pop(name), module)
    sys.meta_path.insert(0, _AfterImport(patches))
