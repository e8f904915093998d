#!/usr/bin/env python3
"""FusedAdam by hand: remove the update's kernels and their host work, insert one kernel in their place.

    examples/fused_adam.py [TRACE]

The Daydream paper (Zhu et al., USENIX ATC 2020) gives the new kernel the total time of the kernels that it replaces.
But an update is memory-bound: it reads each parameter's value, gradient and two moments, and writes three of them. It
therefore takes seven passes over the parameters' bytes, at the bandwidth that a copy sustains.
"""
import pathlib
import sys

import numpy as np

import headroom

SAMPLE = pathlib.Path(__file__).resolve().parent.parent / "data/samples/bert_base_amp_fp16_h200.json.gz"
SUSTAINED_BYTES_PER_US = 3.4e6  # An H200 sustains this much of its 4.8 TB/s.
HOST_US = 500  # Host time of a fused optimizer's step, measured on one H200 machine.


def main(trace):
    graph = headroom.Graph(trace)
    update = graph.select(phase="optimizer")
    print(
        f"step                        {graph.step_ms:8.2f} ms, of which the optimizer's kernels take "
        f"{update.time_ms:.2f} ms in {len(update) // graph.steps} kernels"
    )

    # Gradients have the size of their parameters.
    gradients = graph.gradients
    by_bytes_us = 7 * gradients.bytes[gradients.step == gradients.step[0]].sum() / SUSTAINED_BYTES_PER_US
    by_sum_us = update.time_ms * 1e3
    # The new kernel is inserted where each step's update begins.
    steps = graph.tasks.step[update.indices]
    first = [update.indices[steps == step].min() for step in np.unique(steps)]

    update.remove()
    print(f"without those kernels       {graph.replay().step_ms:8.2f} ms")
    update.scale_host(0)
    print(f"without their host work     {graph.replay().step_ms:8.2f} ms")
    for why, kernel_us in (("the sum", by_sum_us), ("by its bytes", by_bytes_us)):
        twin = graph.copy()
        twin.select(where=lambda task: task.index in first).insert_before(kernel_us, host_us=HOST_US)
        step_ms = twin.replay().step_ms
        print(
            f"one kernel, {why:12}    {step_ms:8.2f} ms  {graph.step_ms / step_ms:.2f}x, "
            f"{kernel_us / 1e3:.2f} ms for the kernel"
        )
    forecast = graph.whatif("fused-optimizer:kind=fused")
    step = forecast["step_ms"]
    print(
        f"headroom's fused-optimizer  {step['mid']:8.2f} ms  {forecast['speedup']:.2f}x "
        f"({step['low']:.2f} to {step['high']:.2f} ms)"
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else SAMPLE)
