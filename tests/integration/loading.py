"""Records programs whose data loaders the tests of `headroom data` describe."""
import textwrap

from integration import support

PYTHON = "/usr/bin/python3"  # Debian's Python, for which tools/setup installs PyTorch.

COMPOSE = """
class Compose:
    def __init__(self, transforms):
        self.transforms = transforms
    def __call__(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x
"""

# A loop with a data loader. Each stage has a stopwatch in memory that workers share.
PROGRAM = (
    """
import json, multiprocessing, os, signal, sys, time
import torch
torch.set_num_threads(1)

class Watch:
    def __init__(self, name):
        self.name, self.sums = name, multiprocessing.Array("d", 8, lock=False)
    def __call__(self, x):
        worker = torch.utils.data.get_worker_info()
        begin = time.perf_counter()
        try:
            return self.work(x)
        finally:
            self.sums[0 if worker is None else worker.id] += time.perf_counter() - begin
    def work(self, x):
        return x

class Decode(Watch):
    def work(self, x):
        for _ in range(12):
            torch.nn.functional.avg_pool2d(x[None], 5, 1, 2)
        return x

class Crop(Watch):
    def work(self, x):
        time.sleep(0.002)
        return x[:, :24, :24]

"""
    + COMPOSE
    + """
class Images(torch.utils.data.Dataset):
    def __init__(self, size, transform):
        self.size, self.transform = size, transform
    def __len__(self):
        return self.size
    def __getitem__(self, index):
        return self.transform(torch.ones(3, 64, 64)), index % 10

def train(loader, wait=0):
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in loader:
        optimizer.zero_grad()
        model(batch[0].mean(dim=(2, 3))).mean().backward()
        optimizer.step()
        time.sleep(wait)
"""
)
MAIN = """
if __name__ == "__main__":
    stages = [Decode("Decode"), Crop("Crop")]
    images = Images({samples}, Compose(stages))
"""


class WithPyTorch(support.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not support.has_module(PYTHON, "torch"):
            raise support.unittest.SkipTest(f"{PYTHON} has no PyTorch; tools/setup installs it")


class Recorded(WithPyTorch):
    def record(self, main, setup="", samples=160, code=0):
        """Records a program. Returns its Outcome."""
        program = self.write(
            "train.py",
            PROGRAM + setup + MAIN.replace("{samples}", str(samples)) + textwrap.indent(textwrap.dedent(main), "    "),
        )
        self.file = self.scratch / "r.pftrace"
        outcome = support.headroom("record", "-f", "-o", self.file, "--", PYTHON, program)
        self.assertEqual(outcome.code, code, outcome)
        return outcome

    def data(self, *args, code=0):
        outcome = support.headroom("data", self.file, "--json", *args)
        self.assertEqual(outcome.code, code, outcome)
        report = outcome.json()
        self.assertEqual(support.data_violations(report), [])
        return report

    def assert_timed_around(self, recorded_ms, stopwatch_ms, calls, name):
        """A recorded time starts before the program's own stopwatch and ends after it. On a busy machine, another
        program may run between the two readings. --full assumes an idle machine."""
        self.assertGreaterEqual(recorded_ms, 0.999 * stopwatch_ms, name)
        share, per_call_ms = (1.05, 0.1) if support.FULL else (1.3, 0.5)
        self.assertLess(recorded_ms, share * stopwatch_ms + per_call_ms * calls, name)

    def probe(self, main, setup="", samples=2400):
        program = self.write(
            "train.py",
            PROGRAM + setup + MAIN.replace("{samples}", str(samples)) + textwrap.indent(textwrap.dedent(main), "    "),
        )
        self.file = self.scratch / "r.pftrace"
        return support.headroom("record", "-f", "--probe-input", "-o", self.file, "--", PYTHON, program)


CONTAINER = (
    """
import os, time, torch

FOLDER = os.path.dirname(os.path.abspath(__file__))

def prepare():
    for i in range(8):
        with open(f"{FOLDER}/{i}.bin", "wb") as file:
            file.write(os.urandom(200_000))
            os.fsync(file.fileno())
prepare()

class Slow:
    def __call__(self, x):
        time.sleep(0.004)
        return x

"""
    + COMPOSE
    + """
class Files(torch.utils.data.Dataset):
    def __init__(self, size=64):
        self.size, self.transform = size, Compose([Slow()])
    def __len__(self):
        return self.size
    def __getitem__(self, index):
        with open(f"{FOLDER}/{index % 8}.bin", "rb") as file:
            return self.transform(torch.frombuffer(bytearray(file.read()), dtype=torch.uint8))

class Broken(Files):
    def __getitem__(self, index):
        raise OSError("no such image")

def loader():
    return torch.utils.data.DataLoader(Files(), batch_size=4)
"""
)


class Benched(WithPyTorch):
    def bench(self, name, *args, seconds=0.4):
        self.write("container.py", CONTAINER)
        return support.headroom(
            "data", "bench", f"container:{name}", "--python", PYTHON, "--seconds", seconds, *args, cwd=self.scratch
        )
