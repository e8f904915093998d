"""Regions around communication between ranks, on the host's clock. Private.

DistributedDataParallel sends gradients from C++ while backward runs, and waits for them at the end of backward. Only
that wait holds the loop up, and it has a region here. NCCL's waits take place on the GPU, where CUPTI records them.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Iterator, Mapping

from headroom import _timer

COMMUNICATION = _timer.Scope("COMM")
ALL_REDUCE = _timer.Scope("all_reduce")

Replace = Callable[[Any, str, Callable[[Any], Any]], None]

COLLECTIVES = (
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "send",
)


def _tensors(torch: Any, value: Any) -> Iterator[Any]:
    """Yields the tensors of a model's output that have a gradient."""
    if isinstance(value, torch.Tensor):
        if value.requires_grad:
            yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _tensors(torch, one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(torch, one)


class _BackwardEnd:
    """Times the wait at the end of one backward pass.

    The engine runs callbacks at its end in the order in which they were queued. This one is queued when backward
    begins, DistributedDataParallel's when the last gradient is ready, and the one that ends the region by this one.
    """

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._queued = False

    def __call__(self, gradient: Any) -> None:
        if not self._queued and gradient.device.type == "cpu":
            self._queued = True
            self._engine.queue_callback(self._begin)

    def _begin(self) -> None:
        self._queued = False
        outer, inner = COMMUNICATION.begin_outermost(), ALL_REDUCE.begin_outermost()

        def end() -> None:
            _timer.end(inner)
            _timer.end(outer)

        self._engine.queue_callback(end)


def _make_forward(torch: Any) -> Callable[[Any], Any]:
    engine = torch.autograd.Variable._execution_engine
    is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None)

    def make(original: Any) -> Any:
        @functools.wraps(original)
        def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            output = original(self, *args, **kwargs)
            if is_compiling is not None and is_compiling():
                return output
            if torch.is_grad_enabled() and self.require_backward_grad_sync:
                end = _BackwardEnd(engine)
                for tensor in _tensors(torch, output):
                    tensor.register_hook(end)
            return output

        return forward

    return make


def install(torch: Any, replace: Replace, timed: Callable[[_timer.Scope], Callable[[Any], Any]]) -> None:
    """Times collectives, waits for them, and the end of a backward pass of DistributedDataParallel.

    Each is a region COMM. A collective has a region with its name inside.
    """
    if not torch.distributed.is_available():
        return
    for name in COLLECTIVES:
        replace(torch.distributed, name, timed(_timer.Scope(name)))
        replace(torch.distributed, name, timed(COMMUNICATION))
    replace(torch.nn.parallel.DistributedDataParallel, "forward", _make_forward(torch))
    try:
        replace(torch._C._distributed_c10d.Work, "wait", timed(COMMUNICATION))
    except (AttributeError, TypeError):  # A release in which the class cannot be changed.
        pass
