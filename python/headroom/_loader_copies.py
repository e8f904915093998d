"""Copies of a program's loader with another number of workers, or with chosen samples. Private."""

from __future__ import annotations

from typing import Any, Dict, Sequence


def _settings(loader: Any, workers: int) -> Dict[str, Any]:
    """Returns the arguments of an identical loader with `workers` workers, except those that choose samples."""
    keep = {
        name: getattr(loader, name) for name in ("collate_fn", "pin_memory", "timeout", "worker_init_fn", "generator")
    }
    keep["num_workers"] = workers
    if workers == 0:
        keep["timeout"] = 0
    elif loader.multiprocessing_context is not None:
        keep["multiprocessing_context"] = loader.multiprocessing_context
    if workers > 0 and loader.num_workers > 0:
        keep["prefetch_factor"] = loader.prefetch_factor
    return keep


def with_workers(torch: Any, loader: Any, workers: int) -> Any:
    """Returns an identical loader with another number of workers."""
    keep = _settings(loader, workers)
    if loader.batch_sampler is not None and not isinstance(loader.dataset, torch.utils.data.IterableDataset):
        keep["batch_sampler"] = loader.batch_sampler
    else:
        keep.update(batch_size=loader.batch_size, drop_last=loader.drop_last)
    return torch.utils.data.DataLoader(loader.dataset, **keep)


def of_samples(torch: Any, loader: Any, indices: Sequence[Any]) -> Any:
    """Returns an identical loader of a map-style dataset that serves only these batches. Each is a list of indices, or
    one index if the loader makes no batches.
    """
    keep = _settings(loader, loader.num_workers)
    if loader.batch_sampler is not None:
        keep["batch_sampler"] = indices
    else:
        keep.update(batch_size=None, sampler=indices)
    return torch.utils.data.DataLoader(loader.dataset, **keep)
