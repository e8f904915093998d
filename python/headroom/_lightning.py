"""The callback for Lightning's Trainer. Private: use headroom.callbacks.LightningCallback."""

from __future__ import annotations

import os
from typing import Any, Iterable, List, Optional, Tuple

from headroom._recorder import StepRecorder
from headroom._trackers import experiment_of

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback


class LightningCallback(Callback):  # type: ignore[misc]
    """Records steps of `trainer.fit`, reports, and logs figures and page to the trainer's loggers.

        trainer = lightning.Trainer(callbacks=[headroom.callbacks.LightningCallback()], logger=...)

    A step is a batch. Arguments as for headroom.callbacks.StepRecorder; `trackers` in addition to the trainer's
    loggers. After fit(), `.report` has the report and `.recorder.page` the path of the page.
    """

    def __init__(
        self,
        steps: Tuple[int, int] = (20, 25),
        folder: str | os.PathLike[str] = "headroom",
        trackers: Iterable[Any] = (),
        with_stack: bool = False,
    ) -> None:
        super().__init__()
        self.recorder = StepRecorder(steps, folder, trackers, with_stack)
        self._loggers: Optional[List[Any]] = None

    @property
    def report(self) -> Optional[Any]:
        """The report; None before the last recorded step, and on other ranks than 0."""
        return self.recorder.report

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if self._loggers is None:  # A second fit() has the same ones.
            self._loggers = [logger for logger in trainer.loggers if experiment_of(logger) is not None]
            self.recorder.add_trackers(self._loggers)
        self.recorder.start()

    def on_train_batch_end(self, *args: Any, **kwargs: Any) -> None:
        self.recorder.step()

    def on_train_end(self, *args: Any) -> None:
        self.recorder.close()

    def on_exception(self, *args: Any) -> None:
        self.recorder.close()
