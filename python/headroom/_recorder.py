"""Records some steps of a training run by PyTorch's profiler, reports on them and logs the result. Private: use
headroom.callbacks.
"""

from __future__ import annotations

import os
import pathlib
import sys
import warnings
from typing import TYPE_CHECKING, Any, Callable, Iterable, List, Optional, Tuple

from headroom import _program
from headroom._summary import summary
from headroom._trackers import tracker_of

if TYPE_CHECKING:
    from headroom.results import Report

WARM_UP_STEPS = 1  # The profiler's first step includes its start-up cost.


class StepRecorder:
    """Records steps of a loop of PyTorch that has no callbacks.

        with headroom.callbacks.StepRecorder() as recorder:
            for batch in loader:
                ...
                recorder.step()
        recorder.report.bottleneck.verdict

    After the last recorded step, rank 0 reports: the page is `folder`/headroom.html, and `trackers` get the figures of
    headroom.log_summary() and the page. If the profiler, the report or a tracker fails, the recorder warns and training
    continues.

    steps: numbers of the first and last step, inclusive, counted from 0 in this process; the first should come after
    warm-up
    folder: for trace and page; every rank writes its own trace, rank0.json.gz and so on
    trackers: runs of W&B, MLflow or TensorBoard (headroom.log_summary)
    with_stack: records Python's call stacks too, which slows the recorded steps
    """

    def __init__(
        self,
        steps: Tuple[int, int] = (20, 25),
        folder: str | os.PathLike[str] = "headroom",
        trackers: Iterable[Any] = (),
        with_stack: bool = False,
    ) -> None:
        first, last = steps
        if not WARM_UP_STEPS <= first <= last:
            raise ValueError(f"steps=({first}, {last}): requires {WARM_UP_STEPS} <= first <= last")
        self.report: Optional[Report] = None
        self.folder = pathlib.Path(folder)
        self._steps, self._with_stack = (first, last), with_stack
        self._trackers: List[Any] = list(trackers)
        for tracker in self._trackers:
            tracker_of(tracker)  # Raises for an object that cannot log, before training begins.
        self._profiler: Any = None
        self._count = 0

    @property
    def trace(self) -> pathlib.Path:
        """Path of this rank's trace."""
        return self.folder / f"rank{_rank()}.json.gz"

    @property
    def page(self) -> pathlib.Path:
        """Path of the page, which rank 0 writes."""
        return self.folder / "headroom.html"

    def add_trackers(self, trackers: Iterable[Any]) -> None:
        """Adds runs that did not exist when the recorder was made."""
        self._trackers += trackers

    def start(self) -> None:
        """Begins to count steps."""
        self._guard("cannot record", self._start)

    def step(self) -> None:
        """Ends a step."""
        self._count += 1
        if self._profiler is not None and (
            not self._guard("cannot record", self._profiler.step) or self._count > self._steps[1]
        ):
            self.close()

    def close(self) -> None:
        """Ends the recording. Warns if training ended before the first step of the range was complete."""
        profiler, self._profiler = self._profiler, None
        if profiler is None:
            return
        self._guard("cannot write the trace", profiler.stop)
        if self._count <= self._steps[0]:
            warnings.warn(
                f"headroom recorded nothing: training ended after {self._count} steps, before step {self._steps[0]} "
                "was complete; pass smaller steps=(first, last)",
                stacklevel=2,
            )

    def __enter__(self) -> StepRecorder:
        self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def _start(self) -> None:
        import torch

        if not torch.profiler.kineto_available():
            raise RuntimeError("this PyTorch was built without Kineto; `headroom record` works without it")
        first, last = self._steps
        self._count = 0
        profiler = torch.profiler.profile(
            schedule=torch.profiler.schedule(
                wait=first - WARM_UP_STEPS, warmup=WARM_UP_STEPS, active=last - first + 1, repeat=1
            ),
            on_trace_ready=self._finish,
            record_shapes=True,
            with_stack=self._with_stack,
        )
        profiler.start()
        self._profiler = profiler

    def _finish(self, profiler: Any) -> None:
        if self._count <= self._steps[0]:
            return  # No step was completed; close() says so.
        self.folder.mkdir(parents=True, exist_ok=True)
        profiler.export_chrome_trace(str(self.trace))
        if _rank() != 0:
            return
        self._guard("cannot report", self._answer)

    def _answer(self) -> None:
        from headroom.results import Report

        _program.run("report", [str(self.trace)], {"html": self.page, "quiet": True})
        report = self.report = Report(_program.ask("report", [str(self.trace)], {}))
        print(f"headroom: {report.headline()} Page: {self.page}", file=sys.stderr)
        if not self._trackers:
            return
        values = summary(report)
        markdown = _program.run("report", [str(self.trace)], {"md": True, "quiet": True})
        for run in self._trackers:
            self._guard(f"cannot log to {type(run).__name__}", lambda: self._log(run, values, markdown))

    def _log(self, run: Any, values: Any, markdown: str) -> None:
        tracker = tracker_of(run)
        step = None if tracker.counts_calls else self._steps[1]
        tracker.metrics(values, step)
        tracker.page(str(self.page), markdown, step)

    def _guard(self, failure: str, work: Callable[[], Any]) -> bool:
        """Returns True if `work` succeeded. Turns a failure into a warning: a measurement must not end training."""
        try:
            work()
        except Exception as error:
            warnings.warn(f"headroom: {failure}: {error}", stacklevel=3)
            return False
        return True


class RecordsSteps:
    """Base class of the trainer callbacks: a StepRecorder with its arguments, and its report."""

    def __init__(
        self,
        steps: Tuple[int, int] = (20, 25),
        folder: str | os.PathLike[str] = "headroom",
        trackers: Iterable[Any] = (),
        with_stack: bool = False,
    ) -> None:
        super().__init__()
        self.recorder = StepRecorder(steps, folder, trackers, with_stack)

    @property
    def report(self) -> Optional[Report]:
        """The report; None before the last recorded step, and on other ranks than 0."""
        return self.recorder.report


def _rank() -> int:
    """Returns the rank of this process in its job."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
        return int(torch.distributed.get_rank())
    in_slurm = int(os.environ.get("SLURM_NTASKS") or 1) > 1  # Tasks of one job, not of an array.
    return int(os.environ.get("RANK") or (in_slurm and os.environ.get("SLURM_PROCID")) or 0)
