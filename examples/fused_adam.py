#!/usr/bin/env python3
"""FusedAdam by hand: remove the update's kernels and their host work, insert one kernel in their place.

    examples/fused_adam.py [TRACE]

This is the recipe of the Daydream paper. What it leaves open is how long the one kernel takes. An update is bound by memory:
each parameter's value, gradient and two moments are read, and three of them are written, so seven passes of the parameters'
bytes at the bandwidth that a copy sustains.
"""
import pathlib
import sys

import headroom

SAMPLE = pathlib.Path(__file__).resolve().parent.parent / "data/samples/bert_base_amp_fp16_h200.json.gz"
SUSTAINED_BYTES_PER_US = 3.4e6  # of an H200's 4.8 TB/s
HOST_US = 500  # What the step of a fused optimizer takes the host, measured on one H200 machine.


def main(trace):
    graph = headroom.Graph(trace)
    update = graph.select(phase="optimizer")
    print(f"step                        {graph.step_ms:8.2f} ms, of which the optimizer's kernels take {update.time_ms:.2f} ms "
          f"in {len(update) // graph.steps} kernels")

    # Gradients have the size of their parameters.
    gradients = graph.gradients
    parameter_bytes = gradients.bytes[gradients.step == 0].sum()
    kernel_us = 7 * parameter_bytes / SUSTAINED_BYTES_PER_US

    # Where each step's update begins: there the one kernel goes.
    first = [update.indices[graph.tasks.step[update.indices] == step].min() for step in range(graph.steps)]
    update.remove()
    without_ms = graph.replay().step_ms
    update.scale_host(0)
    without_host_ms = graph.replay().step_ms
    graph.select(where=lambda task: task.index in first).insert_before(kernel_us, host_us=HOST_US)
    recipe_ms = graph.replay().step_ms

    print(f"without those kernels       {without_ms:8.2f} ms")
    print(f"without their host work     {without_host_ms:8.2f} ms: that is what this job waits for")
    print(f"with one kernel of {kernel_us / 1e3:.2f} ms  {recipe_ms:8.2f} ms  {graph.step_ms / recipe_ms:.2f}x")
    forecast = graph.whatif("fused-optimizer:kind=fused")
    step = forecast["step_ms"]
    print(f"headroom's fused-optimizer  {step['mid']:8.2f} ms  {forecast['speedup']:.2f}x ({step['low']:.2f} to {step['high']:.2f} ms)")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else SAMPLE)
