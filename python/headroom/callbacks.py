"""Callbacks that record and report, and timing of other callbacks.

    trainer = lightning.Trainer(callbacks=[headroom.callbacks.LightningCallback()])      # records steps 20 to 25
    trainer = transformers.Trainer(..., callbacks=[headroom.callbacks.TransformersCallback()])
    with headroom.callbacks.StepRecorder(trackers=accelerator.trackers) as recorder:     # Accelerate, and own loops
        ...                                                                              # recorder.step() per step

These report after the last recorded step and log figures and page to W&B, MLflow and TensorBoard.

wrap() times each (event, callback) pair as a region `callbacks.<Class>.<hook>`, to find slow callbacks:

    with headroom.callbacks.wrap(trainer) as timed:     # Lightning, Hugging Face, Keras, skorch, fastai, a list
        trainer.fit(model)
    print(timed)                                        # the slowest pair first

wrap() patches the hooks of the callback objects until it is closed. Order, results and exceptions stay the same, and a
callback keeps its class. Hooks that a class only inherits from its framework's base do nothing and are not
timed. Callbacks added later are not timed, except those of skorch, which creates its own in fit().
"""

from __future__ import annotations

import collections.abc
import functools
import importlib
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

from headroom import _timer

if TYPE_CHECKING:
    from headroom._lightning import LightningCallback as LightningCallback  # noqa: F401
    from headroom._recorder import StepRecorder
    from headroom._transformers import TransformersCallback as TransformersCallback  # noqa: F401

# Without LightningCallback and TransformersCallback, which import their frameworks.
__all__ = ["CallbackTime", "StepRecorder", "Wrapped", "wrap", "wrap_runner"]

# Loaded at first use.
_HOMES = {"LightningCallback": "_lightning", "StepRecorder": "_recorder", "TransformersCallback": "_transformers"}

# Base classes of the frameworks, whose hooks do nothing.
_BASES = {"Callback", "TrainerCallback"}
# Prefixes of hooks in Lightning, Keras, skorch and Hugging Face; then those of fastai and FluxTraining.
_HOOKS = ("on_", "before_", "after_")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'headroom.callbacks' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"headroom.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        raise ImportError(f"headroom.callbacks.{name} requires {error.name}, which is not installed") from error


class CallbackTime(NamedTuple):
    """Time of one callback on one event. `share` is its share of all timed callbacks, 0 to 1."""

    event: str
    callback: str
    count: int  # type: ignore[assignment]
    total_s: float
    mean_s: float
    max_s: float
    share: float


def _scope_name(callback: Any, event: Any) -> Tuple[str, str, str]:
    """Returns the event, the callback's class and the region's name. An event is a str, a class or an instance."""
    name = event if isinstance(event, str) else getattr(event, "__name__", type(event).__name__)
    cls = callback.__qualname__ if isinstance(callback, type) else type(callback).__name__
    if hasattr(callback, "__code__"):
        cls = callback.__name__  # A plain function.
    return name, cls, f"callbacks.{cls}.{name}"


class _Pair:
    """A callback on one event: its region, the region's statistics at the time of wrapping, and its longest call."""

    def __init__(self, region: str) -> None:
        self.scope = _timer.Scope(region)
        self._before = _timer.stats(region)
        self._after: Optional[_timer.Stats] = None  # Set at close: later timing of the same region must not count.
        self._longest_s = 0.0

    def call(self, function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        began = time.perf_counter()  # Timed here: the region's own maximum covers all calls under its key.
        token = self.scope.begin()
        try:
            return function(*args, **kwargs)
        finally:
            _timer.end(token)
            if token:
                self._longest_s = max(self._longest_s, time.perf_counter() - began)

    def close(self) -> None:
        if self._after is None:
            self._after = _timer.stats(self.scope.key)

    def taken(self) -> Tuple[int, float, float]:
        """Returns count, total and maximum of the calls while the callback was wrapped."""
        now = self._after or _timer.stats(self.scope.key)
        total_s = now.total_s - self._before.total_s
        return now.count - self._before.count, total_s, min(self._longest_s, total_s)


class Wrapped:
    """Result of wrap() and wrap_runner(). close() restores the original hooks, as does the exit of a `with` block."""

    def __init__(self) -> None:
        self._pairs: Dict[Tuple[str, str], _Pair] = {}
        self._undo: List[Callable[[], None]] = []
        self._seen: List[Any] = []  # Callbacks whose hooks are timed.

    def _pair(self, callback: Any, event: Any) -> _Pair:
        name, cls, region = _scope_name(callback, event)
        pair = self._pairs.get((name, cls))
        if pair is None:
            pair = self._pairs[name, cls] = _Pair(region)
        return pair

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        own = vars(owner)
        if name in own:
            self._undo.append(functools.partial(setattr, owner, name, own[name]))
        else:
            self._undo.append(functools.partial(delattr, owner, name))
        setattr(owner, name, value)

    def add(self, callback: Any, hooks: Optional[Iterable[str]] = None) -> None:
        """Times the hooks of one more callback.

        hooks: their names; None: methods on_*, before_* and after_*.
        """
        if any(callback is seen for seen in self._seen):
            return
        self._seen.append(callback)
        for name in hooks if hooks is not None else _hooks_of(callback):
            hook = getattr(callback, name)
            while isinstance(hook, _TimedHook) and hook.for_recording:
                hook = hook._call  # Each call is one region.
            self._replace(callback, name, _TimedHook(callback, name, hook, self._pair(callback, name)))

    def profile(self) -> List[CallbackTime]:
        """Returns the time of each pair while it was wrapped, longest total first. Omits pairs that never ran."""
        rows = []
        for (event, callback), pair in self._pairs.items():
            count, total, longest = pair.taken()
            if count > 0:
                rows.append((event, callback, count, total, longest))
        whole = sum(row[3] for row in rows)
        return sorted(
            (
                CallbackTime(event, callback, count, total, total / count, longest, total / whole if whole > 0 else 0.0)
                for event, callback, count, total, longest in rows
            ),
            key=lambda row: (-row.total_s, row.callback, row.event),
        )

    def __str__(self) -> str:
        lines = [f"{'callback':<32} {'event':<28} {'count':>8} {'total':>12} {'mean':>12} {'share':>8}"]
        for row in self.profile():
            lines.append(
                f"{row.callback:<32} {row.event:<28} {row.count:>8} {row.total_s * 1e3:>9.3f} ms "
                f"{row.mean_s * 1e3:>9.4f} ms {row.share * 100:>6.1f} %"
            )
        return "\n".join(lines)

    def close(self) -> None:
        """Restores the hooks. May be called again; profile() stays available."""
        while self._undo:
            self._undo.pop()()
        self._seen.clear()
        for pair in self._pairs.values():
            pair.close()

    def __enter__(self) -> Wrapped:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


class _TimedHook:
    """A bound method of `owner`, timed. A copy or pickle of the owner holds only its own untimed method."""

    for_recording = False  # True for a hook that `headroom record` times.

    def __init__(self, owner: Any, name: str, call: Callable[..., Any], pair: _Pair) -> None:
        functools.update_wrapper(self, call)  # Includes attributes: Keras marks the hooks of its base class with one.
        self._made_of = (owner, name)
        self._call, self._pair = call, pair

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._pair.call(self._call, args, kwargs)

    def __reduce__(self) -> Tuple[Any, ...]:
        return (getattr, self._made_of)


class _TimedNotify(_TimedHook):
    """The runner of a skorch net. Wraps the net's current callbacks before each event."""

    def __init__(self, net: Any, wrapped: Wrapped, hooks: Optional[List[str]]) -> None:
        functools.update_wrapper(self, net.notify)
        self._made_of = (net, "notify")
        self._call, self._net, self._wrapped, self._hooks = net.notify, net, wrapped, hooks

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for callback in _callbacks_of(self._net.callbacks_) or []:
            self._wrapped.add(callback, self._hooks)
        return self._call(*args, **kwargs)


def _hooks_of(callback: Any) -> List[str]:
    names = []
    for name in dir(type(callback)):
        if not name.startswith(_HOOKS) or not callable(getattr(type(callback), name)):
            continue
        home = next((cls for cls in type(callback).__mro__ if name in vars(cls)), None)
        if home is not None and home.__name__ not in _BASES:
            names.append(name)
    return names


def _callbacks_of(target: Any) -> Optional[List[Any]]:
    """Returns the callback objects of a framework's object or list."""
    if isinstance(target, (list, tuple)):
        return [
            pair[1] if isinstance(pair, tuple) and len(pair) == 2 else pair for pair in target
        ]  # skorch has (name, callback).
    handler = getattr(target, "callback_handler", None)  # Hugging Face's Trainer.
    if handler is not None:
        return list(handler.callbacks)
    callbacks = getattr(target, "callbacks", None)  # Lightning's Trainer, Keras's CallbackList.
    if isinstance(callbacks, (list, tuple)):
        return _callbacks_of(callbacks)
    of_learner = getattr(target, "cbs", None)  # fastai's Learner; its collection is no list.
    return list(of_learner) if isinstance(of_learner, collections.abc.Iterable) else None


def wrap(target: Any, hooks: Optional[Iterable[str]] = None) -> Wrapped:
    """Times the callbacks of `target` until the result is closed.

    target: a trainer (Lightning, Hugging Face, skorch, fastai), a Keras CallbackList, a list of callbacks, or one
    callback.

    hooks: the methods to time; None: on_*, before_* and after_*. Raises TypeError if there is no hook to time.
    """
    wrapped = Wrapped()
    names = list(hooks) if hooks is not None else None
    if hasattr(target, "notify") and hasattr(target, "initialize_callbacks"):  # A skorch net: the runner is notify().
        wrapped._replace(target, "notify", _TimedNotify(target, wrapped, names))
        return wrapped
    callbacks = _callbacks_of(target)
    for callback in [target] if callbacks is None else callbacks:
        wrapped.add(callback, names)
    if callbacks is None and not wrapped._pairs:
        raise TypeError(
            f"{type(target).__name__} has no callbacks and no hooks ({'*, '.join(_HOOKS)}*); "
            "name its hooks with hooks=[...]"
        )
    return wrapped


def wrap_runner(run: Callable[..., Any]) -> Tuple[Callable[..., Any], Wrapped]:
    """Times each call of a loop's own runner, `run(event, callback, *args)`, such as FluxTraining's.

    Returns the runner to use instead, and the collected times. The event is a str, a class or an instance.
    """
    wrapped = Wrapped()

    @functools.wraps(run)
    def timed(event: Any, callback: Any, *args: Any, **kwargs: Any) -> Any:
        return wrapped._pair(callback, event).call(run, (event, callback, *args), kwargs)

    return timed, wrapped
