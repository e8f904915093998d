"""Regions around the phases of PyTorch's classes: fetch, forward, loss, backward, update, copies. Private.

headroom.torch (while a loop runs) and `headroom record` (the whole program) use it. Patches methods of PyTorch's own
classes and of a loader's transforms, never of a user's objects. Models and optimizers can therefore be copied, pickled
and saved. A region also ends when an exception leaves it. A region begins only if none of its key is open on the
thread. Only the outermost call counts, and a region that the program itself times under the same key is not timed
twice. Names are those that `headroom report` knows from PyTorch's profiler or from Determined.
"""

from __future__ import annotations

import atexit
import functools
import os
import platform
import sys
import threading
import weakref
from typing import Any, Callable, Dict, Iterator, List, NoReturn, Optional, Set, Tuple

from headroom import _beside_loop, _communication, _loader, _probe, _timer, _trainers
from headroom._loader import Function, Maker

FETCH = _timer.Scope("dataloader_next")
LOADER_START = _timer.Scope("dataloader_start")
FORWARD = _timer.Scope("FORWARD")
EVALUATE = _timer.Scope("evaluate")
LOSS = _timer.Scope("loss")
BACKWARD = _timer.Scope("BACKWARD")
SCHEDULER = _timer.Scope("step_lr_schedulers")
TO_DEVICE = _timer.Scope("to_device")
FROM_DEVICE = _timer.Scope("from_device")

end = _timer.end

layers: Dict[int, _timer.Scope] = {}  # id(module) -> Scope, of models attached by the user.
losses: Set[int] = set()  # id(module)
_replaced: List[Tuple[Any, str, Any]] = []  # (owner, name, its own attribute, or _INHERITED)
_INHERITED = object()
_lock = threading.RLock()
_users = 0
_loops = 0  # Loops that mark their steps themselves.


class Steps(threading.local):
    """Detects training steps without seeing the loop; one state machine per thread.

    A step begins where the previous update ended, so it contains the wait for its batch. It ends with an update.
    Backward passes in between are gradient accumulation. If several optimizers take turns, the one that ended the last
    step ends the next. Evaluations are not steps. Marks a step without a backward pass as empty in two cases:

    - The loader is exhausted.
    - A batch arrives, and the previous batch ran only a forward pass without gradients.
    """

    def __init__(self) -> None:
        self.token = 0
        self.worked = False  # A backward pass or an update happened.
        self.evaluated = False  # Since the last fetch, every forward pass ran without gradients, and at least one ran.
        self.iterator: Optional[weakref.ref[Any]] = None  # Weak: the iterator of the last fetch.
        self.evaluating: weakref.WeakSet[Any] = weakref.WeakSet()  # Iterators that serve an evaluation.
        self.leader: Optional[weakref.ref[Any]] = None  # Weak: the optimizer that ended the last step.
        self.others = 0  # Updates by other optimizers since the last step ended.
        self.updates = 0  # Number of updates by all optimizers.

    @staticmethod
    def wanted() -> bool:
        return _loops == 0 and _timer.user_steps() == 0 and not _probe.running

    def begin(self) -> None:
        if self.token == 0 and self.wanted():
            self.token = _timer.begin_step()
        self.worked = self.evaluated = False

    def close(self) -> None:
        end(self.token)
        self.token = 0

    def cancel(self) -> None:
        _timer.cancel_step(self.token)
        self.token = 0

    def _was_evaluation(self) -> None:
        iterator = self.iterator() if self.iterator is not None else None
        if iterator is not None:
            self.evaluating.add(iterator)

    def on_fetch(self, iterator: Any) -> None:
        if self.evaluated and not self.worked:
            self._was_evaluation()
            self.cancel()
        elif self.token and not self.wanted():
            self.cancel()  # The program now marks its steps itself.
        self.evaluated = False
        self.iterator = weakref.ref(iterator)
        if not self.token and iterator not in self.evaluating:
            self.begin()

    def on_exhausted(self) -> None:
        if self.worked:
            return
        if self.evaluated:
            self._was_evaluation()
        self.cancel()

    def on_forward(self, trains: bool) -> None:
        self.evaluated = not trains
        if trains and not self.token:
            self.begin()

    def on_backward(self) -> None:
        if not self.token:
            self.begin()
        self.worked = True

    def on_update(self, optimizer: Any) -> None:
        self.updates += 1
        leader = self.leader() if self.leader is not None else None
        if leader is not None and leader is not optimizer:
            self.others += 1
            if self.others < 2:
                self.worked = True
                return
        self.leader = weakref.ref(optimizer)
        self.others = 0
        if self.wanted():
            self.close()
            self.begin()
        else:
            self.cancel()


steps = Steps()
# The open step belongs to the parent.
os.register_at_fork(after_in_child=lambda: steps.__init__())  # type: ignore[misc]


def replace(owner: Any, name: str, make: Maker) -> None:
    """Replaces owner.name with make(original). restore() undoes it."""
    original = getattr(owner, name, None)
    if original is None:
        return
    had = vars(owner).get(name, _INHERITED)
    setattr(owner, name, make(original))  # Fails for a class written in C.
    _replaced.append((owner, name, had))


def forget_layer(module_id: int) -> None:
    layers.pop(module_id, None)


def timed(scope: _timer.Scope) -> Maker:
    """Returns a maker for replace() that times each call as a region."""
    begin = scope.begin_outermost

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            token = begin()
            try:
                return original(*args, **kwargs)
            finally:
                end(token)

        return wrapper

    return make


# --- patched methods ---


def _make_next(original: Function) -> Callable[[Any], Any]:
    begin = FETCH.begin_outermost

    def fetch(self: Any) -> Any:
        steps.on_fetch(self)
        known = hasattr(self, "_headroom_cpu")  # True for an iterator of PyTorch that was made after install().
        token = begin()
        cpu = _loader.before_next(self) if known else 0
        try:
            return original(self)
        except StopIteration:
            if known:
                _loader.mark("loader.exhausted")
            end(token)  # Must precede the end of the step.
            token = 0
            steps.on_exhausted()
            raise
        except Exception:
            if known:
                try:
                    _loader.on_failure(self)
                except Exception:
                    pass
            raise
        finally:
            if known:
                _loader.after_next(self, cpu)
            end(token)

    @functools.wraps(original)
    def __next__(self: Any) -> Any:
        probe = _probe.current
        if probe is None or not hasattr(self, "_headroom_cpu"):
            return fetch(self)
        return probe.next(self, fetch)

    return __next__


def _make_call(torch: Any) -> Maker:
    grad_enabled = torch.is_grad_enabled
    is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None)
    kinds: Dict[type, bool] = {}  # Class -> True if it is a loss.
    inside_forward, in_fetch, begin_loss = FORWARD.is_open, FETCH.is_open, LOSS.begin_outermost
    worker_info = torch.utils.data.get_worker_info

    def is_loss(module: Any) -> bool:
        kinds[type(module)] = found = isinstance(module, torch.nn.modules.loss._Loss)
        return found

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling is not None and is_compiling():
                return original(self, *args, **kwargs)
            layer = layers.get(id(self)) if layers else None
            kind = kinds.get(type(self))
            loss = is_loss(self) if kind is None else kind
            if loss or id(self) in losses:
                token = begin_loss()
                try:
                    return original(self, *args, **kwargs)
                finally:
                    end(token)
            # A loader's transform may be a module too, in the loop's process or in a worker.
            if in_fetch() or worker_info() is not None:
                stage = _loader.stages.get(id(self))
                if stage is not None:
                    return _loader._call_stage(stage, original, self, *args, **kwargs)
                return original(self, *args, **kwargs)
            if inside_forward():
                if layer is None:
                    return original(self, *args, **kwargs)
                token = layer.begin()
                try:
                    return original(self, *args, **kwargs)
                finally:
                    end(token)
            trains = grad_enabled() and self.training
            steps.on_forward(trains)
            outer = 0 if trains else EVALUATE.begin_outermost()
            token = FORWARD.begin()
            inner = layer.begin() if layer is not None else 0
            try:
                return original(self, *args, **kwargs)
            finally:
                end(inner)
                end(token)
                end(outer)

        return __call__

    return make


def _make_backward(torch: Any) -> Maker:
    begin = BACKWARD.begin_outermost
    # Returns the id of the backward pass that this thread of the autograd engine runs (checkpointing); -1 on other
    # threads.
    current_pass = getattr(torch._C, "_current_graph_task_id", lambda: -1)

    def make(original: Function) -> Function:
        @functools.wraps(original)
        def backward(*args: Any, **kwargs: Any) -> Any:
            if current_pass() != -1:
                return original(*args, **kwargs)
            steps.on_backward()
            token = begin()
            try:
                return original(*args, **kwargs)
            finally:
                end(token)

        return backward

    return make


_update_scopes: Dict[
    type, _timer.Scope
] = {}  # By class. If a step() calls the step() of its base class, the two count as one call.


def timed_update(original: Function) -> Function:
    """Returns a maker for the step() of an optimizer class."""

    @functools.wraps(original)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        cls = type(self)
        scope = _update_scopes.get(cls)
        if scope is None:
            scope = _update_scopes[cls] = _timer.Scope(f"Optimizer.step#{cls.__name__}.step")
        token = scope.begin_outermost()
        try:
            result = original(self, *args, **kwargs)
        finally:
            end(token)
        if token:
            steps.on_update(self)
        return result

    step._headroom = True  # type: ignore[attr-defined]
    return step


def _time_updates_of(cls: type) -> None:
    # PyTorch wraps step() of a class for its profiler when the program makes the first object, and marks the class. A
    # patch outside that wrapper can be undone without undoing the wrapper.
    step = vars(cls).get("step")
    if getattr(step, "hooked", False) and not getattr(step, "_headroom", False):
        replace(cls, "step", timed_update)


def _subclasses(cls: type) -> Iterator[type]:
    for sub in cls.__subclasses__():
        yield sub
        yield from _subclasses(sub)


@functools.lru_cache(maxsize=None)  # Runs once.
def _tell_versions() -> None:
    """Marks the software versions in the form that recordings expect. Only a process that trains marks them: loader
    workers load the same modules, and their marks would create extra recordings.
    """
    torch = sys.modules["torch"]
    versions = {
        "python": platform.python_version(),
        "pytorch": torch.__version__,
        "cuda": getattr(torch.version, "cuda", None),
        "hip": getattr(torch.version, "hip", None),
    }
    for name, version in versions.items():
        if version:
            _timer.mark(f"headroom.version {name} {version}")


def _make_optimizer_init(original: Function) -> Function:
    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        _tell_versions()
        for cls in type(self).__mro__:
            _time_updates_of(cls)

    return __init__


def _make_zero_grad(original: Function) -> Function:
    scopes: Dict[type, _timer.Scope] = {}

    @functools.wraps(original)
    def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        cls = type(self)
        scope = scopes.get(cls)
        if scope is None:
            scope = scopes[cls] = _timer.Scope(f"Optimizer.zero_grad#{cls.__name__}.zero_grad")
        token = scope.begin_outermost()
        try:
            return original(self, *args, **kwargs)
        finally:
            end(token)

    return zero_grad


def _target(torch: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Optional[str]:
    """Returns the kind of device that Tensor.to() is called with ("cpu", "cuda", ...); None: no device."""
    wish: Any = kwargs.get("device")
    kind: str
    if wish is None and args:
        wish = args[0]
    if isinstance(wish, str):
        return wish.partition(":")[0]
    if isinstance(wish, torch.device):
        kind = wish.type
        return kind
    if isinstance(wish, torch.Tensor):
        kind = wish.device.type
        return kind
    return "cuda" if isinstance(wish, int) and not isinstance(wish, bool) else None


def _make_to(torch: Any) -> Maker:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def to(self: Any, *args: Any, **kwargs: Any) -> Any:
            target = _target(torch, args, kwargs)
            here = self.device.type
            if target is None or target == here or "cpu" not in (target, here):
                return original(self, *args, **kwargs)
            token = (TO_DEVICE if here == "cpu" else FROM_DEVICE).begin_outermost()
            try:
                return original(self, *args, **kwargs)
            finally:
                end(token)

        return to

    return make


def _make_copy(scope: _timer.Scope, from_cpu: bool) -> Maker:
    def make(original: Function) -> Function:
        @functools.wraps(original)
        def copy(self: Any, *args: Any, **kwargs: Any) -> Any:
            if (self.device.type == "cpu") != from_cpu:
                return original(self, *args, **kwargs)
            token = scope.begin_outermost()
            try:
                return original(self, *args, **kwargs)
            finally:
                end(token)

        return copy

    return make


def install(torch: Any) -> None:
    """Patches PyTorch's methods for the first caller. restore() undoes it after the last caller."""
    global _users
    with _lock:
        _users += 1
        if _users > 1 or not _timer.enabled():
            return
        data = torch.utils.data
        replace(data.dataloader._BaseDataLoaderIter, "__next__", _make_next)
        replace(data.DataLoader, "__iter__", timed(LOADER_START))
        _loader.install(torch, replace)
        replace(torch.nn.Module, "__call__", _make_call(torch))
        replace(torch.autograd, "backward", _make_backward(torch))  # Tensor.backward calls it.
        optimizer = torch.optim.Optimizer
        replace(optimizer, "__init__", _make_optimizer_init)
        replace(optimizer, "zero_grad", _make_zero_grad)
        for cls in _subclasses(optimizer):
            _time_updates_of(cls)
        schedulers = torch.optim.lr_scheduler
        for cls in {
            cls for cls in vars(schedulers).values() if isinstance(cls, type) and cls.__module__ == schedulers.__name__
        }:
            if "step" in vars(cls):
                replace(cls, "step", timed(SCHEDULER))
        replace(torch.Tensor, "to", _make_to(torch))
        replace(torch.Tensor, "cuda", _make_copy(TO_DEVICE, True))
        replace(torch.Tensor, "cpu", _make_copy(FROM_DEVICE, False))
        replace(torch.Tensor, "item", _make_copy(FROM_DEVICE, False))
        _communication.install(torch, replace, timed)


def restore() -> None:
    """Undoes install() once its last user calls this."""
    global _users
    with _lock:
        _users -= 1
        if _users > 0:
            return
        while _replaced:
            owner, name, original = _replaced.pop()
            try:
                if original is _INHERITED:
                    delattr(owner, name)
                else:
                    setattr(owner, name, original)
            except (AttributeError, TypeError):  # Changed by other code; restore the others.
                pass
        _loader.uninstall()


class own_steps:
    """Context in which a loop marks its steps itself."""

    def __enter__(self) -> None:
        global _loops
        steps.cancel()
        with _lock:
            _loops += 1

    def __exit__(self, *error: Any) -> None:
        global _loops
        with _lock:
            _loops -= 1


def inject(torch: Any) -> None:
    """Times the whole program from now on: `headroom record`."""
    install(torch)
    if _timer.enabled():
        _beside_loop.install(torch, _trainers.Tools(replace, timed, timed_update))
    if os.environ.get("HEADROOM_PROBE_INPUT"):
        _probe.begin(
            torch, lambda iterator: None if iterator in steps.evaluating or steps.updates == 0 else steps.updates
        )
    atexit.register(lambda: steps.cancel())  # Work after the last update is not a step.
    _flush_gpu_work_before_os_exit()


def _flush_gpu_work_before_os_exit() -> None:
    """Makes os._exit() write the last GPU work first. Processes of multiprocessing end with it, and exit handlers do
    not run.
    """
    path = os.environ.get("CUDA_INJECTION64_PATH", "")
    if os.path.basename(path) != "libheadroom_cupti.so":
        return
    original = os._exit

    @functools.wraps(original)
    def _exit(status: int) -> NoReturn:
        try:
            import ctypes

            # Fails if the driver has not loaded it.
            ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW).headroom_cupti_flush()
        except (AttributeError, ImportError, OSError):
            pass
        original(status)

    os._exit = _exit
