"""Shared by the tests of the Python module: samples, and a small job whose times can be computed by hand."""
import contextlib
import json
import os
import pathlib
import tempfile
import unittest

import headroom

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BERT = ROOT / "data/samples/bert_base_amp_fp16_h200.json.gz"
RESNET = ROOT / "data/samples/resnet50_fp32_h200.json.gz"
BINARY = os.environ.get("HEADROOM_BINARY") or str(ROOT / "build/release/headroom")

KERNEL_US, GAP_US, STEPS = 1000, 2, 4
STEP_US = 2 * (KERNEL_US + GAP_US)
HOST_STEP_US = 40


def two_kernels_a_step():
    """Returns a GPU-bound job. Each step launches `gemm` (of aten::mm) and `pointwise` (of aten::relu) on stream 7.
    They take 1000 us each with 2 us between them, so a step takes 2004 us. The host takes 40 us per step, never waits
    and runs ahead.
    """
    events = []

    def host(name, category, start, end, **args):
        events.append(
            {
                "ph": "X",
                "name": name,
                "cat": category,
                "pid": 1,
                "tid": 1,
                "ts": start,
                "dur": end - start,
                "args": args,
            }
        )

    for step in range(STEPS):
        begin = step * HOST_STEP_US
        host(f"ProfilerStep#{step}", "user_annotation", begin, begin + HOST_STEP_US - 1)
        for k, (op, kernel) in enumerate((("aten::mm", "gemm"), ("aten::relu", "pointwise"))):
            correlation, at = 2 * step + k + 1, begin + 10 + 10 * k
            host(op, "cpu_op", at, at + 9, **{"External id": correlation})
            host("cudaLaunchKernel", "cuda_runtime", at + 1, at + 8, correlation=correlation)
            events.append(
                {
                    "ph": "X",
                    "name": kernel,
                    "cat": "kernel",
                    "pid": 0,
                    "tid": 7,
                    "ts": 15 + step * STEP_US + k * (KERNEL_US + GAP_US),
                    "dur": KERNEL_US,
                    "args": {"correlation": correlation, "stream": 7, "device": 0},
                }
            )
    return {"schemaVersion": 1, "traceEvents": events}


class HandMade(unittest.TestCase):
    """Tests on the job above."""

    trace: "headroom.Trace"

    @classmethod
    def setUpClass(cls):
        with written(two_kernels_a_step()) as path:
            cls.trace = headroom.load(path)

    def setUp(self):
        self.graph = self.trace.Graph(local_state=False)


@contextlib.contextmanager
def written(trace):
    """Writes a trace, or any text, to a file."""
    with tempfile.TemporaryDirectory(prefix="headroom-test-") as folder:
        path = pathlib.Path(folder) / "trace.json"
        path.write_text(trace if isinstance(trace, str) else json.dumps(trace))
        yield path
