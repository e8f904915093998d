"""The callback for Lightning's Trainer. Private: use headroom.callbacks.LightningCallback."""

from __future__ import annotations

from typing import Any, List, Optional

from headroom._recorder import RecordsSteps
from headroom._trackers import experiment_of

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback


class LightningCallback(RecordsSteps, Callback):  # type: ignore[misc]
    """Records steps of `trainer.fit`, reports, and logs figures and page to the trainer's loggers.

        trainer = lightning.Trainer(callbacks=[headroom.callbacks.LightningCallback()], logger=...)

    A step is a batch. Arguments as for headroom.callbacks.StepRecorder; `trackers` in addition to the trainer's
    loggers. After fit(), `.report` has the report and `.recorder.page` the path of the page.
    """

    _loggers: Optional[List[Any]] = None

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
