#!/usr/bin/env python3
"""Shows which layer's backward pass costs the step most, and which layer's gradients should be sent first.

    examples/layers_and_gradients.py [TRACE]

The first part removes the time of one layer's backward pass at a time. The second part adds the exchange of gradients
with a parameter server over a network of 10 Gbit/s. Each gradient is sent when it is ready, and the layer's forward
pass in the next step waits for it. In order of readiness, the first layer's gradient is sent last, although it is
needed first. With priorities it overtakes the others (Jayarajan et al., "Priority-based Parameter Propagation", MLSys
2019).
"""
import pathlib
import sys

import headroom

SAMPLE = pathlib.Path(__file__).resolve().parent.parent / "data/samples/resnet50_fp32_h200.json.gz"
BYTES_PER_US = 10e9 / 8 / 1e6


def layers_first(graph):
    layers = sorted({layer for layer in graph.tasks.layer if layer})
    saves = {}
    for layer in layers:
        graph.select(where=(graph.tasks.layer == layer) & (graph.tasks.phase == "backward")).set_duration(0)
        saves[layer] = graph.step_ms - graph.replay().step_ms
        graph.reset()
    print(f"step {graph.step_ms:.2f} ms; without the backward kernels of")
    for layer in sorted(saves, key=saves.get, reverse=True)[:5]:
        print(f"  {layer:32} {saves[layer]:6.2f} ms less")


def exchange(graph, policy):
    """Returns the step time if all gradients are sent, and all parameters fetched, under this policy."""
    graph.reset()
    network = graph.channel("network", policy)
    gradients = graph.gradients
    count = len(gradients) // graph.steps
    for i in range(len(gradients)):
        ready, needed = gradients.ready[i], gradients.forward[(i + count) % len(gradients)]
        if needed < 0:
            continue
        # A link carries both directions at full speed, so only one counts. A parameter that is needed early is sent
        # early.
        network.insert(
            gradients.bytes[i] / BYTES_PER_US, after=ready, before=needed, priority=int(gradients.forward[i % count])
        )
    return graph.replay().step_ms


def main(trace):
    graph = headroom.Graph(trace)
    layers_first(graph)
    megabytes = graph.gradients.bytes.sum() / graph.steps / 1e6
    print(
        f"{megabytes:.0f} MB of gradients per step take {megabytes * 1e6 / BYTES_PER_US / 1e3:.1f} ms. The step takes:"
    )
    for policy in ("fifo", "priority"):
        print(f"  {policy:10} {exchange(graph, policy):7.2f} ms")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else SAMPLE)
