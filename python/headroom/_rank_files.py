"""Saves the timers of each rank and merges the files: headroom.timer.save() and merge()."""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from typing import Any, Dict, Iterable, Optional, Tuple, Union

from headroom import _timer

SCHEMA = "headroom.timer/1"

# Variables of launchers, innermost first: an mpirun inside a Slurm job sets its own ranks.
_RANK_VARIABLES = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


def rank_of(rank: Optional[int]) -> Tuple[int, Optional[int]]:
    """Returns this process's rank and the world size."""
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return (distributed.get_rank() if rank is None else rank, distributed.get_world_size())
    for mine, all_of_them in _RANK_VARIABLES:
        if os.environ.get(mine, "").isdigit():
            size = os.environ.get(all_of_them, "")
            return (int(os.environ[mine]) if rank is None else rank, int(size) if size.isdigit() else None)
    return (rank or 0, None)


def write_json(
    filename: Union[str, "os.PathLike[str]"],
    rank: Optional[int],
    keys: Optional[Dict[str, Any]],
    gpu_keys: Optional[Dict[str, Any]],
) -> str:
    rank, size = rank_of(rank)
    path = os.fspath(filename).replace("{rank}", str(rank))
    drops = {
        what: getattr(_timer.drops(), what) for what in ("ring", "threads", "depth", "names", "unmatched", "statistics")
    }
    content = {"schema": SCHEMA, "rank": rank, "world_size": size, "keys": keys, "gpu_keys": gpu_keys, "drops": drops}
    # Writes the file atomically. Never replaces an existing file.
    handle, draft = tempfile.mkstemp(prefix=".headroom-", dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
        os.link(draft, path)
    finally:
        os.unlink(draft)
    return path


def save(filename: Union[str, "os.PathLike[str]"], rank: Optional[int] = None) -> str:
    """Writes the statistics of all regions of this process (`headroom.scope`, timers, `headroom.torch`) for merge().

    filename, rank, result and errors: as for Timer.save_json().
    """
    keys = {}
    for key in _timer.keys():
        stats = _timer.stats(key)
        if stats.count:
            keys[key] = {
                "count": stats.count,
                "total_s": stats.total_s,
                "self_s": stats.self_s,
                "min_s": stats.min_s,
                "mean_s": stats.mean_s,
                "p50_s": stats.p50_s,
                "p90_s": stats.p90_s,
                "p99_s": stats.p99_s,
                "max_s": stats.max_s,
                "stdev_s": stats.stdev_s,
            }
    return write_json(filename, rank, keys, None)


def _spread(values: Iterable[float]) -> Dict[str, float]:
    values = list(values)
    return {"min": min(values), "mean": statistics.fmean(values), "max": max(values)}


def merge(files: Iterable[Union[str, "os.PathLike[str]"]]) -> Dict[str, Any]:
    """Merges the statistics of a job's ranks, from one file per rank of save() or Timer.save_json().

    Returns a dict (headroom.timer.merged/1):
    - `ranks`: the rank numbers.
    - `keys`: for each key `count`, `total_s` and `mean_s`, each as {min, mean, max} over the ranks that have the key;
      `ranks`, the number of those ranks; `slowest_rank`, the rank with the longest total.
    - `gpu_keys`: the same for GPU time.
    - `communication_share`, {min, mean, max, of}: the share of the steps spent in COMM. On each rank it is
      total(COMM) / total(BATCH), or total(COMM) / total(STEP) without BATCH. None if no rank has both regions.

    Raises ValueError if a file has another format, or if two files belong to the same rank.
    """
    ranks: Dict[int, Dict[str, Any]] = {}
    names: Dict[int, str] = {}
    for file in files:
        path = os.fspath(file)
        with open(path, encoding="utf-8") as opened:
            try:
                content = json.load(opened)
            except ValueError as error:
                raise ValueError(f"{path}: not JSON ({error})") from None
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            raise ValueError(f"{path}: not a file of headroom.timer.save() ({SCHEMA})")
        rank = content["rank"]
        if rank in ranks:
            raise ValueError(
                f"{path} and {names[rank]} both belong to rank {rank}; save one file per rank (`{{rank}}` in its name)"
            )
        ranks[rank], names[rank] = content, path
    if not ranks:
        raise ValueError("no files to merge")

    def merged(block: str) -> Dict[str, Any]:
        by_key: Dict[str, Dict[int, Dict[str, float]]] = {}
        for rank in sorted(ranks):
            for key, stats in (ranks[rank][block] or {}).items():
                by_key.setdefault(key, {})[rank] = stats
        return {
            key: {
                **{field: _spread(stats[field] for stats in of.values()) for field in ("count", "total_s", "mean_s")},
                "ranks": len(of),
                "slowest_rank": max(of, key=lambda rank: of[rank]["total_s"]),
            }
            for key, of in by_key.items()
        }

    share: Optional[Dict[str, Any]] = None
    for step in ("BATCH", "STEP", "train_batch"):
        shares = [
            content["keys"]["COMM"]["total_s"] / content["keys"][step]["total_s"]
            for content in ranks.values()
            if {"COMM", step} <= set(content["keys"] or {}) and content["keys"][step]["total_s"] > 0
        ]
        if shares:
            share = {**_spread(shares), "of": step}
            break
    return {
        "schema": "headroom.timer.merged/1",
        "ranks": sorted(ranks),
        "keys": merged("keys"),
        "gpu_keys": merged("gpu_keys"),
        "communication_share": share,
    }
