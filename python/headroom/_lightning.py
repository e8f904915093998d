"""The callback for Lightning's Trainer. Private: use headroom.callbacks.LightningCallback."""

from __future__ import annotations

import os
from typing import Any, Iterable, Optional, Tuple

from headroom._recorder import StepRecorder

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

    @property
    def report(self) -> Optional[Any]:
        """The report; None before the last recorded step, and on other ranks than 0."""
        return self.recorder.report

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self.recorder.add_trackers(logger for logger in trainer.loggers if _has_page(logger))
        self.recorder.start()

    def on_train_batch_end(self, *args: Any, **kwargs: Any) -> None:
        self.recorder.step()

    def on_train_end(self, *args: Any) -> None:
        self.recorder.close()

    def on_exception(self, *args: Any) -> None:
        self.recorder.close()


def _has_page(logger: Any) -> bool:
    return type(logger).__name__ in ("WandbLogger", "MLFlowLogger", "TensorBoardLogger")
