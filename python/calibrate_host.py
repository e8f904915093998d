"""Runs short training loops with and without PyTorch's profiler, for `headroom calibrate --host`.

usage: calibrate_host.py FOLDER [SECONDS]

Writes one trace per loop into FOLDER and prints one JSON object: `torch`, `device`, and `loops`, a list of {name,
trace, steps (in the trace), plain_ms and profiled_ms (medians per step)}. Loops: `operators` (host work only), `calls`
(the same training on the GPU, if there is one) and `frames` (with Python frames, if this PyTorch records them).
"""

import json
import os
import statistics
import sys
import time

import torch

STEPS = 20  # Per block; the profiler starts and stops outside the timed part.
WIDTH = 16  # Small enough that the host work determines the step time.


def training_step(device):
    """A host-bound step: twelve layers, their backward pass, and an optimizer over each parameter."""
    layers = []
    for _ in range(12):
        layers += [torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers).to(device)
    try:
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    except TypeError:  # Before PyTorch 1.12.
        optimizer = torch.optim.AdamW(model.parameters())
    batch = torch.randn(4, WIDTH, device=device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(batch).sum().backward()
        optimizer.step()

    return step


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def run_block(step, device):
    """Returns the milliseconds per step."""
    synchronize(device)
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    synchronize(device)
    return 1e3 * (time.perf_counter() - start) / STEPS


def make_profiler(device, with_stack):
    if torch.autograd.kineto_available():
        activities = [torch.profiler.ProfilerActivity.CPU]
        if device == "cuda":
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        return torch.profiler.profile(activities=activities, record_shapes=True, with_stack=with_stack)
    return torch.autograd.profiler.profile(record_shapes=True)


def measure(name, device, folder, seconds, with_stack=False):
    step = training_step(device)
    plain, profiled = [], []
    for _ in range(3):
        run_block(step, device)
    with make_profiler(device, with_stack):  # The first use sets up the profiler's libraries.
        run_block(step, device)
    trace = os.path.join(folder, name + ".json")
    until = time.perf_counter() + seconds
    # Runs both kinds of block in pairs, so that load on the machine affects both equally.
    while time.perf_counter() < until or len(plain) < 5:
        plain.append(run_block(step, device))
        profiler = make_profiler(device, with_stack)
        with profiler:
            profiled.append(run_block(step, device))
    profiler.export_chrome_trace(trace)
    return {
        "name": name,
        "trace": trace,
        "steps": STEPS,
        "plain_ms": statistics.median(plain),
        "profiled_ms": statistics.median(profiled),
    }


def main():
    folder = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 6
    torch.set_num_threads(1)
    loops = [measure("operators", "cpu", folder, seconds)]
    if torch.cuda.is_available():
        loops.append(measure("calls", "cuda", folder, seconds))
    if torch.autograd.kineto_available():
        loops.append(measure("frames", "cpu", folder, seconds, with_stack=True))
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    print(json.dumps({"torch": torch.__version__, "device": device, "loops": loops}))


if __name__ == "__main__":
    main()
