"""The recorded job as a graph to edit and replay."""

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

    The recorded job never changes: edits lie on top of it, add up in the order in which they are made, and go with
    reset(). copy() makes a second graph of the same job, for the price of its edits. Durations are those that the job
    has without its profiler (docs/engine.md), so an unedited graph replays in `step_ms`, not in `recorded_step_ms`. One
    graph is edited by one thread at a time; copies in several threads replay side by side.

    trace: a path, or what headroom.load() gave
    steps: first and last step by number, both included; step_marker: range that begins each step, where the trace has
    no ProfilerStep
    measured_step_ms: true time of a step without a profiler, if known: the host is taken to the speed that explains it
    calibration: a file of `headroom calibrate --host`
    local_state: whether what this machine keeps counts: its own calibration, and scores of earlier forecasts
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

    # --- the job as recorded
    # ---------------------------------------------------------------------------------------------

    @property
    def step_ms(self) -> float:
        """A step without the profiler, before any edit."""
        return self._recording.step_ms

    @property
    def recorded_step_ms(self) -> float:
        """A step as recorded, with its profiler: mean distance of the ends of the steps' GPU work."""
        return self._recording.recorded_step_ms

    @property
    def steps(self) -> int:
        """How many steps the graph holds. They are replayed over and over, until the times repeat."""
        return self._recording.steps

    @property
    def calibration(self) -> str:
        """Where the cost of recording, which `step_ms` leaves out, is known from."""
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

    # --- edits
    # -----------------------------------------------------------------------------------------------------------

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
        """GPU tasks that meet all criteria given, with the host work that belongs to them.

        kernel, operator, layer: regular expressions (RE2), which match anywhere in a name: of the GPU task, of an
        operator around its launch at any depth, of the innermost layer
        phase, family, stream, device, step: exactly, as in the columns of `tasks`
        where: an array of bool with a value for each task of `tasks`, or a function of a Task

        The host work, which scale_host() and remove_waits() are about, is that of the operators that meet the criteria
        and of all that happens inside them, whether or not they launch anything. With a criterion that only a GPU task
        can meet (kernel, family, stream, device, step, where), it is that of the innermost operators that launched the
        tasks.
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
        """No call waits for the GPU any more. Returns how many did."""
        return self.select().remove_waits()

    def channel(self, name: str, policy: str = "fifo") -> Channel:
        """A resource beside the recorded streams, such as a network: the one of that name, with this policy from now
        on.

        It runs one transfer at a time, and none is broken off. policy: "fifo", the one that was ready first goes first;
        "priority", the one of the lowest number.
        """
        self._edits.channel(name, policy)
        return Channel(self, name)

    def apply(self, scenario: str) -> str:
        """Makes a scenario of `headroom whatif` one of the edits, and returns its remarks. Raises DoesNotApply where
        the trace lacks what it needs; the edits are then as before. Parts of "A+B" are applied in the catalogue's
        order."""
        return self._edits.apply(scenario)

    @property
    def changed(self) -> tuple[int, int, int]:
        """How often the edits changed a GPU task's duration, inserted a task, removed a task."""
        return self._edits.counts

    def reset(self) -> Graph:
        """Undoes all edits; channels and numbers of inserted tasks go with them. Returns the graph."""
        self._edits.reset()
        return self

    def copy(self) -> Graph:
        """A graph of the same job with the same edits; they go apart from here on."""
        twin = object.__new__(Graph)
        twin.__dict__.update(self.__dict__)
        twin._edits = self._edits.copy()
        return twin

    # --- answers
    # ---------------------------------------------------------------------------------------------------------

    def replay(self) -> Replay:
        """When everything happens with the edits made so far."""
        return Replay(self._edits.replay())

    def durations_ns(self) -> NDArray[np.int64]:
        """int64, by task: without the profiler and with the edits, those of recorded tasks. A copy."""
        return self._edits.durations_ns()

    def work_before_ns(self) -> NDArray[np.int64]:
        """int64, by task: the host's work before a call, without the profiler and with the edits; 0 for all but calls.
        A copy.
        """
        return self._edits.work_before_ns()

    def whatif(self, scenario: str) -> dict[str, Any]:
        """The forecast of a scenario for the job as recorded, whatever the edits: a row of whatif/1, with `step_ms`
        {low, mid, high}, `speedup`, `saves_ms`, `applies`, `why`, ... If it is unknown, `applies` is False."""
        forecast: dict[str, Any] = json.loads(self._recording.whatif_json([scenario]))["scenarios"][0]
        return forecast

    def __repr__(self) -> str:
        return (
            f"<headroom.Graph of {self._path}: {self.steps} steps of {self.step_ms:.2f} ms "
            f"({self.recorded_step_ms:.2f} ms as recorded), {len(self.tasks)} tasks>"
        )


class Selection:
    """Tasks of a graph. Edits change the graph at once and return the selection, so that they can be chained. An edit
    of a selection that holds nothing to edit changes nothing, and warns (UserWarning)."""

    def __init__(self, graph: Graph, selected: _engine.Selected, text: str) -> None:
        self._edits = graph._edits
        self._selected = selected
        self._text = text

    def _warn_if_empty(self, edit: str, host: bool = False) -> None:
        """REQUIRES: called by the edit itself, so that the warning names the user's line."""
        if len(self.indices) or host and self._selected.has_host:
            return
        what = "operator" if host else "GPU task"
        warnings.warn(
            f"{edit}() changes nothing: no {what} of the recorded steps matches {self._text}", UserWarning, stacklevel=3
        )

    def __len__(self) -> int:
        """How many GPU tasks."""
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
        """GPU tasks take `factor` times as long, rounded to whole ns."""
        self._edits.scale(self._selected, factor)
        self._warn_if_empty("scale")
        return self

    def set_duration(self, us: float) -> Selection:
        """Each GPU task takes so long."""
        self._edits.set_duration(self._selected, us)
        self._warn_if_empty("set_duration")
        return self

    def remove(self) -> Selection:
        """GPU tasks are gone, and so are the calls that launched nothing else. The work before those calls stays:
        scale_host(0) takes that away, too."""
        self._edits.remove(self._selected)
        self._warn_if_empty("remove")
        return self

    def scale_host(self, factor: float) -> Selection:
        """The host's work and calls in the selected operators take `factor` times as long; 0 removes the calls."""
        self._edits.scale_host(self._selected, factor)
        self._warn_if_empty("scale_host", host=True)
        return self

    def remove_waits(self) -> int:
        """Calls in the selected host work no longer wait for the GPU. Returns how many did."""
        return self._edits.remove_waits(self._selected)

    def insert_before(
        self, duration_us: float, *, host_us: float | None = None, launch_us: float | None = None
    ) -> NDArray[np.int64]:
        """A kernel just before each GPU task on its stream, with a launch just before that one's launch.

        host_us, launch_us: the host's work before the launch, and the launch; what an operator takes that launches one
        small kernel, if not given. Returns the new tasks' numbers (int64), which continue those of `graph.tasks`.
        """
        inserted = self._edits.insert_before(self._selected, duration_us, host_us, launch_us)
        self._warn_if_empty("insert_before")
        return inserted

    def insert_after(
        self, duration_us: float, *, host_us: float | None = None, launch_us: float | None = None
    ) -> NDArray[np.int64]:
        """A kernel just behind each GPU task on its stream: insert_before() of the next task there."""
        inserted = self._edits.insert_after(self._selected, duration_us, host_us, launch_us)
        self._warn_if_empty("insert_after")
        return inserted

    def __repr__(self) -> str:
        return f"<headroom.Selection of {len(self)} GPU tasks, {self.time_ms:.3f} ms per step>"


class Channel:
    """A resource whose transfers compete for it. Get one with graph.channel(); reset() of the graph ends it."""

    def __init__(self, graph: Graph, name: str) -> None:
        self._edits = graph._edits
        self.name = name

    def __len__(self) -> int:
        """How many transfers are on it."""
        return self._edits.channel_tasks(self.name)

    def insert(
        self,
        duration_us: float,
        *,
        after: Union[int, Sequence[int]] = (),
        before: Union[int, Sequence[int]] = (),
        priority: int = 0,
    ) -> int:
        """One transfer. Returns its number, for `after` of others and for the times of a replay.

        after: tasks that must have ended: rows of `graph.tasks`, or numbers of what was inserted before
        before: rows of `graph.tasks` that wait for it. One that comes no later than a task of `after` in `graph.tasks`
        is that of the next run through the recorded steps: a forward task that follows the last step.
        priority: the lowest goes first where the policy is "priority"
        """
        return self._edits.insert_transfer(self.name, duration_us, priority, _numbers(after), _numbers(before))

    def scale(self, factor: float) -> Channel:
        """All transfers take `factor` times as long."""
        self._edits.scale_channel(self.name, factor)
        return self

    def reschedule(self, policy: str) -> Channel:
        """Another policy, as of graph.channel()."""
        self._edits.channel(self.name, policy)
        return self

    def clear(self) -> Channel:
        """Takes all transfers away; nothing waits for them any more."""
        self._edits.clear_channel(self.name)
        return self

    def __repr__(self) -> str:
        return f"<headroom.Channel {self.name!r} with {len(self)} transfers>"


class CriticalPath(NamedTuple):
    """The chain that makes a step as long as it is, in order of time, through one run over the recorded steps. All
    columns have one length; `lag_ns` and `ran_ns` add up to that run."""

    task: NDArray[np.int64]
    """int64: row of `graph.tasks`, or number of an inserted task; -1: the launch of an inserted kernel."""
    edge: NDArray[np.object_]
    """str or None: kind of the edge that let the task start, as in `graph.edges` ("cross-stream" also where a task
    waits for a transfer); "channel": its channel was busy until then; None: the path begins here."""
    lag_ns: NDArray[np.int64]
    """int64: of that edge: the host's work, a gap, a latency."""
    ran_ns: NDArray[np.int64]
    """int64: of the task itself; 0 where only its start counts."""


class Replay:
    """What a replay tells. It does not change with later edits."""

    def __init__(self, result: _engine.ReplayResult) -> None:
        self._result = result

    @property
    def step_ms(self) -> float:
        """A step in the steady state, on the scale of `graph.step_ms`. Starts and ends are as replayed."""
        return self._result.step_ms

    @property
    def step_walls_ms(self) -> NDArray[np.float64]:
        """float64, by recorded step: each from the end of the GPU work of the one before to the end of its own."""
        return np.array(self._result.step_walls_ms)

    @property
    def settled(self) -> bool:
        """Whether one run through the steps took as long as the one before; else the edits keep on adding up."""
        return self._result.settled

    @property
    def starts_ns(self) -> NDArray[np.int64]:
        """int64, by task: of the last run through the steps, from its first moment. Inserted tasks follow the recorded
        ones, by number; -1 for one that was taken away again."""
        return self._result.starts_ns()

    @property
    def ends_ns(self) -> NDArray[np.int64]:
        """int64, by task: as starts_ns."""
        return self._result.ends_ns()

    def critical_path(self) -> CriticalPath:
        """What the step waits for, moment by moment."""
        return CriticalPath(
            self._result.path_tasks(),
            self._result.path_edges(),
            self._result.path_lags_ns(),
            self._result.path_runs_ns(),
        )

    def __repr__(self) -> str:
        return f"<headroom.Replay: {self.step_ms:.3f} ms per step>"


def _numbers(tasks: Union[int, Sequence[int]]) -> list[int]:
    """A list, also of a single number."""
    return [index(task) for task in np.atleast_1d(tasks)]
