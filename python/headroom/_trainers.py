"""Regions for what trainers do: their callbacks, evaluation, checkpoints and logging. Private.

`headroom record` uses it, through _beside_loop.py: each function patches one module of a framework after its import.
Callbacks are timed by the hooks of their objects, as callbacks.wrap() does, but for good.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Iterable, NamedTuple

from headroom import _timer, callbacks

Maker = Callable[[Any], Any]


class Tools(NamedTuple):
    """What a patch needs of headroom/_patches.py."""

    replace: Callable[[Any, str, Maker], None]
    timed: Callable[[_timer.Scope], Maker]  # Returns a maker that times each call as a region.
    timed_update: Maker  # For the method by which an optimizer updates parameters: it ends a step.


EVALUATE = _timer.Scope("evaluate")


class _Hook(callbacks._TimedHook):
    for_recording = True


def _time_callbacks(found: Iterable[Any]) -> None:
    """Times callbacks that are not timed yet. An object that refuses attributes stays untimed."""
    for callback in found:
        for name in callbacks._hooks_of(callback):
            hook = getattr(callback, name)
            if isinstance(hook, callbacks._TimedHook):
                continue
            pair = callbacks._Pair(callbacks._scope_name(callback, name)[2])
            try:
                setattr(callback, name, _Hook(callback, name, hook, pair))
            except (AttributeError, TypeError):
                break


def _of_trainer(trainer: Any) -> None:
    _time_callbacks(callbacks._callbacks_of(trainer) or [])


def _guarded(action: Callable[..., None], *args: Any) -> None:
    """A release that moved an attribute must not stop the program: its callbacks are not timed."""
    try:
        action(*args)
    except Exception:
        pass


def _before(action: Callable[[Any], None]) -> Maker:
    """Returns a maker for replace(): calls action(self) before a method."""

    def make(original: Any) -> Any:
        @functools.wraps(original)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            _guarded(action, self)
            return original(self, *args, **kwargs)

        return method

    return make


def _after(action: Callable[..., None]) -> Maker:
    """Returns a maker for replace(): calls action(self, *args) after a method."""

    def make(original: Any) -> Any:
        @functools.wraps(original)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self, *args, **kwargs)
            _guarded(action, self, *args)
            return result

        return method

    return make


def _lightning(module: Any, tools: Tools) -> None:
    # _run() follows _attach_model_callbacks(), which adds those of configure_callbacks().
    tools.replace(module.Trainer, "_run", _before(_of_trainer))
    tools.replace(module.Trainer, "save_checkpoint", tools.timed(_timer.Scope("save_checkpoint")))


def _lightning_evaluation(module: Any, tools: Tools) -> None:
    tools.replace(module._EvaluationLoop, "run", tools.timed(EVALUATE))


def _transformers(module: Any, tools: Tools) -> None:
    tools.replace(module.Trainer, "train", _before(_of_trainer))
    tools.replace(module.Trainer, "evaluate", tools.timed(EVALUATE))
    tools.replace(module.Trainer, "_save_checkpoint", tools.timed(_timer.Scope("save_checkpoint")))
    tools.replace(module.Trainer, "save_model", tools.timed(_timer.Scope("save_model")))


def _accelerate(module: Any, tools: Tools) -> None:
    for name in ("save_state", "save_model", "load_state"):
        tools.replace(module.Accelerator, name, tools.timed(_timer.Scope(name)))
    tools.replace(module.Accelerator, "log", tools.timed(_timer.Scope("Accelerator.log")))


def _keras(module: Any, tools: Tools) -> None:
    tools.replace(module.CallbackList, "__init__", _after(lambda self, *args: _of_trainer(self)))
    tools.replace(module.CallbackList, "append", _after(lambda self, callback: _time_callbacks([callback])))


def _skorch(module: Any, tools: Tools) -> None:
    tools.replace(
        module.NeuralNet, "initialize_callbacks", _after(lambda self: _time_callbacks(_skorch_callbacks(self)))
    )


def _skorch_callbacks(net: Any) -> Iterable[Any]:
    return callbacks._callbacks_of(net.callbacks_) or []


def _fastai(module: Any, tools: Tools) -> None:
    tools.replace(module.Learner, "add_cb", _after(lambda self, *args: _of_trainer(self)))
    tools.replace(module.Learner, "_do_epoch_validate", tools.timed(EVALUATE))
    tools.replace(module.Learner, "save", tools.timed(_timer.Scope("save_model")))


def _fastai_optimizer(module: Any, tools: Tools) -> None:
    tools.replace(module.Optimizer, "step", tools.timed_update)


def _keras_optimizer(module: Any, tools: Tools) -> None:
    tools.replace(module.BaseOptimizer, "apply", tools.timed_update)


def _ignite(module: Any, tools: Tools) -> None:
    """Times the handlers of an event together: they are functions, which remove_event_handler() compares."""
    scopes: Dict[str, _timer.Scope] = {}

    def make(original: Any) -> Any:
        @functools.wraps(original)
        def fire(self: Any, event: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._event_handlers.get(event):
                return original(self, event, *args, **kwargs)
            name = getattr(event, "name", str(event))
            scope = scopes.get(name)
            if scope is None:
                scope = scopes[name] = _timer.Scope(f"callbacks.Engine.{name}")
            token = scope.begin()
            try:
                return original(self, event, *args, **kwargs)
            finally:
                _timer.end(token)

        return fire

    tools.replace(module.Engine, "_fire_event", make)


# By the name of the module whose import they follow.
AFTER_IMPORT: Dict[str, Callable[[Any, Tools], None]] = {
    "lightning.pytorch.trainer.trainer": _lightning,
    "pytorch_lightning.trainer.trainer": _lightning,
    "lightning.pytorch.loops.evaluation_loop": _lightning_evaluation,
    "pytorch_lightning.loops.evaluation_loop": _lightning_evaluation,
    "transformers.trainer": _transformers,
    "accelerate.accelerator": _accelerate,
    "keras.src.callbacks.callback_list": _keras,
    "keras.src.optimizers.base_optimizer": _keras_optimizer,
    "skorch.net": _skorch,
    "fastai.learner": _fastai,
    "fastai.optimizer": _fastai_optimizer,
    "ignite.engine.engine": _ignite,
}
