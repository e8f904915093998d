"""Tests the facts that `headroom data` reports about real PyTorch loaders in real training loops, independent of
times."""
from integration import loading, support


class Data(loading.Recorded):
    def test_each_way_to_start_workers(self):
        for start in ("fork", "spawn", "forkserver"):
            with self.subTest(start):
                self.record(
                    f"""
                    loader = torch.utils.data.DataLoader(images, batch_size=8, num_workers=2,
                                                         multiprocessing_context="{start}",
                                                         persistent_workers={start == "spawn"})
                    for _ in range(2):
                        train(loader)
                    """,
                    samples=96,
                )
                report = self.data()
                self.assertEqual(report["loaders"][0]["epochs"], 2)
                self.assertEqual(report["loaders"][0]["batches"], 24)
                self.assertEqual(
                    {row["name"] for row in report["stages"] if row["kind"] == "stage"}, {"Decode", "Crop"}
                )
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
                self.record(
                    f"""
                    stream = Stream(Compose([double, Shift(), Compose([Shift()])]))
                    train((x,) for x in torch.utils.data.DataLoader(stream, batch_size=4, num_workers={workers}))
                    """,
                    setup=setup,
                )
                report = self.data()
                self.assertEqual(report["loaders"][0]["batches"], 10 * max(1, workers))
                names = {row["name"] for row in report["stages"] if row["kind"] == "stage"}
                # Objects in the loop's own process belong to the program: a function there stays unchanged.
                self.assertEqual(names, {"Shift", "Shift (2)"} | ({"double"} if workers else set()))

    def test_functions_are_stages_once_however_many_epochs(self):
        setup = "def double(x):\n    return x * 2\n"
        self.record(
            """
            images = Images(16, Compose([double, stages[0]]))
            loader = torch.utils.data.DataLoader(images, batch_size=8, num_workers=1, persistent_workers=True)
            for _ in range(30):
                train(loader)
            """,
            setup=setup,
        )
        counts = {row["name"]: row["count"] for row in self.data()["stages"] if row["kind"] == "stage"}
        self.assertEqual(counts, {"double": 480, "Decode": 480})

    def test_what_a_dataset_holds_is_pickled_as_ever(self):
        setup = (
            "import numpy, io\n"
            + """
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
        )
        self.record(
            """
            images = Arrays()
            for workers, start in ((0, None), (1, "spawn"), (0, None)):
                train(torch.utils.data.DataLoader(images, batch_size=4, num_workers=workers,
                                                  multiprocessing_context=start))
            """,
            setup=setup,
        )
        self.assertEqual(sum(loader["batches"] for loader in self.data()["loaders"]), 12)

    def test_only_some_steps(self):
        program = self.write(
            "train.py",
            loading.PROGRAM
            + loading.MAIN.replace("{samples}", "400")
            + "    train(torch.utils.data.DataLoader(images, batch_size=8, num_workers=1))\n",
        )
        self.file = self.scratch / "r.pftrace"
        outcome = support.headroom("record", "-o", self.file, "--steps", "10:40", "--", loading.PYTHON, program)
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
        self.record(
            """
            for batch in torch.utils.data.DataLoader(Patients(), sampler=["john-doe"] * 3, batch_size=1):
                pass
            """,
            setup=setup,
            code=1,
        )
        self.assertNotIn(b"john-doe", self.file.read_bytes())
        self.assert_refused(support.headroom("data", self.file), 3, "failed a sample: ValueError")

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
                outcome = self.probe(
                    f"""
                    loader = torch.utils.data.DataLoader(Images(3200, Compose([])), batch_size=8, num_workers={workers})
                    train(counted(loader))
                    print(counted.steps, len(loader))
                    """,
                    setup=setup,
                )
                self.assertEqual(outcome.code, 0, outcome)
                steps, batches = map(int, outcome.text.split())
                self.assertLessEqual(steps, batches)
                self.assertGreater(steps, batches / 2)

    def test_an_iterator_that_outlives_its_loader(self):
        outcome = self.probe(
            "train(iter(torch.utils.data.DataLoader(Images(400, Compose([])), batch_size=8, "
            "num_workers=1, persistent_workers=True)))"
        )
        self.assertEqual(outcome.code, 0, outcome)
        self.assertTrue(any("without its loader" in doubt for doubt in self.data()["probe"]["doubts"]))

    def test_what_does_not_go_with_a_probe_is_refused(self):
        for flags in (("--level", "metrics"), ("--steps", "10:20")):
            outcome = support.headroom(
                "record", "--probe-input", *flags, "-o", self.scratch / "no.pftrace", "--", "true"
            )
            self.assert_refused(outcome, 2, "--probe-input", flags[0])
            self.assertFalse((self.scratch / "no.pftrace").exists())

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
        cases = {
            "other loaders": two,
            "no PyTorch loader": loop + "pass",
            "several ranks": "os.environ['WORLD_SIZE'] = '2'\n" + loop + "train([batch])",
        }
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
        outcome = self.probe(
            "train(torch.utils.data.DataLoader(Late(400, Compose([])), batch_size=8, num_workers=1))", setup=setup
        )
        self.assertEqual(outcome.code, 1)
        self.assertIn("ValueError: mine", outcome.message)
        self.assertNotIn("During handling", outcome.message)

    def test_a_run_that_ends_within_its_probe(self):
        outcome = self.probe("train(torch.utils.data.DataLoader(images, batch_size=8, num_workers=1))", samples=160)
        self.assertEqual(outcome.code, 0, outcome)
        report = self.data()
        self.assertTrue(report["probe"]["doubts"])
        self.assertIsNone(report["forecast"])

    def test_text_for_people(self):
        self.record("train(torch.utils.data.DataLoader(images, batch_size=8, num_workers=1), wait=0.005)", samples=320)
        outcome = support.headroom("data", self.file, "workers=2", "--full", environment={"LC_ALL": "C.UTF-8"})
        self.assertEqual(outcome.code, 0, outcome)
        for piece in (
            "Input pipeline: ",
            "1 worker, 2 batches ahead per worker, batches of 8 from 320 samples",
            "Decode",
            "(collate)",
            "workers=2  ",
            "as recorded",
            "cheapest setting within 2 %",
            "Check: a step of the recorded setting takes",
        ):
            self.assertIn(piece, outcome.text)
        self.assertLessEqual(max(map(len, outcome.text.splitlines())), 100)

    def test_one_of_several_loaders(self):
        self.record(
            """
            for _ in range(2):
                train(torch.utils.data.DataLoader(images, batch_size=8))
                train(torch.utils.data.DataLoader(Images(20, Compose([])), batch_size=4))
            """
        )
        first, second = self.data()["loaders"]
        self.assertEqual((first["batch_size"], second["batch_size"]), (8, 4))
        self.assertEqual([loader["batch_size"] for loader in self.data("--loader", 2)["loaders"]], [4, 8])
        self.assert_refused(support.headroom("data", self.file, "--loader", 3), 2, "2 loaders")

    def test_too_little_for_a_forecast(self):
        self.record("train(torch.utils.data.DataLoader(images, batch_size=8, num_workers=1))", samples=40)
        report = self.data()
        self.assertIsNone(report["forecast"])
        self.assertRegex(report["no_forecast"], r"\d batches and \d steps were recorded")

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
                outcome = self.record(
                    "train(torch.utils.data.DataLoader(Picky(160, Compose(stages)), "
                    f"batch_size=8, num_workers={workers}))",
                    setup=setup,
                    code=1,
                )
                self.assertIn("secret text", outcome.message)  # The program's own error, unchanged.
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
        self.record(
            "train(torch.utils.data.DataLoader(Images(160, Compose([stages[1], Broken('b')])), batch_size=8))",
            setup=setup,
            code=1,
        )
        self.assertRegex(self.data()["failures"][0], r"^failed sample \d+ in stage::Broken: KeyError$")

    def test_a_worker_that_dies(self):
        setup = """
class Deadly(Images):
    def __getitem__(self, index):
        if index == 100:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)
"""
        outcome = self.record(
            "train(torch.utils.data.DataLoader(Deadly(160, Compose(stages)), batch_size=8, num_workers=2))",
            setup=setup,
            code=1,
        )
        self.assertIn("killed by signal", outcome.message)
        report = self.data()
        self.assertIn("worker_died worker 0: signal 9", report["failures"])
        self.assertGreaterEqual(report["loaders"][0]["batches"], 8)

    def test_a_stage_that_returns_nothing(self):
        setup = "class Void(Watch):\n    def work(self, x):\n        return None\n"
        outcome = self.record(
            "train(torch.utils.data.DataLoader(Images(16, Compose([Void('v')])), batch_size=8, num_workers=1))",
            setup=setup,
            code=1,
        )
        self.assertIn("NoneType", outcome.message)
        self.assert_refused(support.headroom("data", self.file), 3, "no batch", "nothing_returned stage::Void")

    def test_no_data_at_all(self):
        self.record(
            """
            for batch in torch.utils.data.DataLoader(images, batch_size=8, num_workers=1):
                pass
            """,
            samples=0,
        )
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
                self.assert_refused(support.headroom("data", self.file, "workers=2"), 3, "a forecast requires")
        self.file = support.data_file("public-traces/hta__trace_filter__sampled_rank-0.json.gz")
        report = self.data()
        self.assertEqual(report["bound"], "none")
        self.assertLess(report["loop"]["exposed_wait_ms"], report["loop"]["wait_ms"])

    def test_a_trace_without_a_loader_is_refused_with_the_remedy(self):
        outcome = support.headroom("data", support.ROOT / "data/samples/bert_base_amp_fp16_h200.json.gz")
        self.assert_refused(outcome, 3, "headroom record", "DataLoader")
        self.assert_refused(support.headroom("data", "no.pftrace", "workers=none"), 2, "workers=none", "prefetch")
        self.assert_refused(support.headroom("data", self.scratch / "no.pftrace"), 3, "no.pftrace")


class Bench(loading.Benched):
    def test_text(self):
        outcome = self.bench("Files", "--workers", "0", seconds=3)  # On a busy machine, 0.4 s has too few batches.
        self.assertEqual(outcome.code, 0, outcome)
        for piece in ("One sample", "files in memory", "Slow", "collate 32", "samples/s", "0 workers"):
            self.assertIn(piece, outcome.text)
        self.assertLessEqual(max(map(len, outcome.text.splitlines())), 100)

    def test_what_goes_wrong_is_told(self):
        self.assert_refused(self.bench("Broken"), 3, "sample", "no such image")
        self.assert_refused(self.bench("nothing"), 2, "nothing")
        self.assert_refused(self.bench("loader", "--workers", "two"), 2, "two")
        self.assert_refused(
            support.headroom("data", "bench", "container", "--python", loading.PYTHON, cwd=self.scratch),
            2,
            "MODULE:FUNCTION",
        )
        self.assert_refused(support.headroom("data", "bench", "a:b", "--python", "/nonexistent"), 2, "--python")
        self.write("container.py", loading.CONTAINER + "\ndef empty():\n    return Files(0)\n")
        self.assert_refused(
            support.headroom("data", "bench", "container:empty", "--python", loading.PYTHON, cwd=self.scratch),
            3,
            "empty",
        )
