"""The recorded job as a graph that can be edited and replayed."""

from __future__ import annotations

import json
import warnings
from operator import index
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence, Union

import numpy as np

import headroom._engine as _engine
from headroom._trace_file import Path, TraceFile, record
from headroom.columns import Edges, Gradients, Task, Tasks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Predicate = Callable[[Task], bool]


class Graph:
    """A recorded job that can be edited and replayed.

        graph = headroom.Graph("trace.json.gz")
        graph.select(kernel="gemm").scale(1 / 3)
        graph.replay().step_ms

    The recorded job never changes: edits apply on top of it in the order in which they are made. reset() undoes
    them. copy() makes a second graph of the same job and copies only the edits. Durations are those of the job
    without its profiler (docs/engine.md), so an unedited graph replays in `step_ms`, not in `recorded_step_ms`. Only
    one thread at a time may edit a graph; copies in several threads replay in parallel.

    trace: a path, or the result of headroom.load()
    steps: numbers of the first and last step, inclusive; step_marker: range that begins each step if the trace has
    no ProfilerStep
    measured_step_ms: measured time of a step without a profiler; scales the host work to reproduce it
    calibration: a file of `headroom calibrate --host`
    local_state: use the data saved on this machine: its own calibration and the scores of earlier forecasts
    """

    def __init__(
        self,
        trace: Union[Path, TraceFile],
        *,
        steps: tuple[int, int] | None = None,
        step_marker: str = "",
        measured_step_ms: float | None = None,
        calibration: Path = "",
        local_state: bool = True,
    ) -> None:
        if not isinstance(trace, TraceFile):
            trace = TraceFile(trace)
        self._path = trace.path
        self._recording = record(
            trace,
            steps=steps,
            step_marker=step_marker,
            measured_step_ms=measured_step_ms,
            calibration=calibration,
            local_state=local_state,
        )
        self._edits = _engine.EditableGraph(self._recording)
        self._tasks = Tasks(self._recording)
        self._edges = Edges(self._recording)
        self._gradients = Gradients(self._recording)

    # --- the job as recorded ---

    @property
    def step_ms(self) -> float:
        """Time of a step without the profiler, before any edit."""
        return self._recording.step_ms

    @property
    def recorded_step_ms(self) -> float:
        """Recorded time of a step with its profiler: mean time between the ends of the steps' GPU work."""
        return self._recording.recorded_step_ms

    @property
    def steps(self) -> int:
        """Number of steps in the graph. A replay repeats them until the times are periodic."""
        return self._recording.steps

    @property
    def calibration(self) -> str:
        """Source of the recording cost that `step_ms` excludes."""
        return self._recording.calibration

    @property
    def tasks(self) -> Tasks:
        """Columns of the recorded tasks."""
        return self._tasks

    @property
    def edges(self) -> Edges:
        """Columns of the recorded edges."""
        return self._edges

    @property
    def gradients(self) -> Gradients:
        """Columns of the gradients."""
        return self._gradients

    # --- edits ---

    def select(
        self,
        *,
        kernel: str | None = None,
        operator: str | None = None,
        layer: str | None = None,
        phase: str | None = None,
        family: str | None = None,
        stream: int | None = None,
        device: int | None = None,
        step: int | None = None,
        where: Predicate | NDArray[np.bool_] | None = None,
    ) -> Selection:
        """Returns the GPU tasks that meet all given criteria, with their host work.

        kernel, operator, layer: regular expressions (RE2) that match anywhere in a name: of the GPU task, of an
        operator around its launch at any depth, or of the innermost layer

        phase, family, stream, device, step: equal to the columns of `tasks`

        where: an array of bool with a value for each task of `tasks`, or a function of a Task

        scale_host() and remove_waits() edit the host work: the operators that meet the criteria and everything inside
        them, even without launches. Some criteria fit only a GPU task: kernel, family, stream, device, step, where.
        With these, the host work is that of the innermost operators that launched the tasks.
        """
        criteria: dict[str, Any] = dict(
            kernel=kernel,
            operator=operator,
            layer=layer,
            phase=phase,
            family=family,
            stream=stream,
            device=device,
            step=step,
        )
        if callable(where):
            mask = np.zeros(len(self.tasks), bool)
            for task in self._edits.select(**criteria, where=None).tasks:
                mask[task] = bool(where(self.tasks[task]))
            where = mask
        given = [f"{name}={value!r}" for name, value in criteria.items() if value is not None]
        if where is not None:
            given.append("where=...")
        return Selection(self, self._edits.select(**criteria, where=where), f"select({', '.join(given)})")

    def remove_waits(self) -> int:
        """Removes all waits of calls for the GPU. Returns the number of calls that waited."""
        return self.select().remove_waits()

    def channel(self, name: str, policy: str = "fifo") -> Channel:
        """Returns the named resource outside the recorded streams, such as a network, and sets its policy.

        It runs one transfer at a time, without preemption. policy: "fifo" runs the transfer that was ready first;
        "priority" runs the lowest number.
        """
        self._edits.channel(name, policy)
        return Channel(self, name)

    def apply(self, scenario: str) -> str:
        """Applies a scenario of `headroom whatif` as an edit and returns its remarks. Raises DoesNotApply if the trace
        lacks required data; the edits then stay unchanged. Parts of "A+B" apply in the catalogue's order.
        """
        return self._edits.apply(scenario)

    @property
    def changed(self) -> tuple[int, int, int]:
        """Number of times that the edits changed a GPU task's duration, inserted a task, or removed a task."""
        return self._edits.counts

    def reset(self) -> Graph:
        """Undoes all edits, and removes channels and inserted tasks. Returns the graph."""
        self._edits.reset()
        return self

    def copy(self) -> Graph:
        """Returns an independent graph of the same job with the same edits."""
        twin = object.__new__(Graph)
        twin.__dict__.update(self.__dict__)
        twin._edits = self._edits.copy()
        return twin

    # --- answers ---

    def replay(self) -> Replay:
        """Replays the job with the edits made so far."""
        return Replay(self._edits.replay())

    def durations_ns(self) -> NDArray[np.int64]:
        """Returns int64 by recorded task: duration without the profiler and with the edits. A copy."""
        return self._edits.durations_ns()

    def work_before_ns(self) -> NDArray[np.int64]:
        """Returns int64 by task: the host's work before a call, without the profiler and with the edits; 0 for tasks
        that are not calls. A copy.
        """
        return self._edits.work_before_ns()

    def whatif(self, scenario: str) -> dict[str, Any]:
        """Returns the forecast of a scenario for the recorded job, without the edits. It is a row of whatif/1, with
        `step_ms` {low, mid, high}, `speedup`, `saves_ms`, `applies`, `why`, ... For an unknown scenario, `applies`
        is False.
        """
        forecast: dict[str, Any] = json.loads(self._recording.whatif_json([scenario]))["scenarios"][0]
        return forecast

    def __repr__(self) -> str:
        return (
            f"<headroom.Graph of {self._path}: {self.steps} steps of {self.step_ms:.2f} ms "
            f"({self.recorded_step_ms:.2f} ms as recorded), {len(self.tasks)} tasks>"
        )


class Selection:
    """Tasks of a graph. Edits change the graph at once and return the selection, so calls can be chained. An edit of a
    selection without anything to edit changes nothing and warns (UserWarning).
    """

    def __init__(self, graph: Graph, selected: _engine.Selected, text: str) -> None:
        self._edits = graph._edits
        self._selected = selected
        self._text = text

    def _warn_if_empty(self, edit: str, host: bool = False) -> None:
        """Requires a direct call from the edit, so that the warning names the user's line."""
        if len(self.indices) or host and self._selected.has_host:
            return
        what = "operator" if host else "GPU task"
        warnings.warn(
            f"{edit}() changes nothing: no {what} in the recorded steps matches {self._text}", UserWarning, stacklevel=3
        )

    def __len__(self) -> int:
        """Number of GPU tasks."""
        return len(self.indices)

    @property
    def indices(self) -> NDArray[np.int64]:
        """int64: rows of `graph.tasks`, ascending."""
        return self._selected.tasks

    @property
    def time_ms(self) -> float:
        """Sum of the GPU tasks' durations with the edits made so far, in ms per step."""
        return self._edits.time_ms(self._selected)

    def scale(self, factor: float) -> Selection:
        """Multiplies the duration of GPU tasks by `factor`, rounded to whole ns."""
        self._edits.scale(self._selected, factor)
        self._warn_if_empty("scale")
        return self

    def set_duration(self, us: float) -> Selection:
        """Sets the duration of each GPU task, in us."""
        self._edits.set_duration(self._selected, us)
        self._warn_if_empty("set_duration")
        return self

    def remove(self) -> Selection:
        """Removes the GPU tasks and the calls that launched nothing else. Keeps the host work before those calls;
        scale_host(0) removes it too.
        """
        self._edits.remove(self._selected)
        self._warn_if_empty("remove")
        return self

    def scale_host(self, factor: float) -> Selection:
        """Multiplies the host's work and calls in the selected operators by `factor`; 0 removes the calls."""
        self._edits.scale_host(self._selected, factor)
        self._warn_if_empty("scale_host", host=True)
        return self

    def remove_waits(self) -> int:
        """Removes waits for the GPU from calls in the selected host work. Returns the number of calls that waited."""
        return self._edits.remove_waits(self._selected)

    def insert_before(
        self, duration_us: float, *, host_us: float | None = None, launch_us: float | None = None
    ) -> NDArray[np.int64]:
        """Inserts a kernel directly before each GPU task on its stream, with a launch directly before that task's
        launch.

        host_us, launch_us: host work before the launch, and duration of the launch. Default: the times of an operator
        that launches one small kernel. Returns the new tasks' numbers (int64), which continue those of `graph.tasks`.
        """
        inserted = self._edits.insert_before(self._selected, duration_us, host_us, launch_us)
        self._warn_if_empty("insert_before")
        return inserted

    def insert_after(
        self, duration_us: float, *, host_us: float | None = None, launch_us: float | None = None
    ) -> NDArray[np.int64]:
        """Inserts a kernel directly after each GPU task on its stream, as insert_before() does for the stream's next
        task."""
        inserted = self._edits.insert_after(self._selected, duration_us, host_us, launch_us)
        self._warn_if_empty("insert_after")
        return inserted

    def __repr__(self) -> str:
        return f"<headroom.Selection of {len(self)} GPU tasks, {self.time_ms:.3f} ms per step>"


class Channel:
    """A resource for which transfers compete. graph.channel() creates it; reset() of the graph removes it."""

    def __init__(self, graph: Graph, name: str) -> None:
        self._edits = graph._edits
        self.name = name

    def __len__(self) -> int:
        """Number of transfers on the channel."""
        return self._edits.channel_tasks(self.name)

    def insert(
        self,
        duration_us: float,
        *,
        after: Union[int, Sequence[int]] = (),
        before: Union[int, Sequence[int]] = (),
        priority: int = 0,
    ) -> int:
        """Inserts one transfer. Returns its number, for `after` of other transfers and for the times of a replay.

        after: tasks that must have ended: rows of `graph.tasks`, or numbers of earlier inserted tasks

        before: rows of `graph.tasks` that wait for it. A row that is not later than a task of `after` refers
        to the next cycle of the recorded steps. An example is a forward task after the last step.

        priority: with the policy "priority", the lowest number runs first
        """
        return self._edits.insert_transfer(self.name, duration_us, priority, _numbers(after), _numbers(before))

    def scale(self, factor: float) -> Channel:
        """Multiplies the duration of all transfers by `factor`."""
        self._edits.scale_channel(self.name, factor)
        return self

    def reschedule(self, policy: str) -> Channel:
        """Sets another policy, as graph.channel() does."""
        self._edits.channel(self.name, policy)
        return self

    def clear(self) -> Channel:
        """Removes all transfers, and the waits of other tasks for them."""
        self._edits.clear_channel(self.name)
        return self

    def __repr__(self) -> str:
        return f"<headroom.Channel {self.name!r} with {len(self)} transfers>"


class CriticalPath(NamedTuple):
    """The chain of tasks that determines the step time, in order of time, through one cycle of the recorded steps. All
    columns have one length; `lag_ns` and `ran_ns` add up to the cycle's time.
    """

    task: NDArray[np.int64]
    """int64: row of `graph.tasks`, or number of an inserted task; -1: the launch of an inserted kernel."""
    edge: NDArray[np.object_]
    """str or None: kind of the edge that allowed the task to start, as in `graph.edges`. "cross-stream" also for a wait
    for a transfer; "channel": its channel was busy until then; None: the path begins here.
    """
    lag_ns: NDArray[np.int64]
    """int64: lag of that edge: host work, a gap or a latency."""
    ran_ns: NDArray[np.int64]
    """int64: duration of the task; 0 if only its start counts."""


class Replay:
    """Result of a replay. Later edits do not change it."""

    def __init__(self, result: _engine.ReplayResult) -> None:
        self._result = result

    @property
    def step_ms(self) -> float:
        """Time of a step in the steady state, on the scale of `graph.step_ms`. Starts and ends are replayed times."""
        return self._result.step_ms

    @property
    def step_walls_ms(self) -> NDArray[np.float64]:
        """float64 by recorded step: from the end of the previous step's GPU work to the end of this step's."""
        return np.array(self._result.step_walls_ms)

    @property
    def settled(self) -> bool:
        """True if the last cycle of the steps took as long as the one before; else delays accumulate."""
        return self._result.settled

    @property
    def starts_ns(self) -> NDArray[np.int64]:
        """int64 by task: start in the last cycle of the steps, relative to the start of the cycle. Inserted tasks
        follow the recorded ones, by number; -1 for a removed task.
        """
        return self._result.starts_ns()

    @property
    def ends_ns(self) -> NDArray[np.int64]:
        """int64 by task: end, on the clock of starts_ns."""
        return self._result.ends_ns()

    def critical_path(self) -> CriticalPath:
        """The critical path of the step."""
        return CriticalPath(
            self._result.path_tasks(),
            self._result.path_edges(),
            self._result.path_lags_ns(),
            self._result.path_runs_ns(),
        )

    def __repr__(self) -> str:
        return f"<headroom.Replay: {self.step_ms:.3f} ms per step>"


def _numbers(tasks: Union[int, Sequence[int]]) -> list[int]:
    """Returns a list of ints, also for a single number."""
    return [index(task) for task in np.atleast_1d(tasks)]
