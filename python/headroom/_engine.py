"""The engine: the classes behind the package, over the functions of python/src/engine.h. Private: use `headroom`.

ctypes calls the functions, so one library serves every Python and every NumPy, and each call releases the GIL. Arrays
are read-only views of the engine's memory and keep it alive.
"""

from __future__ import annotations

import ctypes
import json
import math
import pathlib
import sys
import threading
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_int64, c_void_p
from operator import index
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Tuple

from headroom._errors import DoesNotApply, TraceError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ColumnSchema = Tuple[str, str, str, bool, str, List[str], str]
"""(name, kind, unit, nullable, refers, words by code, sentence)."""
TableSchema = Tuple[str, str, bool, Optional[int], List[ColumnSchema]]
"""(name, sentence, computed, rows, columns); rows is None for a computed table."""


class _Array(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("rows", c_int64), ("stride", c_int64), ("type", c_char_p), ("owner", c_void_p)]


class _Texts(ctypes.Structure):
    _fields_ = [("codes", _Array), ("bytes", _Array), ("ends", _Array)]


class _Options(ctypes.Structure):
    _fields_ = [
        ("first_step", c_int64),
        ("last_step", c_int64),
        ("rank", c_int64),
        ("measured_step_ms", c_double),
        ("step_marker", c_char_p),
        ("calibration", c_char_p),
        ("has_steps", c_int32),
        ("has_rank", c_int32),
        ("has_measured_step_ms", c_int32),
        ("local_state", c_int32),
    ]


class _Criteria(ctypes.Structure):
    _fields_ = [
        ("kernel", c_char_p),
        ("op", c_char_p),
        ("layer", c_char_p),
        ("phase", c_char_p),
        ("family", c_char_p),
        ("stream", c_int64),
        ("device", c_int64),
        ("step", c_int64),
        ("has_stream", c_int32),
        ("has_device", c_int32),
        ("has_step", c_int32),
        ("where", c_void_p),
        ("where_rows", c_int64),
    ]


_OUT = POINTER(c_void_p)

# Types of the arguments, in the order of engine.h. Each function returns a code.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "trace_open": (c_char_p, _OUT),
    "trace_report": (c_void_p, POINTER(_Options), _OUT),
    "trace_tables": (c_void_p, _OUT),
    "trace_rows": (c_void_p, c_int64, POINTER(c_int64)),
    "trace_column": (c_void_p, c_int64, c_int64, POINTER(_Array)),
    "trace_text_count": (c_void_p, POINTER(c_int64)),
    "trace_texts": (c_void_p, c_void_p, c_int64, POINTER(_Texts)),
    "trace_text_id": (c_void_p, c_char_p, c_int64, POINTER(c_int64)),
    "trace_query": (c_void_p, c_char_p, c_double, c_int64, c_void_p, _OUT),
    "stop_new": (_OUT,),
    "stop": (c_void_p,),
    "query_head": (c_void_p, _OUT),
    "query_column": (c_void_p, c_int64, POINTER(_Array), POINTER(_Array)),
    "query_texts": (c_void_p, POINTER(_Texts)),
    "job_open": (c_void_p, POINTER(_Options), _OUT),
    "job_head": (c_void_p, _OUT),
    "job_column": (c_void_p, c_char_p, c_char_p, POINTER(_Array), POINTER(_Texts), POINTER(c_int32)),
    "job_whatif": (c_void_p, POINTER(c_char_p), c_int64, _OUT),
    "graph_new": (c_void_p, _OUT),
    "graph_copy": (c_void_p, _OUT),
    "graph_reset": (c_void_p,),
    "graph_counts": (c_void_p, POINTER(c_int64)),
    "graph_column": (c_void_p, c_char_p, POINTER(_Array)),
    "graph_select": (c_void_p, POINTER(_Criteria), _OUT),
    "selected": (c_void_p, POINTER(_Array), POINTER(c_int32)),
    "graph_time_ms": (c_void_p, c_void_p, POINTER(c_double)),
    "graph_edit": (c_void_p, c_char_p, c_void_p, c_double, POINTER(c_int64)),
    "graph_insert": (c_void_p, c_void_p, c_int32, c_double, POINTER(c_double), POINTER(c_double), POINTER(_Array)),
    "graph_channel": (c_void_p, c_char_p, c_char_p),
    "graph_insert_transfer": (
        c_void_p,
        c_char_p,
        c_double,
        c_int32,
        POINTER(c_int64),
        c_int64,
        POINTER(c_int64),
        c_int64,
        POINTER(c_int64),
    ),
    "graph_channel_tasks": (c_void_p, c_char_p, POINTER(c_int64)),
    "graph_scale_channel": (c_void_p, c_char_p, c_double),
    "graph_clear_channel": (c_void_p, c_char_p),
    "graph_apply": (c_void_p, c_char_p, _OUT),
    "graph_replay": (c_void_p, _OUT),
    "replay_head": (c_void_p, _OUT),
    "replay_column": (c_void_p, c_char_p, POINTER(_Array), POINTER(_Texts), POINTER(c_int32)),
}

_USAGE, _TRACE, _ENVIRONMENT, _DOES_NOT_APPLY = range(1, 5)
_ERRORS: dict[int, type[Exception]] = {
    _USAGE: ValueError,
    _TRACE: TraceError,
    _ENVIRONMENT: RuntimeError,
    _DOES_NOT_APPLY: DoesNotApply,
}


def _load() -> ctypes.CDLL:
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    path = pathlib.Path(__file__).resolve().parent / f"libheadroom_engine{suffix}"
    if not path.exists():
        raise ModuleNotFoundError(f"{path} does not exist", name="headroom._engine")
    try:
        library = ctypes.CDLL(str(path))
        for name, arguments in _FUNCTIONS.items():
            function = getattr(library, f"headroom_{name}")
            function.argtypes = arguments
            function.restype = ctypes.c_int
    except (OSError, AttributeError) as error:
        raise ImportError(f"{path} cannot be loaded: {error}; install Headroom again") from error
    library.headroom_version.restype = c_char_p
    library.headroom_message.restype = c_char_p
    library.headroom_free.argtypes = (c_void_p,)
    library.headroom_free.restype = None
    library.headroom_text.argtypes = (c_void_p, POINTER(c_int64))
    library.headroom_text.restype = c_void_p
    return library


_library = _load()
__version__: str = _library.headroom_version().decode()


def _call(name: str, *arguments: Any) -> None:
    """Calls a function of the engine. Raises what its code stands for."""
    try:
        code = getattr(_library, f"headroom_{name}")(*arguments)
    except ctypes.ArgumentError as error:
        raise TypeError(str(error)) from None
    if code:
        raise _ERRORS.get(code, RuntimeError)(_library.headroom_message().decode("utf-8", "replace"))


class _Object:
    """Something of the engine, freed with this object."""

    def __init__(self, handle: int | None) -> None:
        self._handle = handle

    def __reduce_ex__(self, protocol: Any) -> Any:
        # copy and pickle would duplicate the handle, which is then freed twice.
        raise TypeError(
            f"{type(self).__name__}: memory of the engine cannot be copied or pickled; load the trace again"
        )

    def __del__(self, free: Callable[[Any], None] = _library.headroom_free) -> None:
        if getattr(self, "_handle", None):
            free(self._handle)


def _made(name: str, *arguments: Any) -> int | None:
    """Calls a function whose last argument receives an object. Returns its handle."""
    out = c_void_p()
    _call(name, *arguments, byref(out))
    return out.value


def _text(name: str, *arguments: Any) -> str:
    """Calls a function whose last argument receives a text."""
    return _text_of(_made(name, *arguments))


def _text_of(handle: int | None) -> str:
    """Returns a text of the engine, and frees it."""
    holder = _Object(handle)
    size = c_int64()
    start = _library.headroom_text(holder._handle, byref(size))
    return ctypes.string_at(start, size.value).decode("utf-8", "replace")


class _Memory(_Object):
    """Memory of the engine, as numpy reads it. An array keeps this object, which keeps the memory."""

    def __init__(self, array: _Array) -> None:
        super().__init__(array.owner)
        self.__array_interface__ = {
            "version": 3,
            "shape": (array.rows,),
            "strides": (array.stride,),
            "typestr": array.type.decode(),
            "data": (array.data, True),  # Read-only.
        }


def _numbers(array: _Array) -> NDArray[Any]:
    import numpy as np

    if not array.rows:
        empty: NDArray[Any] = np.empty(0, array.type.decode())
        empty.flags.writeable = False
        return empty
    return np.asarray(_Memory(array))


def _distinct(texts: _Texts) -> tuple[list[str], NDArray[np.int64]]:
    """Returns the distinct texts, and by row the number of one; -1: no text. Invalid UTF-8 becomes U+FFFD."""
    codes, data, ends = _numbers(texts.codes), _numbers(texts.bytes).tobytes(), _numbers(texts.ends).tolist()
    return [data[begin:end].decode("utf-8", "replace") for begin, end in zip([0, *ends], ends)], codes


def _column(name: str, *arguments: Any) -> NDArray[Any]:
    """Calls a function that writes a column of numbers or of names."""
    import numpy as np

    values, texts, is_text = _Array(), _Texts(), c_int32()
    _call(name, *arguments, byref(values), byref(texts), byref(is_text))
    if not is_text.value:
        return _numbers(values)
    words, codes = _distinct(texts)
    by_code = np.array([*words, None], dtype=object)  # The last one is that of code -1.
    names = by_code[codes]
    names.flags.writeable = False
    return names


def _c_text(what: str, text: str | None) -> bytes | None:
    """Returns a text for C. Raises ValueError for a zero byte, at which C would end it."""
    if text is None:
        return None
    if "\0" in text:
        raise ValueError(f"{what}: contains a zero byte")
    return text.encode("utf-8", "surrogateescape")


def _whole(what: str, number: int | None, bits: int = 64) -> int:
    """Returns a whole number for C, which would cut off its upper bits without a word; 0 for None."""
    number = 0 if number is None else index(number)
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"{what}={number}: requires a whole number of {bits} bits")
    return number


def _options(
    steps: tuple[int, int] | None,
    step_marker: str,
    rank: int | None,
    measured_step_ms: float | None,
    calibration: str,
    local_state: bool,
) -> _Options:
    if steps is not None and not (isinstance(steps, (tuple, list)) and len(steps) == 2):
        raise TypeError(f"steps: requires a pair of numbers (first, last), not {steps!r}")
    first, last = (0, 0) if steps is None else steps
    return _Options(
        first_step=_whole("steps", first),
        last_step=_whole("steps", last),
        rank=_whole("rank", rank),
        measured_step_ms=measured_step_ms or 0,
        step_marker=_c_text("step_marker", step_marker),
        calibration=_c_text("calibration", calibration),
        has_steps=steps is not None,
        has_rank=rank is not None,
        has_measured_step_ms=measured_step_ms is not None,
        local_state=local_state,
    )


class Trace(_Object):
    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(_made("trace_open", _c_text("path", path)))

    def report_json(
        self,
        steps: tuple[int, int] | None,
        step_marker: str,
        rank: int | None,
        measured_step_ms: float | None,
        calibration: str,
        local_state: bool,
    ) -> str:
        options = _options(steps, step_marker, rank, measured_step_ms, calibration, local_state)
        return _text("trace_report", self._handle, byref(options))

    def table_schemas(self) -> list[TableSchema]:
        return [
            (name, sentence, computed, rows, [tuple(column) for column in columns])  # type: ignore[misc]
            for name, sentence, computed, rows, columns in json.loads(_text("trace_tables", self._handle))
        ]

    def table_rows(self, table: int) -> int:
        rows = c_int64()
        _call("trace_rows", self._handle, table, byref(rows))
        return rows.value

    def table_column(self, table: int, column: int) -> NDArray[Any]:
        values = _Array()
        _call("trace_column", self._handle, table, column, byref(values))
        return _numbers(values)

    @property
    def texts(self) -> int:
        texts = c_int64()
        _call("trace_text_count", self._handle, byref(texts))
        return texts.value

    def texts_of(self, ids: NDArray[np.uint32]) -> list[str]:
        import numpy as np

        ids = np.ascontiguousarray(ids, np.uint32)
        texts = _Texts()
        _call("trace_texts", self._handle, ids.ctypes.data, len(ids), byref(texts))
        return _distinct(texts)[0]

    def id_of_text(self, text: bytes) -> int | None:
        found = c_int64()
        _call("trace_text_id", self._handle, text, len(text), byref(found))
        return None if found.value < 0 else found.value

    def query(self, sql: str, timeout_s: float, memory_mb: int) -> QueryRows:
        stop = _Object(_made("stop_new"))
        text = _c_text("SQL", sql)
        memory_mb = _whole("memory_mb", memory_mb)
        done: list[QueryRows | Exception] = []

        def run() -> None:
            try:
                done.append(QueryRows(_made("trace_query", self._handle, text, timeout_s, memory_mb, stop._handle)))
            except Exception as error:
                done.append(error)

        # In a thread of its own: signal handlers (Ctrl-C) run while this one waits, but not inside a call of C.
        worker = threading.Thread(target=run, name="headroom query")
        try:
            worker.start()
            worker.join()
        except BaseException:
            _call("stop", stop._handle)
            if worker.ident is not None:
                worker.join()
            raise
        if isinstance(done[0], Exception):
            raise done[0]
        return done[0]


class QueryRows(_Object):
    _NULL, _INTEGER, _REAL, _TEXT, _BYTES = range(5)

    def __init__(self, handle: int | None) -> None:
        super().__init__(handle)
        head = json.loads(_text("query_head", handle))
        self.names: list[str] = head["names"]
        self.rows: int = head["rows"]
        self._texts: tuple[list[str], list[bytes]] | None = None

    def column(self, column: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Returns (values, nulls): int64 or float64 with bool, or objects (str, bytes, int, float, None) with None.
        `nulls` is None if the column has no nulls.
        """
        import numpy as np

        kinds, payload = _Array(), _Array()
        _call("query_column", self._handle, column, byref(kinds), byref(payload))
        kind, value = _numbers(kinds), _numbers(payload)
        null, integer, real = kind == self._NULL, kind == self._INTEGER, kind == self._REAL
        # A real holds integers up to 2^53 exactly; beyond, a column of both is one of objects.
        mixed = bool(real.any()) and bool(((value[integer] > 1 << 53) | (value[integer] < -1 << 53)).any())
        only_nulls = self.rows > 0 and bool(null.all())
        if mixed or only_nulls or not (null | integer | real).all():
            return self._objects(kind, value), None
        values = value
        if real.any():
            values = np.where(real, value.view(np.float64), value.astype(np.float64))
            values[null] = math.nan
            values.flags.writeable = False
        if not null.any():
            return values, None
        null.flags.writeable = False
        return values, null

    def _objects(self, kind: NDArray[np.uint8], value: NDArray[np.int64]) -> NDArray[Any]:
        import numpy as np

        if self._texts is None:
            found = _Texts()
            _call("query_texts", self._handle, byref(found))
            data, ends = _numbers(found.bytes).tobytes(), _numbers(found.ends).tolist()
            raw = [data[begin:end] for begin, end in zip([0, *ends], ends)]
            self._texts = [text.decode("utf-8", "replace") for text in raw], raw
        texts, raw = self._texts
        cells = np.full(self.rows, None, dtype=object)
        reals = value.view(np.float64)
        for row, (what, number) in enumerate(zip(kind.tolist(), value.tolist())):
            if what == self._TEXT:
                cells[row] = texts[number]
            elif what == self._BYTES:
                cells[row] = raw[number]
            elif what == self._INTEGER:
                cells[row] = number
            elif what == self._REAL:
                cells[row] = float(reals[row])
        cells.flags.writeable = False
        return cells


class Recording(_Object):
    def __init__(
        self,
        trace: Trace,
        steps: tuple[int, int] | None,
        step_marker: str,
        measured_step_ms: float | None,
        calibration: str,
        local_state: bool,
    ) -> None:
        options = _options(steps, step_marker, None, measured_step_ms, calibration, local_state)
        super().__init__(_made("job_open", trace._handle, byref(options)))
        head = json.loads(_text("job_head", self._handle))
        self.step_ms: float = head["step_ms"]
        self.recorded_step_ms: float = head["recorded_step_ms"]
        self.steps: int = head["steps"]
        self.tasks: int = head["tasks"]
        self.edges: int = head["edges"]
        self.calibration: str = head["calibration"]

    def task_column(self, name: str) -> NDArray[Any]:
        return _column("job_column", self._handle, b"tasks", name.encode())

    def edge_column(self, name: str) -> NDArray[Any]:
        return _column("job_column", self._handle, b"edges", name.encode())

    def gradient_column(self, name: str) -> NDArray[np.int64]:
        return _column("job_column", self._handle, b"gradients", name.encode())

    def whatif_json(self, scenarios: Sequence[str]) -> str:
        names = (c_char_p * len(scenarios))(*(_c_text("scenario", name) for name in scenarios))
        return _text("job_whatif", self._handle, names, len(scenarios))


class Selected(_Object):
    def __init__(self, handle: int | None) -> None:
        super().__init__(handle)
        tasks, has_host = _Array(), c_int32()
        _call("selected", handle, byref(tasks), byref(has_host))
        self.tasks: NDArray[np.int64] = _numbers(tasks)
        self.has_host = bool(has_host.value)


class EditableGraph(_Object):
    """One call at a time: edits in two threads must not damage the graph."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(_made("graph_new", recording._handle))
        self._lock = threading.Lock()

    def copy(self) -> EditableGraph:
        twin = object.__new__(EditableGraph)
        with self._lock:
            _Object.__init__(twin, _made("graph_copy", self._handle))
        twin._lock = threading.Lock()
        return twin

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> EditableGraph:
        return self.copy()

    def reset(self) -> None:
        self._call("graph_reset")

    @property
    def counts(self) -> tuple[int, int, int]:
        counts = (c_int64 * 3)()
        self._call("graph_counts", counts)
        return counts[0], counts[1], counts[2]

    def durations_ns(self) -> NDArray[np.int64]:
        return self._column("durations_ns")

    def work_before_ns(self) -> NDArray[np.int64]:
        return self._column("work_before_ns")

    def select(
        self,
        kernel: str | None,
        operator: str | None,
        layer: str | None,
        phase: str | None,
        family: str | None,
        stream: int | None,
        device: int | None,
        step: int | None,
        where: NDArray[np.bool_] | None,
    ) -> Selected:
        import numpy as np

        mask = None
        if where is not None:
            if not isinstance(where, np.ndarray) or where.dtype != bool or where.ndim != 1:
                raise ValueError("where: requires a function of a task, or an array of bool with a value for each task")
            mask = np.ascontiguousarray(where)
        criteria = _Criteria(
            kernel=_c_text("kernel", kernel),
            op=_c_text("operator", operator),
            layer=_c_text("layer", layer),
            phase=_c_text("phase", phase),
            family=_c_text("family", family),
            stream=_whole("stream", stream),
            device=_whole("device", device),
            step=_whole("step", step),
            has_stream=stream is not None,
            has_device=device is not None,
            has_step=step is not None,
            # An empty array may have no memory; the engine must still see that there is a mask.
            where=None if mask is None else (mask.ctypes.data or 1),
            where_rows=0 if mask is None else len(mask),
        )
        return Selected(self._made("graph_select", byref(criteria)))

    def time_ms(self, selected: Selected) -> float:
        ms = c_double()
        self._call("graph_time_ms", selected._handle, byref(ms))
        return ms.value

    def scale(self, selected: Selected, factor: float) -> None:
        self._edit("scale", selected, factor)

    def set_duration(self, selected: Selected, us: float) -> None:
        self._edit("set_duration", selected, us)

    def remove(self, selected: Selected) -> None:
        self._edit("remove", selected)

    def scale_host(self, selected: Selected, factor: float) -> None:
        self._edit("scale_host", selected, factor)

    def remove_waits(self, selected: Selected) -> int:
        return self._edit("remove_waits", selected)

    def insert_before(
        self, selected: Selected, duration_us: float, host_us: float | None, launch_us: float | None
    ) -> NDArray[np.int64]:
        return self._insert(selected, True, duration_us, host_us, launch_us)

    def insert_after(
        self, selected: Selected, duration_us: float, host_us: float | None, launch_us: float | None
    ) -> NDArray[np.int64]:
        return self._insert(selected, False, duration_us, host_us, launch_us)

    def channel(self, name: str, policy: str) -> None:
        self._call("graph_channel", _c_text("name", name), _c_text("policy", policy))

    def insert_transfer(
        self, channel: str, duration_us: float, priority: int, after: Sequence[int], before: Sequence[int]
    ) -> int:
        task = c_int64()
        self._call(
            "graph_insert_transfer",
            _c_text("channel", channel),
            duration_us,
            _whole("priority", priority, 32),
            (c_int64 * len(after))(*(_whole("after", task) for task in after)),
            len(after),
            (c_int64 * len(before))(*(_whole("before", task) for task in before)),
            len(before),
            byref(task),
        )
        return task.value

    def channel_tasks(self, channel: str) -> int:
        tasks = c_int64()
        self._call("graph_channel_tasks", _c_text("channel", channel), byref(tasks))
        return tasks.value

    def scale_channel(self, channel: str, factor: float) -> None:
        self._call("graph_scale_channel", _c_text("channel", channel), factor)

    def clear_channel(self, channel: str) -> None:
        self._call("graph_clear_channel", _c_text("channel", channel))

    def apply(self, scenario: str) -> str:
        return _text_of(self._made("graph_apply", _c_text("scenario", scenario)))

    def replay(self) -> ReplayResult:
        return ReplayResult(self._made("graph_replay"))

    def _column(self, name: str) -> NDArray[Any]:
        values = _Array()
        self._call("graph_column", name.encode(), byref(values))
        return _numbers(values)

    def _edit(self, edit: str, selected: Selected, value: float = 0) -> int:
        count = c_int64()
        self._call("graph_edit", edit.encode(), selected._handle, value, byref(count))
        return count.value

    def _insert(
        self, selected: Selected, before: bool, duration_us: float, host_us: float | None, launch_us: float | None
    ) -> NDArray[np.int64]:
        tasks = _Array()
        given = [None if us is None else byref(c_double(us)) for us in (host_us, launch_us)]
        self._call("graph_insert", selected._handle, before, duration_us, *given, byref(tasks))
        return _numbers(tasks)

    def _call(self, name: str, *arguments: Any) -> None:
        with self._lock:
            _call(name, self._handle, *arguments)

    def _made(self, name: str, *arguments: Any) -> int | None:
        with self._lock:
            return _made(name, self._handle, *arguments)


class ReplayResult(_Object):
    def __init__(self, handle: int | None) -> None:
        super().__init__(handle)
        head = json.loads(_text("replay_head", handle))
        self.step_ms: float = head["step_ms"]
        self.step_walls_ms: list[float] = head["step_walls_ms"]
        self.settled: bool = head["settled"]

    def starts_ns(self) -> NDArray[np.int64]:
        return self._column("starts_ns")

    def ends_ns(self) -> NDArray[np.int64]:
        return self._column("ends_ns")

    def path_tasks(self) -> NDArray[np.int64]:
        return self._column("path_tasks")

    def path_lags_ns(self) -> NDArray[np.int64]:
        return self._column("path_lags_ns")

    def path_runs_ns(self) -> NDArray[np.int64]:
        return self._column("path_runs_ns")

    def path_edges(self) -> NDArray[np.object_]:
        return self._column("path_edges")

    def _column(self, name: str) -> NDArray[Any]:
        return _column("replay_column", self._handle, name.encode())
