#!/usr/bin/env python3
"""FusedAdam by hand: remove the update's kernels and their host work, insert one kernel in their place.

    examples/fused_adam.py [TRACE]

This is the recipe of the Daydream paper (Zhu et al., USENIX ATC 2020), which gives the one kernel the time of all those
that it replaces. But an update is bound by memory: each parameter's value, gradient and two moments are read, and three
of them are written, so seven passes over the parameters' bytes at the bandwidth that a copy sustains are enough.
"""
import pathlib
import sys

import numpy as np

import headroom

SAMPLE = pathlib.Path(__file__).resolve().parent.parent / "data/samples/bert_base_amp_fp16_h200.json.gz"
SUSTAINED_BYTES_PER_US = 3.4e6  # of an H200's 4.8 TB/s
HOST_US = 500  # What the step of a fused optimizer takes the host, measured on one H200 machine.


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
    # Where each step's update begins: there the one kernel goes.
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
