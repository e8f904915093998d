"""Tests the figures of `headroom data`, with real data loaders of PyTorch in real training loops."""
import json

from integration import loading, support

# tests/run runs no other tests at the same time. Only --full compares times closely.
RUNS_ALONE = support.FULL


class Data(loading.Recorded):
    def test_stages_agree_with_stopwatches_of_the_program(self):
        for workers in (0, 1, 2, 4) if support.FULL else (0, 2):
            with self.subTest(workers=workers):
                outcome = self.record(
                    f"""
                    train(torch.utils.data.DataLoader(images, batch_size=8, num_workers={workers}))
                    print(json.dumps({{stage.name: sum(stage.sums) for stage in stages}}))
                    """
                )
                report = self.data()
                stages = {row["name"]: row for row in report["stages"] if row["kind"] == "stage"}
                for name, seconds in json.loads(outcome.text).items():
                    self.assertEqual(stages[name]["count"], 160)
                    self.assert_timed_around(stages[name]["own_ms"], 1e3 * seconds, 160, name)
                self.assertAlmostEqual(sum(row["share_pct"] for row in report["stages"]), 100, delta=0.1)
                loader = report["loaders"][0]
                self.assertEqual((loader["workers"], loader["batch_size"], loader["dataset_size"]), (workers, 8, 160))
                self.assertEqual((loader["batches"], loader["fetches"], loader["epochs"]), (20, 20, 1))
                self.assertEqual(len(report["workers"]), max(1, workers))
                self.assertEqual(len(list(self.scratch.glob("r.pftrace*"))), 1)  # Workers have no separate files.

    def test_what_blocks_is_told_from_what_computes(self):
        cases = {"preparation": "Decode('a'), Decode('b')", "fetch": "Crop('a'), Crop('b')"}
        for bound, stages in cases.items():
            with self.subTest(bound):
                self.record(
                    f"train(torch.utils.data.DataLoader(Images(160, Compose([{stages}])), batch_size=8, num_workers=1))"
                )
                report = self.data()
                batch = report["batch"]
                # The bound is "cores" if other programs use the cores.
                self.assertIn(report["bound"], (bound, "cores"), batch)
                self.assertEqual(batch["cpu_ms"] > batch["blocked_ms"], bound == "preparation", batch)
                self.assertGreater(report["loop"]["wait_share_pct"], 50)
        self.record(
            "train(torch.utils.data.DataLoader(Images(160, Compose([])), batch_size=8, num_workers=1), wait=0.1)"
        )
        report = self.data()
        # On a busy machine, transferring a batch may take long, too.
        self.assertIn(report["bound"], ("none", "handover", "cores"))
        if report["loop"]["wait_share_pct"] < 1:
            self.assertEqual(report["bound"], "none")

    def test_workers_that_are_ended_in_the_middle(self):
        """Batches that the workers had begun end with the workers, not with the recording."""
        self.record(
            """
            for batch in torch.utils.data.DataLoader(images, batch_size=4, num_workers=2):
                break
            time.sleep(9)
            train(torch.utils.data.DataLoader(images, batch_size=4, num_workers=2))
            """
        )
        report = self.data()
        self.assertLess(max(worker["busy_ms"] + worker["idle_ms"] for worker in report["workers"]), 8800)
        for row in report["stages"]:
            self.assertLess(row["total_ms"], 8800, row)

    def test_loaders_in_threads(self):
        self.record(
            """
            import threading
            def drain():
                for _ in range(20):
                    for batch in torch.utils.data.DataLoader(Images(16, Compose([])), batch_size=2):
                        pass
            threads = [threading.Thread(target=drain) for _ in range(3)]
            for thread in threads: thread.start()
            drain()
            for thread in threads: thread.join()
            """
        )
        # Iterators that are created or used at the same moment may be confused, because counters belong to the process.
        # A busy machine has more such moments: on one such machine, 509 of 640 batches were assigned.
        self.assertGreater(sum(loader["batches"] for loader in self.data()["loaders"]), 0.6 * 4 * 20 * 8)

    def test_probes_tell_the_loop_from_its_loader(self):
        """A step takes at least 8 ms, and its 8 samples at least 2 ms each. The loader is slower with one worker, and
        about as fast as the loop with two workers and a deep queue.
        """
        all_flags = ("num_workers=0", "num_workers=1", "num_workers=2, prefetch_factor=4")
        for flags in all_flags if support.FULL else all_flags[:2]:
            with self.subTest(flags):
                outcome = self.probe(
                    f"""
                    naps = Images(2400, Compose([Crop('a')]))
                    train(torch.utils.data.DataLoader(naps, batch_size=8, {flags}), wait=0.008)
                    """
                )
                self.assertEqual(outcome.code, 0, outcome)
                self.assertIn("discard the model that this run trains", outcome.message)
                report = self.data()
                probe = report["probe"]
                self.assertEqual(
                    [probe[key]["count"] for key in ("step_ms", "loop_ms", "loader_ms", "again_ms")],
                    [4, 4, 5, 5],
                    probe,
                )
                loop, loader = probe["loop_ms"]["mid"], probe["loader_ms"]["mid"]
                workers = report["loaders"][0]["workers"]
                self.assertGreater(loop, 8)
                self.assertGreater(loader, 8 * 2 / max(1, workers))
                # If steps used the queue that repeating has filled, they would take half as long with one worker. With
                # two workers and a deep queue, only noise separates these figures.
                if workers < 2 and support.FULL:
                    expected = max(loop, loader) if workers else loop + loader
                    for one, other in (
                        (probe["step_ms"]["mid"], expected),
                        (probe["step_ms"]["mid"], report["loop"]["step_ms"]),
                        (probe["again_ms"]["mid"], loader),
                    ):
                        self.assertTrue(0.65 < one / other < 1.5, probe)
                self.assertAlmostEqual(probe["limit_ms"], max(loop, probe["again_ms"]["mid"]))
                # The report leaves out the loaders that the probe created.
                self.assertEqual(len(report["loaders"]), 1)
                self.assertEqual(report["loaders"][0]["epochs"], 1)
                self.assertIn("a step that reuses the last batch", support.headroom("data", self.file).text)

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
            # Works on one batch after fetching the next, like loops that copy batches to the device in advance.
            batch, ahead = ahead, batch
            if batch is None:
                continue
            assert type(batch.pop("name")) is Point
            x = batch.pop("x").mul_(0.5)
            assert x.max() == 0.5, x.max()
            model(x.mean(dim=(2, 3))).mean().backward()
            optimizer.step()
"""
        outcome = self.probe(
            "consume(torch.utils.data.DataLoader(Stream(), batch_size=4, num_workers=1, collate_fn=collate))",
            setup=setup,
        )
        self.assertEqual(outcome.code, 0, outcome)
        probe = self.data()["probe"]
        self.assertEqual(probe["loop_ms"]["count"], 4)
        self.assertIsNone(probe["again_ms"])
        self.assertIsNone(probe["limit_ms"])
        self.assertTrue(any("stream" in doubt for doubt in probe["doubts"]), probe)

    def test_probes_of_workers_that_stay_and_workers_that_are_spawned(self):
        for flags in ("num_workers=2, persistent_workers=True", "num_workers=1, multiprocessing_context='spawn'"):
            with self.subTest(flags):
                outcome = self.probe(
                    f"""
                    loader = torch.utils.data.DataLoader(Images(640, Compose([])), batch_size=8, {flags})
                    for epoch in range(6):
                        for count, batch in enumerate(loader):
                            train([batch])
                            if epoch % 2 and count > 30: break
                    """
                )
                self.assertEqual(outcome.code, 0, outcome)
                report = self.data()
                probe = report["probe"]
                self.assertEqual(probe["loop_ms"]["count"], 4, probe)
                self.assertFalse([doubt for doubt in probe["doubts"] if "pressure" not in doubt], probe)
                self.assertGreater(report["loaders"][0]["fetches"], 50)

    def test_a_validation_on_the_same_dataset_is_not_probed(self):
        outcome = self.probe(
            """
            parts = [torch.utils.data.SubsetRandomSampler(range(a, a + 480)) for a in (0, 480)]
            dataset = Images(960, Compose([]))
            model = torch.nn.Linear(3, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for epoch in range(6):
                train_part, held_out = [torch.utils.data.DataLoader(dataset, batch_size=b, sampler=s)
                                        for b, s in zip((8, 6), parts)]
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
            """
        )
        self.assertEqual(outcome.code, 0, outcome)
        probes = {
            report["loaders"][0]["batch_size"]: report["probe"]
            for report in (self.data("--loader", 1), self.data("--loader", 2))
        }
        self.assertIsNone(probes[6])
        self.assertEqual(probes[8]["loop_ms"]["count"], 4)

    def test_an_evaluation_within_a_turn_is_no_step(self):
        outcome = self.probe(
            """
            model = torch.nn.Linear(3, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            held_out = torch.utils.data.DataLoader(Images(8, Compose([])), batch_size=8)
            loader = torch.utils.data.DataLoader(Images(4000, Compose([])), batch_size=8, num_workers=1)
            for number, (x, y) in enumerate(loader):
                optimizer.zero_grad()
                model(x.mean(dim=(2, 3))).mean().backward()
                optimizer.step()
                if number % 25 == 24:
                    for batch in held_out:
                        time.sleep(0.2)
            """
        )
        self.assertEqual(outcome.code, 0, outcome)
        probes = [self.data("--loader", number)["probe"] for number in (1, 2)]
        (probe,) = [probe for probe in probes if probe]  # It appears under the loader that was probed.
        self.assertEqual(probe["loop_ms"]["count"], 4)
        self.assertLess(probe["loop_ms"]["high"], 20, probe)

    def test_forecasts_of_settings_that_are_asked_for(self):
        self.record("train(torch.utils.data.DataLoader(images, batch_size=8, num_workers=1), wait=0.02)", samples=320)
        report = self.data("workers=0", "workers=2,prefetch=4", "cached=100%", "stage=Decode:2")
        rows = report["forecast"]["asked"]
        self.assertEqual(
            [row["setting"] for row in rows], ["workers=0", "workers=2,prefetch=4", "cached=100%", "stage=Decode:2"]
        )
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


class Bench(loading.Benched):
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
        if support.FULL:
            self.assertGreater(two["samples_per_s"]["mean"], 1.3 * alone["samples_per_s"]["mean"])
        self.assertLess(alone["samples_per_s"]["mean"], 1 / 0.004)
