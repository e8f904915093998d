"""The tasks and edges of a graph as numpy columns: all read-only and of one length.

Numeric columns are views of the graph if it stores them, and keep it alive. Other columns are computed at first access.
Names are arrays of str (dtype object) with one object per distinct name, and None for no name, so `tasks.operator ==
"aten::mm"` is a mask.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    import headroom._engine as _engine


class Task(NamedTuple):
    """One row of Tasks, as the function in `select(where=...)` receives it."""

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
    """The recorded tasks, each after all tasks that it waits for. The row number identifies a task.

    A task is a call of the GPU's API ("call"), the return of a blocking call ("return"), or work on the GPU ("gpu").
    Waits are edges, not tasks.
    """

    def __init__(self, recording: _engine.Recording) -> None:
        self._recording = recording

    def __len__(self) -> int:
        return self._recording.tasks

    def __getitem__(self, index: int) -> Task:
        """Returns all columns of one task."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"task {index} is out of range: there are {len(self)} tasks")
        index %= len(self)  # Negative indices count from the end, as in a list.
        return Task(index, *(_plain(getattr(self, name)[index]) for name in Task._fields[1:]))

    @cached_property
    def kind(self) -> NDArray[np.object_]:
        """str: "call", "return" or "gpu"."""
        return self._recording.task_column("kind")

    @cached_property
    def name(self) -> NDArray[np.object_]:
        """str: name of the kernel, copy, memory set or call."""
        return self._recording.task_column("name")

    @cached_property
    def start_ns(self) -> NDArray[np.int64]:
        """int64: recorded start on the clock of the trace. A view."""
        return self._recording.task_column("start_ns")

    @cached_property
    def duration_ns(self) -> NDArray[np.int64]:
        """int64: recorded duration without waits. A view. For durations after edits and without the profiler:
        Graph.durations_ns().
        """
        return self._recording.task_column("duration_ns")

    @cached_property
    def step(self) -> NDArray[np.int64]:
        """int64: step of the call or launch, by the trace's own number, as in report/1; -1: none. A view."""
        return self._recording.task_column("step")

    @cached_property
    def operator(self) -> NDArray[np.object_]:
        """str or None: innermost operator around the call."""
        return self._recording.task_column("operator")

    @cached_property
    def layer(self) -> NDArray[np.object_]:
        """str or None: innermost module or `layer::` range; in backward, that of the forward operator."""
        return self._recording.task_column("layer")

    @cached_property
    def phase(self) -> NDArray[np.object_]:
        """str: "forward", "backward", "optimizer", "host_to_device", "communication", "data_wait", "callback" or
        "other".
        """
        return self._recording.task_column("phase")

    @cached_property
    def family(self) -> NDArray[np.object_]:
        """str or None: family of a GPU task: "matmul", "convolution", "elementwise", ..., "unclassified"."""
        return self._recording.task_column("family")

    @cached_property
    def stream(self) -> NDArray[np.int64]:
        """int64: stream number; -1 on the host."""
        return self._recording.task_column("stream")

    @cached_property
    def device(self) -> NDArray[np.int64]:
        """int64: ordinal of the GPU; -1 on the host."""
        return self._recording.task_column("device")

    @cached_property
    def thread(self) -> NDArray[np.object_]:
        """str or None: id of the calling thread; None on the GPU."""
        return self._recording.task_column("thread")

    @cached_property
    def launch(self) -> NDArray[np.int64]:
        """int64: row of the call that launched a GPU task; -1: not recorded, or not on the GPU."""
        return self._recording.task_column("launch")


class Edges:
    """Constraints on the start of tasks, as recorded: `to_task` starts at least `lag_ns` after `from_task`."""

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
        """uint32: row of Tasks, in ascending order. A task's first edge is that of its thread or stream."""
        return self._recording.edge_column("to_task")

    @cached_property
    def from_end(self) -> NDArray[np.bool_]:
        """bool: True: after the end of `from_task`; False: after its start. A view."""
        return self._recording.edge_column("from_end")

    @cached_property
    def cycles_back(self) -> NDArray[np.uint8]:
        """uint8: number of cycles over the recorded steps by which `from_task` precedes `to_task`. A view."""
        return self._recording.edge_column("cycles_back")

    @cached_property
    def kind(self) -> NDArray[np.object_]:
        """str: "host", "hand-over", "stream", "launch", "queue", "sync" or "cross-stream" (docs/engine.md)."""
        return self._recording.edge_column("kind")

    @cached_property
    def lag_ns(self) -> NDArray[np.int64]:
        """int64: for a host edge, the work between two calls; may be negative on a stream. A view."""
        return self._recording.edge_column("lag_ns")

    @cached_property
    def provenance(self) -> NDArray[np.object_]:
        """str: "recorded", "resolved" (from synchronization records) or "inferred" (by a rule)."""
        return self._recording.edge_column("provenance")


class Gradients:
    """The gradients of each recorded step in order of readiness, to schedule their exchange. Empty if the trace has no
    shapes from which to derive the gradients.
    """

    def __init__(self, recording: _engine.Recording) -> None:
        self._recording = recording

    def __len__(self) -> int:
        return len(self.step)

    @cached_property
    def step(self) -> NDArray[np.int64]:
        """int64: step, by the trace's own number, as in `Tasks.step`."""
        return self._recording.gradient_column("step")

    @cached_property
    def ready(self) -> NDArray[np.int64]:
        """int64: row of the GPU task whose end completes the gradient."""
        return self._recording.gradient_column("ready")

    @cached_property
    def forward(self) -> NDArray[np.int64]:
        """int64: row of the first GPU task of the same step's forward pass that used the parameter; -1: unknown."""
        return self._recording.gradient_column("forward")

    @cached_property
    def bytes(self) -> NDArray[np.int64]:
        """int64: size of the gradient in bytes."""
        return self._recording.gradient_column("bytes")


def _plain(value: Any) -> Any:
    """Returns a numpy number as a Python number; a str or None unchanged."""
    return value.item() if hasattr(value, "item") else value
