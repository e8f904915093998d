"""Experiment trackers by one interface: metrics and the page of a report. Private; used by log_summary and the
callbacks.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, NamedTuple, Optional


class Tracker(NamedTuple):
    """How to log to one run."""

    metrics: Callable[[Dict[str, float], Optional[int]], Any]
    """Logs figures by name at a step; None: the default of the run."""
    page: Callable[[str, str, Optional[int]], Any]
    """Logs (path of the page, report in Markdown, step)."""
    counts_calls: bool = False
    """True if the run counts its log calls as steps and drops what comes with an earlier step, as W&B does."""


def tracker_of(run: Any) -> Tracker:
    """Returns the interface of a run.

    run: a W&B run or the module wandb; the module mlflow, or (client, run_id); a TensorBoard SummaryWriter; a logger of
    Lightning, or a tracker of Accelerate, for one of these.

    Raises TypeError for anything else.
    """
    if isinstance(run, tuple) and len(run) == 2 and hasattr(run[0], "log_metric"):
        return _mlflow_client(*run)
    experiment = experiment_of(run)
    if experiment is not None:
        return tracker_of(experiment)
    if hasattr(run, "add_scalar"):  # A SummaryWriter.
        return _summary_writer(run)
    if hasattr(run, "log_metrics"):  # The module mlflow, or a logger that has no page.
        return Tracker(
            lambda values, step: run.log_metrics(values, step=step), _artifact(getattr(run, "log_artifact", None))
        )
    if hasattr(run, "log"):  # A wandb.Run, or the module.
        return Tracker(lambda values, step: run.log(values, step=step), _wandb_page(run), counts_calls=True)
    raise TypeError(
        f"{type(run).__name__} is not a supported tracker: pass a W&B run or the module wandb, "
        "the module mlflow, or a TensorBoard SummaryWriter"
    )


def experiment_of(run: Any) -> Any:
    """Returns the run of a logger of Lightning or of a tracker of Accelerate; None for another object."""
    kinds = {cls.__name__ for cls in type(run).__mro__}
    if kinds & {"WandbLogger", "TensorBoardLogger"}:
        return run.experiment
    if "MLFlowLogger" in kinds:
        return run.experiment, run.run_id
    if "WandBTracker" in kinds:
        return run.run
    if "TensorBoardTracker" in kinds:
        return run.writer
    if "MLflowTracker" in kinds:
        import mlflow

        return mlflow
    return None


def _summary_writer(writer: Any) -> Tracker:
    def metrics(values: Dict[str, float], step: Optional[int]) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, step)

    # TensorBoard cannot show HTML, so it gets the report as Markdown.
    return Tracker(metrics, lambda page, markdown, step: writer.add_text("headroom", markdown, step))


def _mlflow_client(client: Any, run_id: str) -> Tracker:
    def metrics(values: Dict[str, float], step: Optional[int]) -> None:
        for name, value in values.items():
            client.log_metric(run_id, name, value, step=step or 0)

    return Tracker(metrics, _artifact(lambda path: client.log_artifact(run_id, path)))


def _artifact(log: Optional[Callable[[str], Any]]) -> Callable[[str, str, Optional[int]], Any]:
    return lambda page, markdown, step: log(page) if log is not None else None


def _wandb_page(run: Any) -> Callable[[str, str, Optional[int]], Any]:
    def log(page: str, markdown: str, step: Optional[int]) -> None:
        import wandb

        with open(page, encoding="utf-8") as file:
            run.log({"headroom": wandb.Html(file, inject=False)}, step=step)

    return log
