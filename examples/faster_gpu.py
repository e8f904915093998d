#!/usr/bin/env python3
"""How long is the step on a GPU that is twice as fast? Also shows the lower limits for any GPU and any host, and
whether the host or the GPU then limits the step.

    examples/faster_gpu.py [TRACE...]
"""
import pathlib
import sys

import headroom

SAMPLES = pathlib.Path(__file__).resolve().parent.parent / "data/samples"


def main(traces):
    for trace in traces:
        graph = headroom.Graph(trace)
        everything = graph.select()
        gpu_ms = everything.time_ms
        everything.scale(1 / 2)
        twice = graph.replay()
        graph.reset()
        everything.scale(0)
        host_alone_ms = graph.replay().step_ms
        graph.reset()
        everything.scale_host(0)
        gpu_alone_ms = graph.replay().step_ms

        path = twice.critical_path()
        on_gpu = sum(ran for task, ran in zip(path.task, path.ran_ns) if 0 <= task and graph.tasks.kind[task] == "gpu")
        print(pathlib.Path(trace).name)
        print(f"  step {graph.step_ms:.2f} ms; its GPU tasks take {gpu_ms:.2f} ms")
        print(f"  with a GPU twice as fast {twice.step_ms:.2f} ms, {graph.step_ms / twice.step_ms:.2f}x")
        print(f"  no GPU could go below {host_alone_ms:.2f} ms, no host below {gpu_alone_ms:.2f} ms")
        share = on_gpu / (path.ran_ns.sum() + path.lag_ns.sum())
        verdict = "host-bound: speed up the host first" if share < 0.5 else "GPU-bound"
        print(f"  GPU work is {share:.0%} of that step's critical path: {verdict}")


if __name__ == "__main__":
    main(sys.argv[1:] or sorted(map(str, SAMPLES.glob("*.json.gz"))))
