"""GPU times from CUDA or HIP events on PyTorch's current stream, for headroom.timer and headroom.torch."""

from __future__ import annotations

import collections
import ctypes
import os
import threading
from typing import Any, Dict, List

HIP_LIBRARIES = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"]
MOST_EVENTS = 4096  # Two for each region whose time is still unknown.


class CaptureGoesOn:
    """Context that queries events while another thread may be capturing a graph. Unless the querying thread is in
    relaxed mode, CUDA and HIP refuse the query and end the capture.
    """

    RELAXED = 2

    def __init__(self) -> None:
        self._exchange: Any = None
        self._sought = False

    def _seek(self) -> None:
        cuda = [os.environ.get("HEADROOM_CUDA_LIBRARY", "libcuda.so.1")]
        hip = [os.environ["HEADROOM_HIP_LIBRARY"]] if "HEADROOM_HIP_LIBRARY" in os.environ else HIP_LIBRARIES
        for libraries, name in (
            (cuda, "cuThreadExchangeStreamCaptureMode"),
            (hip, "hipThreadExchangeStreamCaptureMode"),
        ):
            for library in libraries:
                try:  # A process with events has already loaded the library; opening it here might load another copy.
                    self._exchange = getattr(ctypes.CDLL(library, mode=os.RTLD_NOLOAD | os.RTLD_NOW), name)
                    self._sought = True
                    return
                except (OSError, AttributeError):
                    pass
        self._sought = True

    @staticmethod
    def _set(exchange: Any, mode: int) -> int:
        holder = ctypes.c_int(mode)
        exchange(ctypes.byref(holder))
        return holder.value

    def __enter__(self) -> None:
        if not self._sought:
            self._seek()
        exchange = self._exchange  # Also used to restore the mode: another thread may set self._exchange meanwhile.
        before = self._set(exchange, self.RELAXED) if exchange is not None else 0
        _modes.__dict__.setdefault("stack", []).append((exchange, before))

    def __exit__(self, *error: Any) -> None:
        exchange, before = _modes.stack.pop()
        if exchange is not None:
            self._set(exchange, before)


_modes = threading.local()  # Per thread: the stack of modes to restore.
capture_goes_on = CaptureGoesOn()


class TorchEvents:
    """A clock of headroom.timer: pooled CUDA (or HIP) events on PyTorch's current stream. Skips a region if the pool is
    exhausted or the stream is being captured into a graph.
    """

    def __init__(self) -> None:
        import torch

        self._cuda = torch.cuda
        self._free: Dict[int, List[Any]] = collections.defaultdict(list)  # By device: an event belongs to one device.
        self._made = 0
        self._lock = threading.RLock()  # Re-entrant: a garbage collection in here may end a region.

    def _record(self) -> Any:
        try:
            return self._recorded()
        except RuntimeError:  # A GPU error, which the program's next call reports.
            return None

    def _recorded(self) -> Any:
        if self._cuda.is_current_stream_capturing():
            return None
        device = self._cuda.current_device()
        with self._lock:
            if self._free[device]:
                event = self._free[device].pop()[1]
            elif self._made < MOST_EVENTS:
                event = self._cuda.Event(enable_timing=True)
                self._made += 1
            else:
                return None
        try:
            event.record()
        except RuntimeError:
            self.discard((device, event))
            raise
        return (device, event)

    start = end = _record

    def ready(self, end: Any) -> bool:
        with capture_goes_on:
            is_done: bool = end[1].query()
            return is_done

    def wait(self, end: Any) -> None:
        with capture_goes_on:
            end[1].synchronize()

    def get_time(self, start: Any, end: Any) -> float:
        with capture_goes_on:
            milliseconds: float = start[1].elapsed_time(end[1])
            return milliseconds / 1000

    def discard(self, moment: Any) -> None:
        with self._lock:
            self._free[moment[0]].append(moment)
