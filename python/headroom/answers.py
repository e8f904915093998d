"""The commands predict, scale, diff, data and slice as functions.

Each runs the installed program in a child process and returns the command line's figures and messages. A trace too
large for memory ends only that process. Other keywords are flags: `total_steps=90000` is `--total-steps 90000`
(docs/commands.md).
"""

from __future__ import annotations

import collections.abc
import pathlib
from typing import TYPE_CHECKING, Any, Iterable, Sequence, Union

from headroom import _program
from headroom.results import Comparison, Loading, Prediction, Scaling

if TYPE_CHECKING:
    import os

    from headroom._trace_file import TraceFile

    Traces = Union[str, "os.PathLike[str]", TraceFile, Iterable[Union[str, "os.PathLike[str]", TraceFile]]]
    Table = Any  # A path or a pandas.DataFrame.


def _joined(words: object) -> str:
    if isinstance(words, str) or not isinstance(words, collections.abc.Iterable):
        return str(words)
    return ",".join(map(str, words))


def predict(trace: Traces = (), *, gpu: str | Sequence[str] = (), ops: Table = None, **flags: Any) -> Prediction:
    """Returns step time, memory, energy and cost of the job on other GPUs (headroom.predict/1, docs/predict.md).

    trace: path of a trace, a loaded trace, or several
    gpu: names of GPUs, such as "H100" or ["A100-80", "L4"]; default: as on the command line
    ops: instead of a trace, an operator list: a path, or a DataFrame with the columns of docs/predict.md

    Raises ValueError for an unknown GPU or flag, TraceError for an unreadable file.
    """
    with _program.as_file(ops) as listed:
        asked = {"gpu": _joined(gpu) or None, "ops": listed, **flags}
        return Prediction(_program.ask("predict", _program.paths_of(trace), asked))


def predict_kernels(table: Table, *, source: str, target: str, **flags: Any) -> Any:
    """Returns a DataFrame: the measured kernels with one more column, `predicted_ms`, the latency on the target GPU.

    table: a path of a CSV file, or a DataFrame; docs/predict.md has its columns
    source, target: the GPU of the measurements, and the GPU to predict
    """
    import tempfile

    from headroom.arrays import pandas

    pd = pandas()
    with _program.as_file(table) as kernels, tempfile.TemporaryDirectory(prefix="headroom-") as folder:
        out = pathlib.Path(folder) / "predicted.csv"
        _program.run("predict", (), {"kernels": kernels, "from": source, "to": target, "output": out, **flags})
        return pd.read_csv(out)


def scale(
    trace: Traces,
    *,
    gpus: int | str | Sequence[int | str] = (),
    cluster: str | Sequence[str] | None = None,
    **flags: Any,
) -> Scaling:
    """Returns step time and efficiency with more GPUs (headroom.scale/1, docs/scale.md).

    gpus: numbers of GPUs, or machines x GPUs: [1, 2, 8, "4x8"]; default: as on the command line
    cluster: names of clusters (data/clusters) or files; `bandwidth_gbps=` describes a link instead
    """
    asked = {"gpus": _joined(gpus) or None, **flags}
    if cluster is not None:
        asked["cluster"] = _joined(cluster)
    return Scaling(_program.ask("scale", _program.paths_of(trace), asked))


def diff(a: Traces, b: Traces, *, gate: str | Sequence[str] = (), **flags: Any) -> Comparison:
    """Returns what changed from run A to run B (headroom.diff/1, docs/diff.md).

    a, b: a trace each; a list of traces holds repeated runs of one job, which show the noise
    gate: rules such as "step_ms<=+3%"; a failed rule raises nothing and is in `.gate`

    Raises ValueError for a rule that matches nothing.
    """
    runs_a, runs_b = _program.paths_of(a), _program.paths_of(b)
    if not runs_a or not runs_b:
        raise ValueError("diff: requires a trace for each of a and b")
    (first, *also_a), (second, *also_b) = runs_a, runs_b
    rules = [gate] if isinstance(gate, str) else list(gate)
    asked = {"also_a": also_a, "also_b": also_b, "gate": rules, **flags}
    return Comparison(_program.ask("diff", (first, second), asked))


def data(trace: Traces, changes: str | Sequence[str] = (), **flags: Any) -> Loading:
    """Returns what limits the input pipeline, and which settings would help (headroom.data/1, docs/data.md).

    changes: settings to forecast, such as "workers=8,prefetch=4"
    """
    settings = [changes] if isinstance(changes, str) else list(changes)
    return Loading(_program.ask("data", [*_program.paths_of(trace), *settings], flags))


def slice(trace: Traces, output: str | os.PathLike[str], **flags: Any) -> pathlib.Path:
    """Writes a part of a trace to `output` and returns its path (docs/export.md).

    steps=(5, 6), time=(120, 180) in ms after the first event, or rank=3; the file extension selects the format.
    """
    _program.run("slice", _program.paths_of(trace), {"output": output, "quiet": True, **flags})
    return pathlib.Path(output)
