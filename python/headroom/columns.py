"""The tasks and edges of a graph as numpy columns: all read-only, all of one length.

Columns of numbers are views into the graph where it holds them, and keep it alive; the others are made when first asked
for. Names are arrays of str (dtype object) with one object a distinct name, and None where there is none, so
`tasks.operator == "aten::mm"` is a mask.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    import headroom._engine as _engine


class Task(NamedTuple):
    """One row of Tasks, as `select(where=...)` hands it to its function."""

    index: int  # type: ignore[assignment]
    kind: str
    name: str
    start_ns: int
    duration_ns: int
    step: int
    operator: Optional[str]
    layer: Optional[str]
    phase: str
    family: Optional[str]
    stream: int
    device: int
    thread: Optional[str]
    launch: int


class Tasks:
    """The recorded tasks, in an order in which each comes behind all that it waits for. A task is known by its row
    here.

    A task is a call of the GPU's API ("call"), the place where a blocking call returns ("return"), or what the GPU runs
    ("gpu"): never a wait, for waits are edges.
    """

    def __init__(self, recording: _engine.Recording) -> None:
        self._recording = recording

    def __len__(self) -> int:
        return self._recording.tasks

    def __getitem__(self, index: int) -> Task:
        """One task with everything that is known of it."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"task {index} of {len(self)}")
        index %= len(self)  # As of a list.
        return Task(index, *(_plain(getattr(self, name)[index]) for name in Task._fields[1:]))

    @cached_property
    def kind(self) -> NDArray[np.object_]:
        """str: "call", "return" or "gpu"."""
        return self._recording.task_column("kind")

    @cached_property
    def name(self) -> NDArray[np.object_]:
        """str: of the kernel, copy or set, or of the call."""
        return self._recording.task_column("name")

    @cached_property
    def start_ns(self) -> NDArray[np.int64]:
        """int64: as recorded, on the clock of the trace. A view."""
        return self._recording.task_column("start_ns")

    @cached_property
    def duration_ns(self) -> NDArray[np.int64]:
        """int64: as recorded, without what it waited. A view. With the edits and without the profiler:
        Graph.durations_ns().
        """
        return self._recording.task_column("duration_ns")

    @cached_property
    def step(self) -> NDArray[np.int64]:
        """int64: the step in which it was called or launched, by the trace's own number, as in report/1; -1: none. A
        view.
        """
        return self._recording.task_column("step")

    @cached_property
    def operator(self) -> NDArray[np.object_]:
        """str or None: the innermost operator around the call."""
        return self._recording.task_column("operator")

    @cached_property
    def layer(self) -> NDArray[np.object_]:
        """str or None: the innermost module or `layer::` range; in backward, that of the forward operator."""
        return self._recording.task_column("layer")

    @cached_property
    def phase(self) -> NDArray[np.object_]:
        """str: "forward", "backward", "optimizer", "host_to_device", "communication", "data_wait", "callback" or
        "other".
        """
        return self._recording.task_column("phase")

    @cached_property
    def family(self) -> NDArray[np.object_]:
        """str or None: what a GPU task does: "matmul", "convolution", "elementwise", ..., "unclassified"."""
        return self._recording.task_column("family")

    @cached_property
    def stream(self) -> NDArray[np.int64]:
        """int64: number of the stream; -1 on the host."""
        return self._recording.task_column("stream")

    @cached_property
    def device(self) -> NDArray[np.int64]:
        """int64: ordinal of the GPU; -1 on the host."""
        return self._recording.task_column("device")

    @cached_property
    def thread(self) -> NDArray[np.object_]:
        """str or None: id of the thread that called; None on the GPU."""
        return self._recording.task_column("thread")

    @cached_property
    def launch(self) -> NDArray[np.int64]:
        """int64: the call that launched a GPU task; -1: not recorded, or not on the GPU."""
        return self._recording.task_column("launch")


class Edges:
    """What keeps tasks from starting earlier, as recorded: `to_task` starts no earlier than `lag_ns` behind
    `from_task`.
    """

    def __init__(self, recording: _engine.Recording) -> None:
        self._recording = recording

    def __len__(self) -> int:
        return self._recording.edges

    @cached_property
    def from_task(self) -> NDArray[np.uint32]:
        """uint32: row of Tasks. A view."""
        return self._recording.edge_column("from_task")

    @cached_property
    def to_task(self) -> NDArray[np.uint32]:
        """uint32: row of Tasks, in ascending order. The first edge of a task is that of its thread or stream."""
        return self._recording.edge_column("to_task")

    @cached_property
    def from_end(self) -> NDArray[np.bool_]:
        """bool: behind the end of `from_task`, else behind its start. A view."""
        return self._recording.edge_column("from_end")

    @cached_property
    def cycles_back(self) -> NDArray[np.uint8]:
        """uint8: 0 in the same run through the recorded steps, n: `from_task` is of the n-th before. A view."""
        return self._recording.edge_column("cycles_back")

    @cached_property
    def kind(self) -> NDArray[np.object_]:
        """str: "host", "hand-over", "stream", "launch", "queue", "sync" or "cross-stream" (docs/engine.md)."""
        return self._recording.edge_column("kind")

    @cached_property
    def lag_ns(self) -> NDArray[np.int64]:
        """int64: of a host edge the work between two calls; may be negative on a stream. A view."""
        return self._recording.edge_column("lag_ns")

    @cached_property
    def provenance(self) -> NDArray[np.object_]:
        """str: "recorded", "resolved" (from synchronization records) or "inferred" (by a rule)."""
        return self._recording.edge_column("provenance")


class Gradients:
    """The gradients of each recorded step in order of readiness, as communication needs them; empty where no shapes
    tell.
    """

    def __init__(self, recording: _engine.Recording) -> None:
        self._recording = recording

    def __len__(self) -> int:
        return len(self.step)

    @cached_property
    def step(self) -> NDArray[np.int64]:
        """int64: the step, by the trace's own number, as in `Tasks.step`."""
        return self._recording.gradient_column("step")

    @cached_property
    def ready(self) -> NDArray[np.int64]:
        """int64: the GPU task whose end completes the gradient."""
        return self._recording.gradient_column("ready")

    @cached_property
    def forward(self) -> NDArray[np.int64]:
        """int64: the first GPU task of the same step's forward that used the parameter; -1: not known."""
        return self._recording.gradient_column("forward")

    @cached_property
    def bytes(self) -> NDArray[np.int64]:
        """int64."""
        return self._recording.gradient_column("bytes")


def _plain(value: Any) -> Any:
    """A str or None as it is, a number of numpy as Python's."""
    return value.item() if hasattr(value, "item") else value
