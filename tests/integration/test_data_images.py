"""Tests `headroom data` on a typical image pipeline: JPEG files, Pillow, torchvision's transforms, a DataLoader, a
training loop.
"""
import json
import subprocess

from integration import loading, support

# tests/run runs no other tests at the same time. Only --full compares times closely.
RUNS_ALONE = support.FULL

PYTHON = loading.PYTHON

# Each expensive stage has a stopwatch in memory that workers share, as a reference for the stage table. In cheap stages
# it would be a large part of the measured time.
MAKE_FILES = """
import sys
import numpy
from PIL import Image

random = numpy.random.default_rng(0)
for i in range(96):
    coarse = Image.fromarray(random.integers(0, 255, (24, 32, 3), dtype=numpy.uint8))
    coarse.resize((640, 480), Image.BICUBIC).save(f"{sys.argv[1]}/{i}.jpg", quality=90)
"""
PROGRAM = """
import json, multiprocessing, sys, time
import torch
import torchvision.transforms as T
from PIL import Image

FOLDER, WORKERS = sys.argv[1], int(sys.argv[2])
IMAGES, BATCH, MOST_WORKERS = 96, 8, 4
torch.set_num_threads(1)
watches = {}

def watched(name, function, *args):
    worker = torch.utils.data.get_worker_info()
    begin = time.perf_counter()
    result = function(*args)
    watches[name][0 if worker is None else worker.id] += time.perf_counter() - begin
    return result

def stage(cls, *args):
    work = "forward" if issubclass(cls, torch.nn.Module) else "__call__"
    class Watched(cls):
        pass
    setattr(Watched, work, lambda self, x: watched(cls.__name__, getattr(cls, work), self, x))
    Watched.__name__ = Watched.__qualname__ = cls.__name__
    watches[cls.__name__] = multiprocessing.Array("d", MOST_WORKERS, lock=False)
    return Watched(*args)

class Decode:
    def __call__(self, image):
        image.load()
        return image.convert("RGB")

class Images(torch.utils.data.Dataset):
    def __init__(self):
        self.transform = T.Compose([stage(Decode), stage(T.RandomResizedCrop, 224), stage(T.ColorJitter, 0.2, 0.2),
                                    T.ToTensor(), stage(T.GaussianBlur, 5), T.Normalize([0.5] * 3, [0.25] * 3)])
    def __len__(self):
        return IMAGES
    def __getitem__(self, index):
        return self.transform(Image.open(f"{FOLDER}/{index}.jpg")), index % 10

def train():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, 2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
                                torch.nn.Flatten(), torch.nn.Linear(8, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for x, y in torch.utils.data.DataLoader(Images(), batch_size=BATCH, num_workers=WORKERS):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    print(json.dumps({name: sum(sums) for name, sums in watches.items()}))

train()
"""


class Images(loading.Recorded):
    def setUp(self):
        super().setUp()
        if not all(support.has_module(PYTHON, module) for module in ("torchvision", "PIL")):
            raise support.unittest.SkipTest(f"{PYTHON} has no torchvision; tools/setup installs it")
        self.program = self.write("train.py", PROGRAM)
        subprocess.run([PYTHON, "-c", MAKE_FILES, self.scratch], check=True)

    def test_stage_table_agrees_with_stopwatches(self):
        for workers in (0, 1, 2, 4) if support.FULL else (0, 2):
            with self.subTest(workers=workers):
                file = self.scratch / f"{workers}.pftrace"
                outcome = support.headroom("record", "-o", file, "--", PYTHON, self.program, self.scratch, workers)
                self.assertEqual(outcome.code, 0, outcome)
                report = support.headroom("data", file, "--json").json()
                stages = {row["name"]: row for row in report["stages"] if row["kind"] == "stage"}
                watches = json.loads(outcome.text)
                self.assertLessEqual({*watches, "PIL.decode"}, set(stages))
                for name, seconds in watches.items():
                    self.assertEqual(stages[name]["count"], 96, name)
                    self.assert_timed_around(stages[name]["total_ms"], 1e3 * seconds, 96, name)
                self.assertEqual(report["loaders"][0]["workers"], workers)
                self.assertEqual(report["loaders"][0]["batches"], 12)
