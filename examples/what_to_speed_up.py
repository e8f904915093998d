#!/usr/bin/env python3
"""Shows which operator to speed up first, by a causal sweep.

    examples/what_to_speed_up.py [TRACE]

The operator with the longest time is not always the one to speed up: a shorter time saves nothing if other work hides
it. The sweep therefore halves the kernel time of each operator, then its host work, and replays each change.
"""
import pathlib
import re
import sys

import numpy as np

import headroom

SAMPLE = pathlib.Path(__file__).resolve().parent.parent / "data/samples/bert_base_amp_fp16_h200.json.gz"


def main(trace):
    graph = headroom.Graph(trace)
    operators = np.array(sorted({operator for operator in graph.tasks.operator if operator}))
    gpu_ms, saves = np.zeros(len(operators)), np.zeros((len(operators), 2))
    for row, operator in enumerate(operators):
        selected = graph.select(operator=f"^{re.escape(operator)}$")
        gpu_ms[row] = selected.time_ms
        for column, edit in enumerate((selected.scale, selected.scale_host)):
            edit(0.5)
            saves[row, column] = graph.step_ms - graph.replay().step_ms
            graph.reset()

    print(f"step {graph.step_ms:.2f} ms; time saved by halving:")
    print(f"{'operator':40}{'GPU time':>12}{'its kernels':>14}{'its host work':>16}")
    for row in np.argsort(-saves.max(axis=1))[:8]:
        print(f"{operators[row][:38]:40}{gpu_ms[row]:9.2f} ms{saves[row, 0]:11.2f} ms{saves[row, 1]:13.2f} ms")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else SAMPLE)
