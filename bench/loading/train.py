#!/usr/bin/env python3
"""Runs training loops with real input pipelines, in several settings by turns. The results test forecasts.

usage: train.py FOLDER [--turns N] [FLAGS] [--setting "FLAGS"]...

FOLDER holds the images, which the first run makes. Each --setting adds to the flags before it; without any, those are
the only setting. Every turn runs each setting once, so that a slow phase of the machine affects all settings. Prints a
JSON array with one object per setting: the step times of each turn, from step to step, without the first ones. The
dataset of setting i has (steps + i) x batch samples, so a recording distinguishes the settings.

--images full|half, --workers N, --prefetch N, --batch N, --steps N (per turn), --wait-ms X, --seconds-per-mb X, and:
--step    cpu: a small network on one thread; wait: the loop sleeps --wait-ms, as one that waits for a GPU
--read    slow: each read takes --seconds-per-mb longer; shared: the same, and only one process reads at a time
--burst   every 20th sample takes 30 times as long (it waits)
--cached  samples come from memory
--blur    number of passes of an additional stage in the program
"""
import argparse
import fcntl
import io
import json
import pathlib
import shlex
import sys
import time

import numpy
import torch
import torchvision.transforms as T
from PIL import Image

IMAGES = 256
SIZES = {"full": (500, 375), "half": (250, 188)}
WARM_UP = 12


def make_images(folder, size):
    folder.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(0)
    for i in range(IMAGES):
        path = folder / f"{i}.jpg"
        if path.exists():
            continue
        coarse = Image.fromarray(random.integers(0, 255, (24, 32, 3), dtype=numpy.uint8)).resize(size, Image.BICUBIC)
        noisy = numpy.asarray(coarse).astype(numpy.int16) + random.integers(-12, 12, (size[1], size[0], 3))
        part = path.with_suffix(".part")
        Image.fromarray(noisy.clip(0, 255).astype(numpy.uint8)).save(part, format="JPEG", quality=90)
        part.rename(path)


class Blur:
    """A stage of known cost: the same filter, several times."""

    def __init__(self, passes):
        self.passes = passes

    def __call__(self, pixels):
        for _ in range(self.passes):
            torch.nn.functional.avg_pool2d(pixels[None], 5, 1, 2)
        return pixels


class Images(torch.utils.data.Dataset):
    def __init__(self, folder, flags, number):
        self.folder, self.flags, self.number = str(folder), flags, number
        stages = [T.RandomResizedCrop(112), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize([0.5] * 3, [0.25] * 3)]
        if flags.blur:
            stages.append(Blur(flags.blur))
        self.transform = T.Compose(stages)
        self.kept = torch.rand(3, 112, 112) if flags.cached else None

    def __len__(self):
        return (self.flags.steps + self.number) * self.flags.batch

    def read(self, path):
        with open(path, "rb") as file:
            data = file.read()
        seconds = len(data) / 1e6 * self.flags.seconds_per_mb
        if self.flags.read == "slow":
            time.sleep(seconds)
        elif self.flags.read == "shared":
            with open(f"{self.folder}/gate", "ab") as gate:
                fcntl.flock(gate, fcntl.LOCK_EX)
                time.sleep(seconds)
        return data

    def __getitem__(self, index):
        if self.kept is not None:
            return self.kept, index % 10
        image = Image.open(io.BytesIO(self.read(f"{self.folder}/{index % IMAGES}.jpg"))).convert("RGB")
        if self.flags.burst and index % 20 == 7:
            time.sleep(0.06)
        return self.transform(image), index % 10


def parser():
    flags = argparse.ArgumentParser(allow_abbrev=False)
    flags.add_argument("folder", type=pathlib.Path)
    flags.add_argument("--turns", type=int, default=1)
    flags.add_argument("--setting", action="append", default=[])
    flags.add_argument("--images", choices=SIZES, default="full")
    flags.add_argument("--workers", type=int, default=0)
    flags.add_argument("--prefetch", type=int, default=2)
    flags.add_argument("--batch", type=int, default=16)
    flags.add_argument("--steps", type=int, default=60)
    flags.add_argument("--step", choices=("cpu", "wait"), default="cpu")
    flags.add_argument("--read", choices=("plain", "slow", "shared"), default="plain")
    flags.add_argument("--burst", action="store_true")
    flags.add_argument("--cached", action="store_true")
    flags.add_argument("--blur", type=int, default=0)
    flags.add_argument("--seconds-per-mb", type=float, default=0.02)
    flags.add_argument("--wait-ms", type=float, default=20.0)
    return flags


def turn(flags, number, model, optimizer):
    """Runs one setting for flags.steps steps. Returns milliseconds per step."""
    ahead = {"prefetch_factor": flags.prefetch} if flags.workers else {}
    loader = torch.utils.data.DataLoader(
        Images(flags.folder / flags.images, flags, number), batch_size=flags.batch, num_workers=flags.workers, **ahead
    )
    ends = []
    for x, y in loader:
        if flags.step == "wait":
            time.sleep(flags.wait_ms / 1e3)
        else:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        ends.append(time.perf_counter())
        if len(ends) == flags.steps:
            break
    # Excludes batches that are ready when the loop begins, and the missing prefetch at its end.
    warm_up = min(WARM_UP, flags.steps // 4)
    return 1e3 * (ends[-1] - ends[warm_up]) / (len(ends) - 1 - warm_up)


def main():
    common = parser().parse_args()
    settings = [parser().parse_args(sys.argv[1:] + shlex.split(setting)) for setting in common.setting] or [common]
    for flags in settings:
        make_images(flags.folder / flags.images, SIZES[flags.images])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 12, 3, 2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(12, 24, 3, 2),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(24, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    turns = [[] for _ in settings]
    for _ in range(common.turns):
        for number, flags in enumerate(settings):
            turns[number].append(turn(flags, number, model, optimizer))
    print(json.dumps([{"step_ms": step_ms} for step_ms in turns]))


if __name__ == "__main__":
    main()
