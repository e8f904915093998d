"""The callback for Hugging Face's Trainer. Private: use headroom.callbacks.TransformersCallback."""

from __future__ import annotations

import os
import sys
from typing import Any, List

from transformers import TrainerCallback

from headroom._recorder import RecordsSteps


class TransformersCallback(RecordsSteps, TrainerCallback):  # type: ignore[misc]
    """Records steps of `trainer.train`, reports, and logs figures and page to the runs of `report_to`.

        trainer = transformers.Trainer(..., callbacks=[headroom.callbacks.TransformersCallback()])

    A step is an update of the parameters. Arguments as for headroom.callbacks.StepRecorder; `trackers` in addition to
    W&B, MLflow and TensorBoard, as `TrainingArguments.report_to` names them. After train(), `.report` has the report,
    and `.recorder.page` the path of the page.
    """

    _writer: Any = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            self.recorder.add_trackers(self._runs_of(args))
        self.recorder.start()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.recorder.step()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.recorder.close()
        if self._writer is not None:
            self._writer.close()

    def _runs_of(self, args: Any) -> List[Any]:
        """Returns the runs that are open: the Trainer's callbacks run before this one."""
        runs: List[Any] = []
        wandb, mlflow = sys.modules.get("wandb"), sys.modules.get("mlflow")
        if "wandb" in args.report_to and wandb is not None and wandb.run is not None:
            runs.append(wandb.run)
        if "mlflow" in args.report_to and mlflow is not None and mlflow.active_run() is not None:
            runs.append(mlflow)
        if "tensorboard" in args.report_to:
            from torch.utils.tensorboard import SummaryWriter

            folder = os.environ.get("TENSORBOARD_LOGGING_DIR") or getattr(args, "logging_dir", None)
            self._writer = SummaryWriter(folder or os.path.join(args.output_dir, "runs"))
            runs.append(self._writer)
        return runs
