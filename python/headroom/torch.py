"""Times a PyTorch training loop by phase.

    for batch in headroom.torch.profile_loop(loader, model, optimizer):     # was: for batch in loader
        ...

    with headroom.torch.attach(model=net, optimizer=optimizer):             # loops that you do not own: fit()
        trainer.fit(net)

Each phase is a region, for headroom.stats(), headroom.timer.save() and `headroom record`: `STEP`, `dataloader_next`,
`to_device`, `FORWARD`, `loss`, `BACKWARD`, `Optimizer.step#<class>.step`, `Optimizer.zero_grad#<class>.zero_grad`,
`step_lr_schedulers`, `from_device`, `COMM`, and `layer::<name>` for each module of the model. Under `headroom record`
the recording also has the size of each parameter's gradient and the moment at which it is ready. On a GPU, these are
host times. `headroom record` records GPU work. The GPU's idle time while it waits for input is
`profile_loop(...).input_wait()`.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Iterable, Iterator, Optional

import torch

from headroom import _patches, _timer
from headroom._gpu_events import TorchEvents
from headroom.timer import TimeStats, _Clocked

__all__ = ["Attached", "Loop", "attach", "profile_loop"]


class Attached:
    """Result of attach(): a context manager; close() ends it too."""

    def __init__(self, model: Any, optimizer: Any, loss: Any, loader: Any) -> None:
        self.loader = loader  # For attach(loader=): use it instead of the original loader.
        if loader is not None and not isinstance(loader, torch.utils.data.DataLoader):
            self.loader = _TimedLoader(loader)
        self._undo = contextlib.ExitStack()
        with contextlib.ExitStack() as undo:  # Undoes all patches if one of these fails.
            _patches.install(torch)
            undo.callback(_patches.restore)
            undo.callback(_patches.steps.cancel)
            if model is not None:
                self._attach_model(undo, model)
            if isinstance(loss, torch.nn.Module):
                _patches.losses.add(id(loss))
                undo.callback(_patches.losses.discard, id(loss))
            if optimizer is not None:
                self._attach_optimizer(undo, optimizer)
            self._undo = undo.pop_all()
        self._kept = (model, loss)  # Kept alive, because their ids are keys.

    @staticmethod
    def _attach_model(undo: contextlib.ExitStack, model: Any) -> None:
        for name, module in model.named_modules():
            if name and id(module) not in _patches.layers:
                _patches.layers[id(module)] = _timer.Scope(f"layer::{name}")
                undo.callback(_patches.forget_layer, id(module))
        if not _timer.recorded():
            return
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                # The post-accumulate hook is exact: the gradient is final then. The fallback may run before other
                # branches add to it.
                register = getattr(parameter, "register_post_accumulate_grad_hook", parameter.register_hook)
                undo.callback(register(_gradient_ready(name, parameter.numel() * parameter.element_size())).remove)

    @staticmethod
    def _attach_optimizer(undo: contextlib.ExitStack, optimizer: Any) -> None:
        if "step" in vars(optimizer):  # A scheduler wrapped the class's step() when the scheduler was created.
            made = vars(optimizer)["step"]
            optimizer.step = _timed_step(optimizer, made)
            undo.callback(setattr, optimizer, "step", made)
        elif not isinstance(optimizer, torch.optim.Optimizer):
            optimizer.step = _timed_step(optimizer, optimizer.step)
            undo.callback(delattr, optimizer, "step")

    def close(self) -> None:
        """Stops timing and restores everything. May be called again."""
        self._undo.close()

    def __enter__(self) -> Attached:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def _gradient_ready(name: str, size: int) -> Any:
    def ready(_: Any) -> None:
        _timer.gradient(name, size)

    return ready


def _timed_step(optimizer: Any, step: Any) -> Any:
    @functools.wraps(step)
    def call(_: Any, *args: Any, **kwargs: Any) -> Any:
        return step(*args, **kwargs)

    return functools.wraps(step)(functools.partial(_patches.timed_update(call), optimizer))


class _TimedLoader:
    """Times the fetches of a loader that is not a DataLoader."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[Any]:
        return _TimedIterator(iter(self._loader))

    def __len__(self) -> int:
        return len(self._loader)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _TimedIterator:
    def __init__(self, iterator: Iterator[Any]) -> None:
        self._iterator = iterator

    def __iter__(self) -> Iterator[Any]:
        return self

    __next__ = _patches._make_next(lambda self: next(self._iterator))


def attach(model: Any = None, optimizer: Any = None, loss: Any = None, loader: Any = None) -> Attached:
    """Times the phases of all training loops of this process until it is closed; for loops that you cannot change.

    model: an nn.Module whose submodules are timed as `layer::<name>` and whose gradients are recorded.

    optimizer: required only if a scheduler already uses it, or if it is not a torch.optim.Optimizer.

    loss: required only if it is not a loss of torch.nn.

    loader: any iterable; if it is not a DataLoader, pass `.loader` of the result to the loop.

    The loop's own DataLoaders, optimizers and losses of torch.nn need no argument. A step lasts from one update to the
    next; evaluations are not steps. Models that are already attached keep their names.
    """
    return Attached(model, optimizer, loss, loader)


class Loop:
    """Result of profile_loop(): an iterable over the loader's batches, as often as the loader allows."""

    def __init__(self, loader: Iterable[Any], model: Any = None, optimizer: Any = None, loss: Any = None) -> None:
        self._loader = loader
        self._parts = {"model": model, "optimizer": optimizer, "loss": loss}
        self._waits: Optional[_Clocked] = None

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]

    def input_wait(self) -> Optional[TimeStats]:
        """Returns how long the GPU was idle while the loop waited for a batch, in seconds; None without a GPU.

        Measured with a pair of GPU events around the host's wait. The result is 0 if the GPU's queued work outlasts the
        wait, except for the events' own cost (some us). Waits for the GPU.
        """
        if self._waits is None:
            return None
        self._waits.complete()
        found = self._waits.found("input_wait")
        return found[0].stats() if found else None

    def __iter__(self) -> Iterator[Any]:
        with Attached(loader=None, **self._parts), _patches.own_steps():
            yield from self._batches()

    def _batches(self) -> Iterator[Any]:
        if self._waits is None and torch.cuda.is_available():
            self._waits = _Clocked(
                TorchEvents, on_time=lambda name, seconds: _timer.counter(f"{name}_ms", seconds * 1e3)
            )
        waits = self._waits
        length = _length(self._loader)
        iterator, served, step, exhausted = None, 0, 0, False
        try:
            while True:
                # The wait for a batch belongs to its step. No step begins after the last batch if the length is known.
                if length is None or served < length:
                    step = _timer.begin_step()
                fetch = _patches.FETCH.begin_outermost()
                asked = waits.start() if waits is not None else None
                try:
                    if iterator is None:
                        iterator = iter(self._loader)
                    batch = next(iterator)
                except StopIteration:
                    exhausted = True
                    return
                finally:
                    if waits is not None:
                        waits.end("input_wait", asked)
                    _timer.end(fetch)
                if step == 0:  # The loader gives more batches than its length states.
                    step = _timer.begin_step()
                served += 1
                yield batch
                _timer.end(step)
                step = 0
        finally:
            (_timer.cancel_step if exhausted else _timer.end)(step)


def _length(loader: Any) -> Optional[int]:
    try:
        return len(loader)
    except (TypeError, NotImplementedError):  # Raised by PyTorch's loaders over iterable datasets.
        return None


def profile_loop(loader: Iterable[Any], model: Any = None, optimizer: Any = None, loss: Any = None) -> Loop:
    """Returns an iterable to use instead of `loader`: it gives the same batches, and times each step and its phases.

    loader: any iterable, with or without a length. model, optimizer, loss: as for attach().

    Leaving the loop at its end, by `break` or by an exception closes all open regions and removes every hook. A step
    lasts from the end of the previous one to the end of the body, so it contains the wait for its batch.
    """
    return Loop(loader, model, optimizer, loss)
