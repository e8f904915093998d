"""Lists the operators of a PyTorch module with their shapes, for `headroom predict --ops`; needs no GPU and no memory.

    from headroom.operators import list_operators

    list_operators(model, torch.empty(8, 3, 224, 224), train=True).write("ops.csv")

    headroom ops model.py:build -o ops.csv --train

The module runs once on PyTorch's meta device, which computes shapes and no numbers. Its own parameters stay unchanged.
docs/predict.md has the format of the list.
"""

from __future__ import annotations

import argparse
import copy
import csv
import json
import math
import pathlib
import runpy
import sys
import unittest.mock
from typing import Any, Callable, Iterable, Sequence

try:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
except ImportError as error:
    if __name__ == "__main__":
        sys.exit(f"headroom ops: {sys.executable} lacks PyTorch 1.13 or later ({error}); choose another with --python")
    raise

COLUMNS = ("model", "mode", "batch", "op", "name", "repeat", "fw", "bw", "acc", "inputs", "output", "dtype")

# Elementwise operators of two tensors that `predict --ops` knows.
_OF_TWO = {"add", "sub", "mul", "div", "pow", "eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum"}
# Operators that read and write memory, but are not elementwise.
_MOVES = {
    "cat",
    "copy",
    "clone",
    "constant_pad_nd",
    "flip",
    "gather",
    "index",
    "index_select",
    "repeat",
    "roll",
    "stack",
}
# Kinds of the optimizer's update, by the name that the user gives.
_UPDATES = {
    "sgd": "SGD",
    "sgd-momentum": "SGD_MOMENTUM",
    "adamw": "ADAMW",
    "fused-sgd": "FUSED_SGD",
    "fused-sgd-momentum": "FUSED_SGD_MOMENTUM",
    "fused-adamw": "FUSED_ADAMW",
}
# Names of `predict --ops` for types; other types count as float32, which --with may change.
_TYPES = {torch.float16: "fp16", torch.bfloat16: "bf16"}
# Operators without work on a GPU.
_FREE = {
    "_to_copy",
    "_unsafe_view",
    "as_strided_",
    "detach",
    "empty",
    "empty_like",
    "empty_strided",
    "lift_fresh",
    "new_empty",
}


class NotOnMeta(RuntimeError):
    """A module cannot run on the meta device, e.g. because its control flow depends on values of tensors."""


class OperatorList:
    """The operators of one forward, of its backward, and of the optimizer's update.

    Attributes:
        rows: one dict per operator, with the columns of `predict --ops`
    """

    def __init__(self, rows: list[dict[str, str]]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def write(self, path: str | pathlib.Path) -> None:
        """Writes the list as CSV. Raises OSError if the file cannot be written."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(self.rows)


def _tensors(values: Iterable[Any]) -> list[torch.Tensor]:
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors(value)
        elif isinstance(value, dict):  # Results of Transformers are dicts.
            found += _tensors(value.values())
    return found


def _gradients(args: Sequence[Any]) -> list[torch.Tensor | None]:
    """Returns the results of convolution_backward: the gradients of input, weight and bias, as its mask wants them."""
    gradient, image, weight, mask = args[0], args[1], args[2], args[10]
    like = (image, weight, gradient.new_empty(gradient.shape[1]))
    return [torch.empty_like(one) if wanted else None for one, wanted in zip(like, mask)]


def _rows_and_columns(shape: Sequence[int]) -> list[int]:
    columns = shape[-1] if shape else 1
    return [max(1, math.prod(shape)) // max(1, columns), max(1, columns)]


def _pairs(value: Sequence[int], rank: int) -> list[int]:
    return list(value) if len(value) == rank else [value[0]] * rank


def _convolution(kind_of: dict[str, Any]) -> list[Any]:
    """Returns [kind, dimensions] of a convolution."""
    shape, weight, groups = kind_of["input"], kind_of["weight"], kind_of["groups"]
    rank = len(weight) - 2
    transposed = kind_of["transposed"]
    channels = [shape[0], shape[1], weight[1] * groups if transposed else weight[0]]
    parts = [list(weight[2:]), list(shape[2:])]
    stride, padding, dilation = (_pairs(kind_of[name], rank) for name in ("stride", "padding", "dilation"))
    square = rank == 2 and all(part[0] == part[1] for part in (*parts, stride, padding))
    if square and not transposed and dilation == [1, 1]:
        dimensions = channels + [parts[0][0], parts[1][0], stride[0], padding[0]]
        return ["CONV2D", dimensions] if groups == 1 else ["CONV2DG", dimensions + [groups]]
    name = f"CONV{'T' if transposed else ''}{rank}D"
    if name == "CONV2D":
        name = "CONV2DX"
        if groups > 1:  # Counts each group as a convolution of its own.
            channels = [channels[0] * groups, channels[1] // groups, channels[2] // groups]
    dimensions = channels + parts[0] + parts[1] + stride + padding + dilation
    return [name, dimensions if name == "CONV2DX" else dimensions + [groups]]


class _Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Writes down every operator that reaches the device."""

    def __init__(self, name: str, train: bool, batch: int | None) -> None:
        super().__init__()
        self.rows: list[dict[str, str]] = []
        self.backward = False
        self._dtype = ""
        self._common = {
            "model": name,
            "mode": "train" if train else "inf",
            "batch": "" if batch is None else str(batch),
            "repeat": "1",
        }

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = str(func).split(".")[1]
        # PyTorch before 2.0 has no shapes for this one.
        out = _gradients(args) if name == "convolution_backward" else func(*args, **(kwargs or {}))
        is_view = any(value.alias_info and not value.alias_info.is_write for value in func._schema.returns)
        if not is_view and name not in _FREE:
            self._add(name, list(args), out)
        return out

    def row(
        self, op: str, name: str, kernels: list[Any], inputs: Sequence[Any], output: Any, column: str | None = None
    ) -> None:
        """Adds a row of the type of the last tensors. `column` is that of its kernels; by default fw or bw."""
        column = column or ("bw" if self.backward else "fw")
        row = {**self._common, "op": op, "name": name, "fw": "[]", "bw": "[]", "acc": "[]", "dtype": self._dtype}
        row[column] = json.dumps(kernels)
        row["inputs"] = json.dumps([list(shape) for shape in inputs])
        row["output"] = json.dumps(list(output))
        self.rows.append(row)

    def set_type(self, tensors: Sequence[torch.Tensor]) -> None:
        """Sets the type of the next rows: that of the first floating-point tensor."""
        floats = [tensor.dtype for tensor in tensors if tensor.is_floating_point()]
        self._dtype = _TYPES.get(floats[0], "") if floats else ""

    def _add(self, name: str, args: list[Any], out: Any) -> None:
        tensors, results = _tensors(args), _tensors([out])
        if not results:
            return
        self.set_type(tensors or results)
        shape = list(results[0].shape)
        plain = name.rstrip("_")
        if plain in ("mm", "addmm", "bmm", "baddbmm"):
            first, second = tensors[-2], tensors[-1]
            sizes = [*first.shape, second.shape[-1]]
            kind = "Linear" if len(first.shape) == 2 else "BMM"
            # A layer's weight is not among the inputs; a weight as addmm stores it is.
            layer = second.stride()[-2] == 1 and kind == "Linear"
            listed = [first.shape] if layer else [first.shape, second.shape]
            self.row(kind, name, [[kind, sizes]], listed, shape)
        elif plain in ("convolution", "_convolution"):
            described = self._described(args[0].shape, args[1].shape, args[3:])
            kind, dimensions = _convolution(described)
            self.row(kind, "convolution", [[kind, dimensions]], [args[0].shape], shape)
        elif plain == "convolution_backward":
            kind, dimensions = _convolution(self._described(args[1].shape, args[2].shape, args[4:]))
            for wanted, gradient in zip(args[10], ("conv_dgrad", "conv_wgrad")):
                if wanted:
                    self.row(kind, gradient, [[kind, dimensions]], [args[1].shape], args[1].shape)
        else:
            self._add_memory_bound(name, plain, tensors, results, shape)

    @staticmethod
    def _described(shape: Sequence[int], weight: Sequence[int], rest: Sequence[Any]) -> dict[str, Any]:
        stride, padding, dilation, transposed, _output_padding, groups = rest[:6]
        return {
            "input": list(shape),
            "weight": list(weight),
            "stride": stride,
            "padding": padding,
            "dilation": dilation,
            "transposed": transposed,
            "groups": groups,
        }

    def _add_memory_bound(
        self, name: str, plain: str, tensors: list[torch.Tensor], results: list[torch.Tensor], shape: list[int]
    ) -> None:
        inputs = [list(tensor.shape) for tensor in tensors]
        largest = max((*inputs, shape), key=math.prod)
        sizes = _rows_and_columns(largest)
        if self.backward:
            # A list describes the backward by elementwise kernels alone.
            of_two = sum(math.prod(one) == math.prod(largest) for one in inputs) > 1
            kind = "VECadd" if of_two else "VECaddu"
            self.row(kind, name, [[kind, sizes]], inputs[:2], shape)
        elif plain == "bernoulli":
            self.row("VECaddu", name, [["VECaddu", sizes]], inputs[:1], shape)
        elif plain == "native_layer_norm":
            self.row("VECln", name, [["VECln", sizes]], inputs[:1], shape)
        elif plain in ("_softmax", "_log_softmax", "_safe_softmax"):
            self.row("VECsoftmax", name, [["VECsoftmax", sizes]], inputs[:1], shape)
        elif plain == "embedding":
            self.row("EMBEDDING", name, [["MEM", [shape]]], inputs[1:2], shape)
        elif plain == "native_batch_norm" or plain.endswith("_batch_norm"):
            # Statistics read the input once more.
            moved = [inputs[0]] * (2 if self._common["mode"] == "train" else 1) + [shape]
            self.row("MEM", "native_batch_norm", [["MEM", moved]], moved[:-1], shape)
        elif plain in _MOVES or shape != largest:
            moved = inputs + [list(result.shape) for result in results]
            self.row("MEM", plain, [["MEM", moved]], inputs, shape)
        elif len([one for one in inputs if math.prod(one) > 1]) > 1:
            kind = f"VEC{plain}" if plain in _OF_TWO else "VECadd"
            self.row(kind, name, [[kind, sizes]], inputs[:2], shape)
        else:
            kind = f"VEC{plain}u" if plain in _OF_TWO else f"VEC{plain}"
            self.row(kind, name, [[kind, sizes]], inputs[:1], shape)


def _list_gradients(module: torch.nn.Module, recorder: _Recorder) -> None:
    """Lists each gradient of a parameter when it is ready. PyTorch keeps it as it is, without a kernel."""
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:

            def ready(gradient: torch.Tensor, name: str = name) -> None:
                recorder.set_type([gradient])
                recorder.row("GRAD", name, [["GRAD", [gradient.numel()]]], [], gradient.shape, "acc")

            parameter.register_hook(ready)


def _list_update(module: torch.nn.Module, optimizer: str, recorder: _Recorder) -> None:
    """Lists the update of all parameters that got a gradient."""
    parameters = [parameter for parameter in module.parameters() if parameter.grad is not None]
    elements = [parameter.numel() for parameter in parameters]
    if elements:
        recorder.set_type(parameters)
        kernel = [_UPDATES[optimizer], [sum(elements), len(elements)]]
        recorder.row("OPTIMIZER", optimizer, [kernel], [], [], "acc")


class _Fused(torch.autograd.Function):  # type: ignore[misc]
    """Stands for a kernel that covers several operators of the meta device, in forward and backward."""

    @staticmethod
    def forward(
        ctx: Any,
        recorder: _Recorder,
        op: str,
        kernels: tuple[list[Any], list[Any]],
        shapes: list[list[int]],
        *inputs: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:
        """Lists the first of `kernels`, and the second one in the backward. Returns tensors of these shapes."""
        ctx.recorder, ctx.op, ctx.kernel, ctx.shape, ctx.inputs = recorder, op, kernels[1], shapes[0], inputs
        ctx.set_materialize_grads(False)
        recorder.set_type(inputs)
        recorder.row(op, op.lower(), [kernels[0]], [inputs[0].shape], shapes[0])
        return tuple(inputs[0].new_empty(shape) for shape in shapes)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        ctx.recorder.set_type(ctx.inputs)
        ctx.recorder.row(ctx.op, ctx.op.lower(), [ctx.kernel], [ctx.shape], ctx.inputs[0].shape)
        return (None, None, None, None, *(torch.empty_like(one) for one in ctx.inputs))


def _fused_functions(recorder: _Recorder) -> dict[str, Any]:
    """Returns replacements for functions of torch.nn.functional that are one kernel on a GPU."""

    def dropout(values: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        if not training or p == 0:
            return values
        shape = list(values.shape)
        kernels = ["MEM", [shape]], ["VECadd", _rows_and_columns(shape)]
        return _Fused.apply(recorder, "dropout", kernels, [shape], values)[0]

    def attention(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        **_more: Any,
    ) -> Any:
        *outer, queries, size = query.shape
        heads = outer[-1] if outer else 1
        causal = [1] if is_causal else []
        kernel = ["SDPA", [math.prod(outer[:-1]), heads, queries, key.shape[-2], size, *causal]]
        shape = [*query.shape[:-1], value.shape[-1]]
        return _Fused.apply(recorder, "SDPA", (kernel, kernel), [shape], query, key, value)[0]

    replaced: dict[str, Any] = {"dropout": dropout, "scaled_dot_product_attention": attention}
    return {name: function for name, function in replaced.items() if hasattr(torch.nn.functional, name)}


def _recurrent(recorder: _Recorder, layer: torch.nn.RNNBase) -> Callable[..., Any]:
    """Returns a forward that lists a recurrent layer as one kernel, as cuDNN runs it."""

    def forward(values: torch.Tensor, _state: Any = None) -> Any:
        if not isinstance(values, torch.Tensor) or values.dim() != 3:
            raise NotOnMeta(
                f"{type(layer).__name__}: a list takes one tensor of three dimensions, not a packed sequence"
            )
        steps, batch = (values.shape[1], values.shape[0]) if layer.batch_first else values.shape[:2]
        directions = 2 if layer.bidirectional else 1
        sizes = [batch, steps, layer.input_size, layer.hidden_size, layer.num_layers, directions]
        kind = layer.mode if layer.mode in ("LSTM", "GRU") else "RNN"
        result = [*values.shape[:2], directions * (layer.proj_size or layer.hidden_size)]
        state = [layer.num_layers * directions, batch, layer.hidden_size]
        # The weights give the results a gradient where the input has none, and get theirs.
        weights = list(layer.parameters())
        kernel = [kind, sizes]
        found = _Fused.apply(recorder, kind, (kernel, kernel), [result, state, state], values, *weights)
        return found[0], found[1:] if kind == "LSTM" else found[1]

    return forward


def _to_meta(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        meta = torch.empty_like(value, device="meta")
        return meta.requires_grad_() if value.requires_grad else meta
    if isinstance(value, (list, tuple)):
        return type(value)(_to_meta(one) for one in value)
    if isinstance(value, dict):
        return {key: _to_meta(one) for key, one in value.items()}
    return value


def _meta_copy(module: torch.nn.Module, recorder: _Recorder) -> torch.nn.Module:
    """Returns a copy of the module whose tensors are on the meta device. Copies no data."""
    # A deep copy takes the tensors that it finds in its memo.
    memo: dict[int, Any] = {}
    for parameter in module.parameters():
        meta = torch.empty_like(parameter, device="meta")
        memo[id(parameter)] = torch.nn.Parameter(meta, requires_grad=parameter.requires_grad)
    for buffer in module.buffers():
        memo[id(buffer)] = torch.empty_like(buffer, device="meta")
    copied = copy.deepcopy(module, memo)
    for layer in copied.modules():
        if isinstance(layer, torch.nn.RNNBase):
            layer.forward = _recurrent(recorder, layer)
    return copied


def list_operators(
    module: torch.nn.Module,
    *args: Any,
    train: bool = False,
    optimizer: str | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> OperatorList:
    """Returns the operators of one call of a module.

    Args:
        module: runs in its present mode (module.train() or module.eval())
        args, kwargs: its inputs; only their shapes and types count
        train: also lists the backward of the sum of all results, and each gradient
        optimizer: also lists the optimizer's update, with train=True: sgd, sgd-momentum, adamw, or one of these with
            fused- in front (PyTorch's fused=True)
        name: name of the step in `predict`; the module's class if absent

    Raises:
        ValueError: unknown optimizer, or one without train=True; train=True, but no result has a gradient
        NotOnMeta: the module reads values of tensors, or uses an operator that PyTorch cannot run on the meta device
    """
    if optimizer is not None and (optimizer not in _UPDATES or not train):
        raise ValueError(f"optimizer={optimizer!r}: use train=True and one of {', '.join(_UPDATES)}")
    sizes = [value.shape[0] for value in _tensors([args, list(kwargs.values())]) if value.dim() > 0]
    recorder = _Recorder(name or type(module).__name__, train, sizes[0] if sizes else None)
    try:
        copied = _meta_copy(module, recorder)
        fused = unittest.mock.patch.multiple(torch.nn.functional, **_fused_functions(recorder))
        with fused, recorder, torch.set_grad_enabled(train):
            results = _tensors([copied(*_to_meta(args), **_to_meta(kwargs))])
            differentiable = [result for result in results if result.requires_grad]
            if train and differentiable:
                recorder.backward = True
                _list_gradients(copied, recorder)
                torch.autograd.backward(differentiable, [torch.empty_like(result) for result in differentiable])
        if optimizer is not None:
            _list_update(copied, optimizer, recorder)
    except NotOnMeta:
        raise
    except (NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0].split(". ")[0].rstrip(".")
        raise NotOnMeta(
            f"{type(module).__name__} failed on the meta device: {reason}. If it runs elsewhere, it reads values of "
            "tensors: list its parts, or record a step (headroom record)"
        ) from error
    if train and not differentiable:
        raise ValueError(f"no result of {type(module).__name__} has a gradient; list it with train=False")
    return OperatorList(recorder.rows)


class _Usage(Exception):
    """The command line names no function."""


def _load(target: str) -> Callable[[], Any]:
    path, _, function = target.rpartition(":")
    if not path or not function:
        raise _Usage(f"{target}: name a function, as in model.py:build; it returns the module and its inputs")
    if not pathlib.Path(path).is_file():
        raise _Usage(f"{path}: no such file")
    sys.path.insert(0, str(pathlib.Path(path).resolve().parent))  # As if the file were run.
    names = runpy.run_path(path, run_name="headroom_operators")
    if not callable(names.get(function)):
        raise _Usage(f"{path} has no function {function}")
    built: Callable[[], Any] = names[function]
    return built


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns 0; 1 if the module cannot be listed, 2 for wrong usage, 4 if it cannot write."""
    parser = argparse.ArgumentParser(
        prog="headroom ops", description="Writes the operators of a PyTorch module, for headroom predict --ops."
    )
    parser.add_argument("target", metavar="FILE.py:FUNCTION", help="function that returns (module, inputs...)")
    parser.add_argument("-o", "--output", metavar="FILE", default="ops.csv", help="[ops.csv]")
    parser.add_argument("--train", action="store_true", help="also list the backward and the gradients")
    parser.add_argument("--optimizer", choices=list(_UPDATES), help="also list the optimizer's update; implies --train")
    options = parser.parse_args(arguments)
    try:
        built = _load(options.target)()
    except _Usage as error:
        print(error, file=sys.stderr)
        return 2
    if not isinstance(built, tuple) or not built or not isinstance(built[0], torch.nn.Module):
        print(f"{options.target}: must return a tuple of the module and its inputs", file=sys.stderr)
        return 1
    try:
        listed = list_operators(
            *built, train=options.train or options.optimizer is not None, optimizer=options.optimizer
        )
        listed.write(options.output)
    except (NotOnMeta, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{options.output}: {error.strerror}", file=sys.stderr)
        return 4
    print(f"{options.output}: {len(listed)} operators. Forecast: headroom predict --ops {options.output} --gpu NAME")
    return 0


if __name__ == "__main__":
    sys.exit(main())
