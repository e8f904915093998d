"""Times operators on this machine's GPU, for `headroom calibrate --gpu`.

usage: calibrate_gpu.py FILE [SECONDS]

Writes a CSV table of operators into FILE. Columns: `device`, `op`, extents, `dtype`, `timing` and `latency_ms`, which
is the milliseconds per call of many calls in a row. Shapes are spread evenly, on a logarithmic scale, over common
sizes. Skips shapes that exceed the GPU's memory or the time limit, and operators that this PyTorch or GPU cannot run.
Ends after at most twice SECONDS. Requires PyTorch with a GPU.
"""

import csv
import math
import statistics
import sys
import time

import torch

COLUMNS = (
    "device",
    "op",
    "b",
    "m",
    "k",
    "n",
    "rows",
    "cols",
    "cin",
    "cout",
    "ksize",
    "insize",
    "stride",
    "pad",
    "dtype",
    "timing",
    "latency_ms",
)
TYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
# Per kind: number of shapes, types, and the range of each extent. Most extents are multiples of 64, as in networks.
KINDS = {
    "linear": (24, tuple(TYPES), {"m": (256, 16384), "k": (256, 8192), "n": (256, 16384)}),
    "bmm": (24, tuple(TYPES), {"b": (8, 512), "m": (64, 2048), "k": (64, 2048), "n": (64, 2048)}),
    "conv": (
        24,
        tuple(TYPES),
        {"b": (4, 64), "cin": (32, 1024), "cout": (32, 1024), "ksize": (1, 5), "insize": (7, 112), "stride": (1, 2)},
    ),
    "softmax": (16, ("fp32",), {"rows": (1024, 131072), "cols": (64, 4096)}),
    "ln": (16, ("fp32",), {"rows": (1024, 65536), "cols": (256, 8192)}),
    "add": (6, ("fp32",), {"rows": (1024, 65536), "cols": (256, 8192)}),
    "relu": (6, ("fp32",), {"rows": (1024, 65536), "cols": (256, 8192)}),
    "gelu": (6, ("fp32",), {"rows": (1024, 65536), "cols": (256, 8192)}),
}
BASES = (2, 3, 5, 7, 11, 13)
STEPS = {
    "b": 4,
    "ksize": 2,
    "insize": 7,
    "stride": 1,
    "cin": 32,
    "cout": 32,
}  # Extents are multiples of these values; all other extents are multiples of 64.
BYTES_LIMIT = 4 << 30


def radical_inverse(number, base):
    """Returns a term of the van der Corput sequence, which fills [0, 1) evenly."""
    value, share = 0.0, 1.0
    while number > 0:
        share /= base
        value += share * (number % base)
        number //= base
    return value


def shapes_of(kind):
    """Returns the extents of each shape of a kind, by name."""
    count, _types, extents = KINDS[kind]
    for number in range(1, count + 1):
        shape = {}
        for (name, (low, high)), base in zip(extents.items(), BASES):
            value = low * (high / low) ** radical_inverse(number, base)
            step = STEPS.get(name, 64)
            shape[name] = 2 * round((value - 1) / 2) + 1 if name == "ksize" else max(1, round(value / step)) * step
        if kind == "conv":
            shape["pad"] = shape["ksize"] // 2
        yield shape


def elements_of(kind, shape):
    """Returns the elements of all tensors that the operator reads and writes."""
    if kind == "conv":
        out = math.ceil(shape["insize"] / shape["stride"]) ** 2
        return (
            shape["b"] * (shape["cin"] * shape["insize"] ** 2 + shape["cout"] * out)
            + shape["cin"] * shape["cout"] * shape["ksize"] ** 2
        )
    if "rows" in shape:
        return 3 * shape["rows"] * shape["cols"]
    return shape.get("b", 1) * (shape["m"] * shape["k"] + shape["k"] * shape["n"] + shape["m"] * shape["n"])


def call_of(kind, shape, dtype, device):
    """Returns a function that runs the operator once."""

    def random(*extents):
        return torch.randn(*extents, dtype=TYPES[dtype], device=device)

    functions = torch.nn.functional
    if kind == "linear":
        rows, weights, bias = random(shape["m"], shape["k"]), random(shape["n"], shape["k"]), random(shape["n"])
        return lambda: functions.linear(rows, weights, bias)
    if kind == "bmm":
        left, right = random(shape["b"], shape["m"], shape["k"]), random(shape["b"], shape["k"], shape["n"])
        return lambda: torch.bmm(left, right)
    if kind == "conv":
        images = random(shape["b"], shape["cin"], shape["insize"], shape["insize"])
        filters = random(shape["cout"], shape["cin"], shape["ksize"], shape["ksize"])
        return lambda: functions.conv2d(images, filters, stride=shape["stride"], padding=shape["pad"])
    rows = random(shape["rows"], shape["cols"])
    if kind == "softmax":
        return lambda: torch.softmax(rows, 1)
    if kind == "ln":
        return lambda: functions.layer_norm(rows, (shape["cols"],))
    if kind == "add":
        other = random(shape["rows"], shape["cols"])
        return lambda: torch.add(rows, other)
    return {"relu": lambda: torch.relu(rows), "gelu": lambda: functions.gelu(rows)}[kind]


class GpuClock:
    """Measures milliseconds between two points in a stream."""

    def __init__(self):
        self.begin, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def start(self):
        self.begin.record()

    def stop(self):
        self.end.record()
        torch.cuda.synchronize()
        return self.begin.elapsed_time(self.end)


class HostClock:
    """Measures milliseconds on the host, for a device that runs synchronously."""

    def start(self):
        self.begin = time.perf_counter()

    def stop(self):
        return 1e3 * (time.perf_counter() - self.begin)


def milliseconds_of(call, clock, seconds):
    """Returns the time per call of many calls in a row: the median over several batches. Each batch is long enough that
    the host stays ahead of the GPU. Returns None if the call takes too long.
    """
    for _ in range(2):  # Libraries choose their kernels in the first calls.
        clock.start()
        call()
        once = clock.stop()
    if once > 1e3 * seconds / 4:
        return None
    calls = max(2, min(200, int(1e3 * seconds / 8 / max(once, 1e-3))))
    times = []
    for _ in range(5):
        clock.start()
        for _ in range(calls):
            call()
        times.append(clock.stop() / calls)
    return statistics.median(times)


def allow_tf32(allowed):
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def supported(dtype, device):
    if dtype == "fp32" or device == "cpu":
        return dtype == "fp32"
    if torch.version.hip:
        return dtype != "tf32"
    major, _minor = torch.cuda.get_device_capability()
    return dtype == "fp16" or major >= 8


def measure(device, name, seconds, out, kinds=tuple(KINDS)):
    """Times the operators and writes one line for each."""
    writer = csv.DictWriter(out, COLUMNS)
    writer.writeheader()
    jobs = [
        (number, kind, dtype, shape)
        for kind in kinds
        for dtype in KINDS[kind][1]
        if supported(dtype, device)
        for number, shape in enumerate(shapes_of(kind))
    ]
    jobs.sort(key=lambda job: job[0])  # If time runs out, every kind loses the same shapes.
    each, deadline = seconds / max(1, len(jobs)), time.monotonic() + 2 * seconds
    limit = BYTES_LIMIT if device == "cpu" else torch.cuda.mem_get_info()[0] / 4
    torch.backends.cudnn.benchmark = True
    clock = HostClock() if device == "cpu" else GpuClock()
    with torch.no_grad():
        for _number, kind, dtype, shape in jobs:
            if time.monotonic() > deadline:
                break
            size = torch.finfo(TYPES[dtype]).bits // 8
            if size * elements_of(kind, shape) > limit:
                continue
            allow_tf32(dtype == "tf32")
            try:
                latency = milliseconds_of(call_of(kind, shape, dtype, device), clock, each)
            except RuntimeError as error:  # Out of memory, or no kernel for this operator.
                print(f"{kind} {dtype} {shape}: skipped: {error}", file=sys.stderr)
                continue
            if latency is not None:
                writer.writerow(
                    {
                        "device": name,
                        "op": kind,
                        **shape,
                        "dtype": dtype,
                        "timing": "stream",
                        "latency_ms": f"{latency:.6f}",
                    }
                )
                out.flush()


def main():
    path, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 60
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU (torch.cuda.is_available() is False)")
    with open(path, "w", newline="", encoding="utf-8") as out:
        measure("cuda", torch.cuda.get_device_name(), seconds, out)


if __name__ == "__main__":
    main()
