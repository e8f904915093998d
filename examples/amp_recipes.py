#!/usr/bin/env python3
"""Mixed precision, twice: the rule of thumb of the Daydream paper, and headroom's `amp`.

    examples/amp_recipes.py [TRACE]

Daydream (Zhu et al., USENIX ATC 2020) divides the time of matrix kernels by 3 and of all other kernels by 2. That was
right for its GPUs and its models. `amp` instead predicts the time of each shape on the tensor cores of the recorded
GPU. It determines which kernels read 16-bit tensors, and adds autocast's casts with their launches.
"""
import pathlib
import sys

import numpy as np

import headroom

SAMPLE = pathlib.Path(__file__).resolve().parent.parent / "data/samples/resnet50_fp32_h200.json.gz"


def main(trace):
    graph = headroom.Graph(trace)
    before = graph.durations_ns()

    matrices = np.isin(graph.tasks.family, ["matmul", "convolution", "attention"])
    graph.select(where=matrices).scale(1 / 3)
    graph.select(where=~matrices).scale(1 / 2)
    rule_ms, rule = graph.replay().step_ms, graph.durations_ns()

    graph.reset()
    remarks = graph.apply("amp:dtype=bf16")
    amp_ms, amp = graph.replay().step_ms, graph.durations_ns()

    print(f"step                    {graph.step_ms:8.2f} ms")
    print(f"rule of thumb           {rule_ms:8.2f} ms  {graph.step_ms / rule_ms:5.2f}x")
    print(f"headroom's amp          {amp_ms:8.2f} ms  {graph.step_ms / amp_ms:5.2f}x  {remarks}")
    print()
    print("why they differ: GPU time per step in ms, by kernel family")
    print(f"{'':14}{'before':>10}{'rule':>10}{'amp':>10}")
    gpu = graph.tasks.kind == "gpu"
    families = sorted(set(graph.tasks.family[gpu]), key=lambda family: -before[graph.tasks.family == family].sum())
    for family in families[:6]:
        of_family = graph.tasks.family == family
        print(
            f"{family:14}"
            + "".join(f"{times[of_family].sum() / 1e6 / graph.steps:10.2f}" for times in (before, rule, amp))
        )
    print(
        f"kernels that amp adds per step: {graph.changed[1] // graph.steps} (casts, "
        "each with its launch); the rule adds none"
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else SAMPLE)
