"""Builds traces of any size in which one kind of event overlaps, nests or repeats. Naive code takes quadratic time for
them.

SHAPES maps a name to a function of n, which returns the events of Chrome's JSON.
"""
from collections.abc import Callable
import json


def span(category, name, pid, tid, start, length, **args):
    event = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": length}
    return {**event, "args": args} if args else event


def operator(name, start, length, tid=1, **args):
    return span("cpu_op", name, 1, tid, start, length, **args)


def launch(number, start, length, tid=1):
    return span("cuda_runtime", "cudaLaunchKernel", 1, tid, start, length, correlation=number + 1)


def kernel(number, start, length, stream=7, name="k", device=0):
    return span("kernel", name, device, stream, start, length, correlation=number + 1, device=device, stream=stream)


def steps(count, length):
    return [
        span("user_annotation", f"ProfilerStep#{i}", 1, 1, i * length / count, length / count) for i in range(count)
    ]


def each(n, events):
    """Returns the events that `events(i)` returns, for each i below n."""
    return [event for i in range(n) for event in events(i)]


def plain(n, count=4):
    work = each(
        n,
        lambda i: [
            operator("aten::mm", 30 * i, 20, **{"Sequence number": i}),
            launch(i, 30 * i + 2, 5),
            kernel(i, 30 * i + 10, 18),
        ],
    )
    return work + steps(count, 30 * n)


def launched(i):
    return [launch(i, 30 * i, 5), kernel(i, 30 * i + 10, 18)]


NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"

SHAPES: dict[str, Callable[..., list[dict]]] = {
    "plain": plain,
    "kernels that overlap": lambda n: each(n, lambda i: [launch(i, 3 * i, 2), kernel(i, 3 * i + 2, 3 * n)]),
    "operators that overlap": lambda n: [operator("aten::mm", i, 2 * n) for i in range(n)] + launched(0),
    "all at one moment": lambda n: each(n, lambda i: [launch(i, 5, 0), kernel(i, 5, 0)]),
    "all of one span": lambda n: each(
        n, lambda i: [operator("aten::mm", 5, 100), launch(i, 5, 100), kernel(i, 50, 100)]
    ),
    "operators in operators": lambda n: [operator("aten::mm", i, 2 * n + 10 - 2 * i) for i in range(n)] + launched(0),
    "launches in nested operators": lambda n: [operator("aten::mm", 0, 40 * n) for _ in range(n)] + each(n, launched),
    "Python frames in frames": lambda n: [
        span("python_function", "f.py(1): f", 1, 1, 0, 40 * n, **{"Python id": i, "Python parent id": i - 1})
        for i in range(n)
    ]
    + plain(n),
    "streams": lambda n: each(n, lambda i: [launch(i, 30 * i, 5), kernel(i, 30 * i + 10, 18, stream=i + 7)]),
    "threads": lambda n: each(
        n,
        lambda i: [
            operator("aten::mm", 30 * i, 20, tid=i + 1),
            launch(i, 30 * i, 5, tid=i + 1),
            kernel(i, 30 * i + 10, 18),
        ],
    ),
    "names": lambda n: each(
        n,
        lambda i: [
            operator(f"aten::op{i}", 30 * i, 20),
            launch(i, 30 * i, 5),
            kernel(i, 30 * i + 10, 18, name=f"kernel_{i}_of_something"),
        ],
    ),
    "steps": lambda n: plain(n, count=n),
    "kernels without launches": lambda n: [kernel(i, 30 * i + 10, 18, stream=i % 50 + 7) for i in range(n)],
    "streams without launches": lambda n: [kernel(i, 30 * i + 10, 18, stream=i + 7) for i in range(n)],
    "memory": lambda n: plain(10)
    + [
        {
            "ph": "i",
            "cat": "cpu_instant_event",
            "name": "[memory]",
            "pid": 1,
            "tid": 1,
            "ts": i * 0.01,
            "s": "t",
            "args": {
                "Total Allocated": 512 * (i + 1),
                "Total Reserved": 512 * (i + 1),
                "Bytes": 512,
                "Addr": i + 1,
                "Device Id": 0,
                "Device Type": 1,
            },
        }
        for i in range(n)
    ],
    "arrows of one number": lambda n: plain(n // 4)
    + each(
        n,
        lambda i: [
            {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 1, "pid": 1, "tid": 1, "ts": i},
            {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 1, "pid": 1, "tid": 1, "ts": i, "bp": "e"},
        ],
    ),
    "waits": lambda n: each(
        n,
        lambda i: [
            *launched(i),
            span("cuda_runtime", "cudaDeviceSynchronize", 1, 1, 30 * i + 6, 23, correlation=n + i + 1),
            span("cuda_sync", "Context Sync", 0, -1, 30 * i + 6, 23, correlation=n + i + 1),
        ],
    ),
    "annotations": lambda n: plain(n) + [span("user_annotation", f"range{i}", 1, 1, 30 * i, 30) for i in range(n)],
    "annotations of the GPU": lambda n: plain(n)
    + [span("gpu_user_annotation", f"range{i}", 0, 7, 30 * i, 30 * n) for i in range(n)],
    "collectives": lambda n: plain(n) + [kernel(10 * n + i, 30 * i + 10, 18, stream=20, name=NCCL) for i in range(n)],
    "devices": lambda n: each(n, lambda i: [launch(i, 30 * i, 5), kernel(i, 30 * i + 10, 18, device=i)]),
    "processes": lambda n: [span("cpu_op", "aten::mm", i + 1, 1, 30 * i, 20) for i in range(n)] + plain(10),
    "counters": lambda n: plain(100)
    + [{"ph": "C", "name": f"c{i % 1000}", "pid": 1, "ts": i, "args": {"v": i}} for i in range(n)],
    "batches": lambda n: each(
        n,
        lambda i: [
            span("user_annotation", LOADER, 1, 1, 100 * i, 50),
            launch(i, 100 * i + 60, 5),
            kernel(i, 100 * i + 70, 18),
        ],
    )
    + steps(4, 100 * n),
}


def write(path, shape, n, rank=0):
    """Writes a trace of size `n` of a shape. Returns the number of bytes in its file."""
    trace = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": SHAPES[shape](n)}
    return path.write_bytes(json.dumps(trace).encode())
