"""Trains a small model on the CPU, alone or data-parallel over gloo, for bench/network_scaling/run.

The last line of stdout is a JSON list with the length of each step in ms. With --profile, `headroom record` records the
loop. Every step uses the same data, because the weights do not matter.
"""
import argparse
import contextlib
import json
import os
import time
from typing import Iterable

import torch
from torch import distributed, nn


def mlp():
    """8.7 million parameters in few large tensors. Communication takes a third to nine tenths of a step."""
    width = 1536
    layers = [nn.Linear(1024, width), nn.ReLU()]
    for _ in range(3):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 10)), (32, 1024)


def convnet():
    """2.6 million parameters. Most are in the last convolutions, whose gradients come first."""
    layers = []
    for inputs, outputs, pool in ((3, 32, True), (32, 64, True), (64, 128, True), (128, 256, False), (256, 512, False)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
        if pool:
            layers.append(nn.MaxPool2d(2))
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(2048, 512), nn.ReLU(), nn.Linear(512, 10)
    ), (32, 3, 32, 32)


def average(model):
    """Returns the parameters of all ranks as one tensor."""
    with torch.no_grad():
        flat = nn.utils.parameters_to_vector(model.parameters())
        distributed.all_reduce(flat)
        flat /= distributed.get_world_size()
        for parameter, mean in zip(model.parameters(), flat.split([p.numel() for p in model.parameters()])):
            parameter.copy_(mean.view_as(parameter))


MODELS = {"mlp": mlp, "convnet": convnet}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--bucket-mb", type=float, default=25)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--master", help="ADDRESS:PORT of rank 0; two ranks then train together")
    parser.add_argument(
        "--every", type=int, default=1, help="steps from one exchange and update to the next: gradients are accumulated"
    )
    parser.add_argument("--local-sgd", action="store_true", help="average parameters instead, and update in every step")
    parser.add_argument("--profile", action="store_true")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    inner, shape = MODELS[arguments.model]()
    model = inner
    if arguments.master:
        os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = arguments.master.split(":")
        distributed.init_process_group("gloo", rank=arguments.rank, world_size=2)
    if arguments.master and not arguments.local_sgd:
        model = nn.parallel.DistributedDataParallel(inner, bucket_cap_mb=arguments.bucket_mb)
    optimizer = torch.optim.SGD(inner.parameters(), lr=0.01, momentum=0.9)
    loss = nn.CrossEntropyLoss()
    batches: Iterable = [(torch.randn(shape), torch.randint(0, 10, (shape[0],)))] * arguments.steps
    if arguments.profile:
        import headroom.torch

        batches = headroom.torch.profile_loop(batches, inner, optimizer)
    ends = [time.perf_counter()]
    for number, (inputs, labels) in enumerate(batches, 1):
        exchanges = number % arguments.every == 0
        updates = exchanges or arguments.local_sgd
        with contextlib.nullcontext() if exchanges or model is inner else model.no_sync():
            loss(model(inputs), labels).backward()
        if updates:
            optimizer.step()
            optimizer.zero_grad()
        if exchanges and arguments.local_sgd and arguments.master:
            average(inner)
        ends.append(time.perf_counter())
    print(json.dumps([1e3 * (b - a) for a, b in zip(ends, ends[1:])]))


if __name__ == "__main__":
    main()
