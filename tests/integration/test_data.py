"""`headroom data`, with real loaders of PyTorch in real training loops."""
import json
import subprocess
import textwrap

from integration import support

# tests/run: no other tests meanwhile.
MEASURES_TIME = True

PYTHON = "/usr/bin/python3"  # Debian's, for which tools/setup installs PyTorch.

# A loop whose loader the tests describe; each stage keeps a stopwatch of its own, in memory that workers share.
PROGRAM = """
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

class Compose:
    def __init__(self, transforms):
        self.transforms = transforms
    def __call__(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

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
MAIN = """
if __name__ == "__main__":
    stages = [Decode("Decode"), Crop("Crop")]
    images = Images({samples}, Compose(stages))
"""


class WithPyTorch(support.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode != 0:
            raise support.unittest.SkipTest(f"{PYTHON} has no PyTorch; tools/setup installs it")


class Data(WithPyTorch):
    def record(self, main, setup="", samples=160, code=0):
        """Records a program; returns its Outcome."""
        program = self.write("train.py", PROGRAM + setup + MAIN.replace("{samples}", str(samples)) +
                             textwrap.indent(textwrap.dedent(main), "    "))
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

    # --- what is measured ----------------------------------------------------------------------------------------

    def test_stages_agree_with_stopwatches_of_the_program(self):
        for workers in (0, 1, 2, 4):
            with self.subTest(workers=workers):
                outcome = self.record(f"""
                    train(torch.utils.data.DataLoader(images, batch_size=8, num_workers={workers}))
                    print(json.dumps({{stage.name: sum(stage.sums) for stage in stages}}))
                    """)
                report = self.data()
                stages = {row["name"]: row for row in report["stages"] if row["kind"] == "stage"}
                for name, seconds in json.loads(outcome.text).items():
                    self.assertEqual(stages[name]["count"], 160)
                    self.assertAlmostEqual(stages[name]["own_ms"] / (1e3 * seconds), 1, delta=0.05, msg=name)
                self.assertAlmostEqual(sum(row["share_pct"] for row in report["stages"]), 100, delta=0.1)
                loader = report["loaders"][0]
                self.assertEqual((loader["workers"], loader["batch_size"], loader["dataset_size"]), (workers, 8, 160))
                self.assertEqual((loader["batches"], loader["fetches"], loader["epochs"]), (20, 20, 1))
                self.assertEqual(len(report["workers"]), max(1, workers))
                self.assertEqual(len(list(self.scratch.glob("r.pftrace*"))), 1)  # Workers have no files of their own.

    def test_what_blocks_is_told_from_what_computes(self):
        cases = {"preparation": "Decode('a'), Decode('b')", "fetch": "Crop('a'), Crop('b')"}
        for bound, stages in cases.items():
            with self.subTest(bound):
                self.record(f"train(torch.utils.data.DataLoader(Images(160, Compose([{stages}])), batch_size=8, num_workers=1))")
                report = self.data()
                self.assertEqual(report["bound"], bound, report["batch"])
                self.assertGreater(report["loop"]["wait_share_pct"], 50)
        self.record("train(torch.utils.data.DataLoader(Images(160, Compose([])), batch_size=8, num_workers=1), wait=0.1)")
        self.assertEqual(self.data()["bound"], "none")

    def test_each_way_to_start_workers(self):
        for start in ("fork", "spawn", "forkserver"):
            with self.subTest(start):
                self.record(f"""
                    loader = torch.utils.data.DataLoader(images, batch_size=8, num_workers=2, multiprocessing_context="{start}",
                                                         persistent_workers={start == "spawn"})
                    for _ in range(2):
                        train(loader)
                    """, samples=96)
                report = self.data()
                self.assertEqual(report["loaders"][0]["epochs"], 2)
                self.assertEqual(report["loaders"][0]["batches"], 24)
                self.assertEqual({row["name"] for row in report["stages"] if row["kind"] == "stage"}, {"Decode", "Crop"})
                self.assertGreater(report["loop"]["epoch_start_ms"], 0)

    def test_iterable_datasets_functions_and_modules_as_stages(self):
        setup = """
def double(x):
    return x * 2

class Shift(torch.nn.Module):
    def forward(self, x):
        return x + 1

class Stream(torch.utils.data.IterableDataset):
    def __init__(self, transform):
        self.transform = transform
    def __iter__(self):
        for i in range(40):
            yield self.transform(torch.ones(3, 8, 8))
"""
        for workers in (0, 2):
            with self.subTest(workers=workers):
                self.record(f"""
                    stream = Stream(Compose([double, Shift(), Compose([Shift()])]))
                    train((x,) for x in torch.utils.data.DataLoader(stream, batch_size=4, num_workers={workers}))
                    """, setup=setup)
                report = self.data()
                self.assertEqual(report["loaders"][0]["batches"], 10 * max(1, workers))
                names = {row["name"] for row in report["stages"] if row["kind"] == "stage"}
                # What the loop's own process holds is the program's: a function there stays as it is.
                self.assertEqual(names, {"Shift", "Shift (2)"} | ({"double"} if workers else set()))

    # --- what must not change in the program -----------------------------------------------------------------------

    def test_functions_are_stages_once_however_many_epochs(self):
        setup = "def double(x):\n    return x * 2\n"
        self.record("""
            images = Images(16, Compose([double, stages[0]]))
            loader = torch.utils.data.DataLoader(images, batch_size=8, num_workers=1, persistent_workers=True)
            for _ in range(30):
                train(loader)
            """, setup=setup)
        counts = {row["name"]: row["count"] for row in self.data()["stages"] if row["kind"] == "stage"}
        self.assertEqual(counts, {"double": 480, "Decode": 480})

    def test_what_a_dataset_holds_is_pickled_as_ever(self):
        setup = "import numpy, io\n" + """
class Arrays(torch.utils.data.Dataset):
    def __init__(self):
        self.loader, self.target_transform = numpy.load, dict
        self.file = io.BytesIO()
        numpy.save(self.file, numpy.zeros((3, 8, 8), "float32"))
    def __len__(self):
        return 16
    def __getitem__(self, index):
        self.target_transform([(1, 2)])
        return self.loader(io.BytesIO(self.file.getvalue())), 0
"""
        self.record("""
            images = Arrays()
            for workers, start in ((0, None), (1, "spawn"), (0, None)):
                train(torch.utils.data.DataLoader(images, batch_size=4, num_workers=workers, multiprocessing_context=start))
            """, setup=setup)
        self.assertEqual(sum(loader["batches"] for loader in self.data()["loaders"]), 12)

    def test_workers_that_are_ended_in_the_middle(self):
        """What they had begun ends with them, not with the recording."""
        self.record("""
            for batch in torch.utils.data.DataLoader(images, batch_size=4, num_workers=2):
                break
            time.sleep(2)
            train(torch.utils.data.DataLoader(images, batch_size=4, num_workers=2))
            """)
        report = self.data()
        self.assertLess(max(worker["busy_ms"] + worker["idle_ms"] for worker in report["workers"]), 1800)
        for row in report["stages"]:
            self.assertLess(row["total_ms"], 1800, row)

    def test_loaders_in_threads(self):
        self.record("""
            import threading
            def drain():
                for _ in range(20):
                    for batch in torch.utils.data.DataLoader(Images(16, Compose([])), batch_size=2):
                        pass
            threads = [threading.Thread(target=drain) for _ in range(3)]
            for thread in threads: thread.start()
            drain()
            for thread in threads: thread.join()
            """)
        # Iterators that are made or asked at the same moment may be taken for each other: counters are the process's. A busy
        # machine has more such moments: 509 of 640 were told apart on one.
        self.assertGreater(sum(loader["batches"] for loader in self.data()["loaders"]), 0.6 * 4 * 20 * 8)

    def test_only_some_steps(self):
        program = self.write("train.py", PROGRAM + MAIN.replace("{samples}", "400") +
                             "    train(torch.utils.data.DataLoader(images, batch_size=8, num_workers=1))\n")
        self.file = self.scratch / "r.pftrace"
        outcome = support.headroom("record", "-o", self.file, "--steps", "10:40", "--", PYTHON, program)
        self.assertEqual(outcome.code, 0, outcome)
        loader = self.data()["loaders"][0]
        self.assertEqual((loader["workers"], loader["batch_size"]), (1, 8))
        self.assertIn(loader["fetches"], (30, 31))
        self.assertGreater(loader["batches"], 25)

    def test_an_index_that_is_a_text_is_the_programs(self):
        setup = """
class Patients(torch.utils.data.Dataset):
    def __len__(self):
        return 3
    def __getitem__(self, index):
        raise ValueError(index)
"""
        self.record("""
            for batch in torch.utils.data.DataLoader(Patients(), sampler=["john-doe"] * 3, batch_size=1):
                pass
            """, setup=setup, code=1)
        self.assertNotIn(b"john-doe", self.file.read_bytes())
        self.assert_refused(support.headroom("data", self.file), 3, "failed a sample: ValueError")

    # --- probes in a run -------------------------------------------------------------------------------------------

    def probe(self, main, setup="", samples=2400):
        program = self.write("train.py", PROGRAM + setup + MAIN.replace("{samples}", str(samples)) +
                             textwrap.indent(textwrap.dedent(main), "    "))
        self.file = self.scratch / "r.pftrace"
        return support.headroom("record", "-f", "--probe-input", "-o", self.file, "--", PYTHON, program)

    def test_probes_tell_the_loop_from_its_loader(self):
        """8 ms a step and more, 8 samples of 2 ms each and more: the loader of one worker is the slower one, that of two and a deep queue hardly."""
        for flags in ("num_workers=0", "num_workers=1", "num_workers=2, prefetch_factor=4"):
            with self.subTest(flags):
                outcome = self.probe(f"""
                    naps = Images(2400, Compose([Crop('a')]))
                    train(torch.utils.data.DataLoader(naps, batch_size=8, {flags}), wait=0.008)
                    """)
                self.assertEqual(outcome.code, 0, outcome)
                self.assertIn("do not keep what this run learns", outcome.message)
                report = self.data()
                probe = report["probe"]
                self.assertEqual([probe[key]["count"] for key in ("step_ms", "loop_ms", "loader_ms", "again_ms")], [4, 4, 5, 5], probe)
                loop, loader = probe["loop_ms"]["mid"], probe["loader_ms"]["mid"]
                workers = report["loaders"][0]["workers"]
                self.assertGreater(loop, 8)
                self.assertGreater(loader, 8 * 2 / max(1, workers))
                # Had the queue that repeating has filled been part of its steps as ever, they would be half as long with one worker. With two
                # and a deep queue, nothing but noise is between all these figures.
                if workers < 2:
                    expected = max(loop, loader) if workers else loop + loader
                    for one, other in ((probe["step_ms"]["mid"], expected), (probe["step_ms"]["mid"], report["loop"]["step_ms"]),
                                       (probe["again_ms"]["mid"], loader)):
                        self.assertTrue(0.65 < one / other < 1.5, probe)
                self.assertAlmostEqual(probe["limit_ms"], max(loop, probe["again_ms"]["mid"]))
                # All else is of the program as it is.
                self.assertEqual(len(report["loaders"]), 1)
                self.assertEqual(report["loaders"][0]["epochs"], 1)
                self.assertIn("a step with the last batch again", support.headroom("data", self.file).text)

    def test_an_epoch_keeps_its_length(self):
        setup = """
def counted(loader):
    for batch in loader:
        counted.steps += 1
        yield batch
counted.steps = 0
"""
        for workers in (0, 1):
            with self.subTest(workers=workers):
                outcome = self.probe(f"""
                    loader = torch.utils.data.DataLoader(Images(3200, Compose([])), batch_size=8, num_workers={workers})
                    train(counted(loader))
                    print(counted.steps, len(loader))
                    """, setup=setup)
                self.assertEqual(outcome.code, 0, outcome)
                steps, batches = map(int, outcome.text.split())
                self.assertLessEqual(steps, batches)
                self.assertGreater(steps, batches / 2)

    def test_probes_over_short_epochs_streams_and_batches_that_the_loop_changes(self):
        setup = """
class Point(tuple):
    pass

class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter([{"x": torch.ones(3, 8, 8), "name": "n"}] * 240)

def collate(samples):
    return {"x": torch.stack([sample["x"] for sample in samples]), "name": Point((len(samples),))}

def consume(loader):
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(10):
        ahead = None
        for batch in loader:
            batch, ahead = ahead, batch  # As loops do that copy a batch to the device while they work on the one before.
            if batch is None:
                continue
            assert type(batch.pop("name")) is Point
            x = batch.pop("x").mul_(0.5)
            assert x.max() == 0.5, x.max()
            model(x.mean(dim=(2, 3))).mean().backward()
            optimizer.step()
"""
        outcome = self.probe("consume(torch.utils.data.DataLoader(Stream(), batch_size=4, num_workers=1, collate_fn=collate))", setup=setup)
        self.assertEqual(outcome.code, 0, outcome)
        probe = self.data()["probe"]
        self.assertEqual(probe["loop_ms"]["count"], 4)
        self.assertIsNone(probe["again_ms"])
        self.assertIsNone(probe["limit_ms"])
        self.assertTrue(any("stream" in doubt for doubt in probe["doubts"]), probe)

    def test_probes_of_workers_that_stay_and_workers_that_are_spawned(self):
        for flags in ("num_workers=2, persistent_workers=True", "num_workers=1, multiprocessing_context='spawn'"):
            with self.subTest(flags):
                outcome = self.probe(f"""
                    loader = torch.utils.data.DataLoader(Images(640, Compose([])), batch_size=8, {flags})
                    for epoch in range(6):
                        for count, batch in enumerate(loader):
                            train([batch])
                            if epoch % 2 and count > 30: break
                    """)
                self.assertEqual(outcome.code, 0, outcome)
                report = self.data()
                probe = report["probe"]
                self.assertEqual(probe["loop_ms"]["count"], 4, probe)
                self.assertFalse([doubt for doubt in probe["doubts"] if "pressure" not in doubt], probe)
                self.assertGreater(report["loaders"][0]["fetches"], 50)

    def test_an_iterator_that_outlives_its_loader(self):
        outcome = self.probe("train(iter(torch.utils.data.DataLoader(Images(400, Compose([])), batch_size=8, num_workers=1, persistent_workers=True)))")
        self.assertEqual(outcome.code, 0, outcome)
        self.assertTrue(any("without its loader" in doubt for doubt in self.data()["probe"]["doubts"]))

    def test_what_does_not_go_with_a_probe_is_refused(self):
        for flags in (("--level", "metrics"), ("--steps", "10:20")):
            outcome = support.headroom("record", "--probe-input", *flags, "-o", self.scratch / "no.pftrace", "--", "true")
            self.assert_refused(outcome, 2, "--probe-input", flags[0])
            self.assertFalse((self.scratch / "no.pftrace").exists())

    def test_a_validation_on_the_same_dataset_is_not_probed(self):
        outcome = self.probe("""
            parts = [torch.utils.data.SubsetRandomSampler(range(a, a + 480)) for a in (0, 480)]
            dataset = Images(960, Compose([]))
            model = torch.nn.Linear(3, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for epoch in range(6):
                train_part, held_out = [torch.utils.data.DataLoader(dataset, batch_size=b, sampler=s) for b, s in zip((8, 6), parts)]
                for x, y in train_part:
                    assert len(x) == 8
                    optimizer.zero_grad()
                    model(x.mean(dim=(2, 3))).mean().backward()
                    optimizer.step()
                count = 0
                for x, y in held_out:
                    assert len(x) == 6
                    count += 1
                assert count == 80, count
            """)
        self.assertEqual(outcome.code, 0, outcome)
        probes = {report["loaders"][0]["batch_size"]: report["probe"] for report in (self.data("--loader", 1), self.data("--loader", 2))}
        self.assertIsNone(probes[6])
        self.assertEqual(probes[8]["loop_ms"]["count"], 4)

    def test_an_evaluation_within_a_turn_is_no_step(self):
        outcome = self.probe("""
            model = torch.nn.Linear(3, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            held_out = torch.utils.data.DataLoader(Images(8, Compose([])), batch_size=8)
            for number, (x, y) in enumerate(torch.utils.data.DataLoader(Images(4000, Compose([])), batch_size=8, num_workers=1)):
                optimizer.zero_grad()
                model(x.mean(dim=(2, 3))).mean().backward()
                optimizer.step()
                if number % 25 == 24:
                    for batch in held_out:
                        time.sleep(0.2)
            """)
        self.assertEqual(outcome.code, 0, outcome)
        probes = [self.data("--loader", number)["probe"] for number in (1, 2)]
        (probe,) = [probe for probe in probes if probe]  # It is shown under the loader that was probed.
        self.assertEqual(probe["loop_ms"]["count"], 4)
        self.assertLess(probe["loop_ms"]["high"], 20, probe)

    def test_what_cannot_be_probed_is_told(self):
        two = """
            model = torch.nn.Linear(3, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            loaders = [torch.utils.data.DataLoader(Images(1600, Compose([])), batch_size=8) for _ in range(2)]
            for (x, y), (u, v) in zip(*loaders):
                optimizer.zero_grad()
                model(x.mean(dim=(2, 3))).mean().backward()
                optimizer.step()
            """
        loop = "for batch in torch.utils.data.DataLoader(Images(400, Compose([])), batch_size=8, num_workers=1): "
        cases = {"other loaders": two, "no loader": loop + "pass", "several ranks": "os.environ['WORLD_SIZE'] = '2'\n" + loop + "train([batch])"}
        for piece, main in cases.items():
            with self.subTest(piece):
                outcome = self.probe(main)
                self.assertEqual(outcome.code, 0, outcome)
                self.assertTrue(any(piece in doubt for doubt in self.data()["probe"]["doubts"]))

    def test_probes_leave_the_programs_errors_alone(self):
        setup = """
class Late(Images):
    def __getitem__(self, index):
        if index == 200:
            raise ValueError("mine")
        return super().__getitem__(index)
"""
        outcome = self.probe("train(torch.utils.data.DataLoader(Late(400, Compose([])), batch_size=8, num_workers=1))", setup=setup)
        self.assertEqual(outcome.code, 1)
        self.assertIn("ValueError: mine", outcome.message)
        self.assertNotIn("During handling", outcome.message)

    def test_a_run_that_ends_within_its_probe(self):
        outcome = self.probe("train(torch.utils.data.DataLoader(images, batch_size=8, num_workers=1))", samples=160)
        self.assertEqual(outcome.code, 0, outcome)
        report = self.data()
        self.assertTrue(report["probe"]["doubts"])
        self.assertIsNone(report["forecast"])

    # --- forecasts -----------------------------------------------------------------------------------------------

    def test_forecasts_of_settings_that_are_asked_for(self):
        self.record("train(torch.utils.data.DataLoader(images, batch_size=8, num_workers=1), wait=0.02)", samples=320)
        report = self.data("workers=0", "workers=2,prefetch=4", "cached=100%", "stage=Decode:2")
        rows = report["forecast"]["asked"]
        self.assertEqual([row["setting"] for row in rows], ["workers=0", "workers=2,prefetch=4", "cached=100%", "stage=Decode:2"])
        for row in rows:
            step = row["step_ms"]
            self.assertLessEqual(step["low"], step["mid"])
            self.assertLessEqual(step["mid"], step["high"])
        alone, two, cached, faster = (row["step_ms"]["mid"] for row in rows)
        recorded = report["loop"]["step_ms"]
        self.assertGreater(alone, recorded)
        self.assertLess(two, recorded)
        self.assertLess(cached, recorded)
        self.assertLessEqual(faster, recorded)
        options = {row["setting"] for row in report["forecast"]["options"]}
        self.assertIn(report["forecast"]["best"], options)
        self.assertIn(report["forecast"]["cheapest"], options)

    def test_text_for_people(self):
        self.record("train(torch.utils.data.DataLoader(images, batch_size=8, num_workers=1), wait=0.005)", samples=320)
        outcome = support.headroom("data", self.file, "workers=2", environment={"LC_ALL": "C.UTF-8"})
        self.assertEqual(outcome.code, 0, outcome)
        for piece in ("Input pipeline: ", "1 worker, 2 batches a worker ahead, batches of 8 from 320 samples", "Decode", "(collate)",
                      "workers=2  ", "as recorded", "cheapest setting within 2 %", "Check: the recorded setting simulates to"):
            self.assertIn(piece, outcome.text)
        self.assertLessEqual(max(map(len, outcome.text.splitlines())), 100)

    def test_one_of_several_loaders(self):
        self.record("""
            for _ in range(2):
                train(torch.utils.data.DataLoader(images, batch_size=8))
                train(torch.utils.data.DataLoader(Images(20, Compose([])), batch_size=4))
            """)
        first, second = self.data()["loaders"]
        self.assertEqual((first["batch_size"], second["batch_size"]), (8, 4))
        self.assertEqual([loader["batch_size"] for loader in self.data("--loader", 2)["loaders"]], [4, 8])
        self.assert_refused(support.headroom("data", self.file, "--loader", 3), 2, "2 loaders")

    def test_too_little_for_a_forecast(self):
        self.record("train(torch.utils.data.DataLoader(images, batch_size=8, num_workers=1))", samples=40)
        report = self.data()
        self.assertIsNone(report["forecast"])
        self.assertRegex(report["no_forecast"], r"\d batches and \d steps were recorded")

    # --- what goes wrong -----------------------------------------------------------------------------------------

    def test_a_dataset_that_raises_is_told_with_sample_and_stage(self):
        setup = """
class Broken(Watch):
    def work(self, x):
        raise ValueError("secret text")

class Picky(Images):
    def __getitem__(self, index):
        return (Broken("b") if index == 77 else self.transform)(torch.ones(3, 64, 64)), index % 10
"""
        for workers in (0, 2):
            with self.subTest(workers=workers):
                outcome = self.record(f"train(torch.utils.data.DataLoader(Picky(160, Compose(stages)), batch_size=8, num_workers={workers}))",
                                      setup=setup, code=1)
                self.assertIn("secret text", outcome.message)  # The program's own error, as ever.
                self.assertIn("ValueError", outcome.message)
                failures = self.data()["failures"]
                self.assertEqual(failures, ["failed sample 77: ValueError"])
                self.assertNotIn(b"secret text", self.file.read_bytes())

    def test_a_stage_that_raises_is_named(self):
        setup = """
class Broken(Watch):
    def work(self, x):
        self.sums[7] += 1
        if self.sums[7] > 20:
            raise KeyError("k")
        return x
"""
        self.record("train(torch.utils.data.DataLoader(Images(160, Compose([stages[1], Broken('b')])), batch_size=8))", setup=setup, code=1)
        self.assertRegex(self.data()["failures"][0], r"^failed sample \d+ in stage::Broken: KeyError$")

    def test_a_worker_that_dies(self):
        setup = """
class Deadly(Images):
    def __getitem__(self, index):
        if index == 100:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)
"""
        outcome = self.record("train(torch.utils.data.DataLoader(Deadly(160, Compose(stages)), batch_size=8, num_workers=2))", setup=setup, code=1)
        self.assertIn("killed by signal", outcome.message)
        report = self.data()
        self.assertIn("worker_died worker 0: signal 9", report["failures"])
        self.assertGreaterEqual(report["loaders"][0]["batches"], 8)

    def test_a_stage_that_returns_nothing(self):
        setup = "class Void(Watch):\n    def work(self, x):\n        return None\n"
        outcome = self.record("train(torch.utils.data.DataLoader(Images(16, Compose([Void('v')])), batch_size=8, num_workers=1))",
                              setup=setup, code=1)
        self.assertIn("NoneType", outcome.message)
        self.assert_refused(support.headroom("data", self.file), 3, "no batch", "nothing_returned stage::Void")

    def test_no_data_at_all(self):
        self.record("""
            for batch in torch.utils.data.DataLoader(images, batch_size=8, num_workers=1):
                pass
            """, samples=0)
        outcome = support.headroom("data", self.file)
        self.assert_refused(outcome, 3, "empty")

    def test_a_profilers_trace_tells_what_the_gpu_feels(self):
        for name, bound, wait_pct in (("loop-without-gpu", "unknown", 30), ("copy-to-device-exposed", "transfer", 0)):
            with self.subTest(name):
                self.file = support.GOLDEN / name / "trace.json"
                report = self.data()
                self.assertEqual((report["bound"], report["loaders"], report["stages"]), (bound, [], []))
                self.assertAlmostEqual(report["loop"]["wait_share_pct"], wait_pct)
                self.assertIsNone(report["batch"]["prepare_ms"])
                outcome = support.headroom("data", self.file)
                self.assertIn("headroom record", outcome.text)
                self.assert_refused(support.headroom("data", self.file, "workers=2"), 3, "a forecast needs")
        self.file = support.data_file("public-traces/hta__trace_filter__sampled_rank-0.json.gz")
        report = self.data()
        self.assertEqual(report["bound"], "none")
        self.assertLess(report["loop"]["exposed_wait_ms"], report["loop"]["wait_ms"])

    def test_a_trace_without_a_loader_is_refused_with_the_remedy(self):
        outcome = support.headroom("data", support.ROOT / "data/samples/bert_base_amp_fp16_h200.json.gz")
        self.assert_refused(outcome, 3, "headroom record", "DataLoader")
        self.assert_refused(support.headroom("data", "no.pftrace", "workers=none"), 2, "workers=none", "prefetch")
        self.assert_refused(support.headroom("data", self.scratch / "no.pftrace"), 3, "no.pftrace")


CONTAINER = """
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

class Compose:
    def __init__(self, transforms):
        self.transforms = transforms
    def __call__(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

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


class Bench(WithPyTorch):
    def bench(self, name, *args):
        self.write("container.py", CONTAINER)
        return support.headroom("data", "bench", f"container:{name}", "--python", PYTHON, "--seconds", 0.4, *args, cwd=self.scratch)

    def test_samples_stages_and_workers(self):
        outcome = self.bench("loader", "--workers", "0,2", "--json")
        self.assertEqual(outcome.code, 0, outcome)
        result = outcome.json()
        self.assertEqual(result["schema"], "headroom.data-bench/1")
        self.assertEqual(support.data_violations(result), [])
        sample, (stage,) = result["sample_s"], result["stages"]
        self.assertEqual(stage["name"], "Slow")
        self.assertGreater(stage["sample_s"]["mean"], 0.004)
        self.assertGreater(sample["mean"], stage["sample_s"]["mean"])
        self.assertGreater(stage["share"], 0.5)
        for row in (sample, stage["sample_s"]):
            self.assertLessEqual(row["low"], row["mean"])
            self.assertLessEqual(row["mean"], row["high"])
        self.assertEqual(result["collate_s"]["batch_size"], 4)
        alone, two = result["loaders"]
        self.assertEqual((alone["workers"], two["workers"]), (0, 2))
        self.assertGreater(two["samples_per_s"]["mean"], 1.3 * alone["samples_per_s"]["mean"])
        self.assertLess(alone["samples_per_s"]["mean"], 1 / 0.004)

    def test_text(self):
        outcome = self.bench("Files", "--workers", "0")
        self.assertEqual(outcome.code, 0, outcome)
        for piece in ("One sample", "files in memory", "Slow", "collate 32", "samples/s", "0 workers"):
            self.assertIn(piece, outcome.text)
        self.assertLessEqual(max(map(len, outcome.text.splitlines())), 100)

    def test_what_goes_wrong_is_told(self):
        self.assert_refused(self.bench("Broken"), 3, "sample", "no such image")
        self.assert_refused(self.bench("nothing"), 2, "nothing")
        self.assert_refused(self.bench("loader", "--workers", "two"), 2, "two")
        self.assert_refused(support.headroom("data", "bench", "container", "--python", PYTHON, cwd=self.scratch), 2, "MODULE:FUNCTION")
        self.assert_refused(support.headroom("data", "bench", "a:b", "--python", "/nonexistent"), 2, "--python")
        self.write("container.py", CONTAINER + "\ndef empty():\n    return Files(0)\n")
        self.assert_refused(support.headroom("data", "bench", "container:empty", "--python", PYTHON, cwd=self.scratch), 3, "empty")
