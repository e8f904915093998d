"""Tests `headroom slice`: the part has the same figures for its steps as the whole, and no event is cut in two."""
import json

from integration import ranks, stores, support

SAMPLE = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"
RANKS = "public-traces/hta__nccl_parser_config__nccl_data.json.gz"


class Slice(support.ProgramTest):
    def slice(self, *arguments, name="part.json.gz"):
        path = self.scratch / name
        outcome = support.headroom("slice", *arguments, "-o", path)
        self.assertEqual(outcome.code, 0, outcome)
        self.said = outcome.message
        return path

    def test_steps_agree(self):
        steps = [row["index"] for row in self.report(SAMPLE)["steps"]["list"]]
        first, last = steps[-2:]
        wanted = f"{first}:{last}"
        want = self.report(SAMPLE, "--steps", wanted, "--no-local-state")
        for name in ("part.json", "part.json.gz", "part.pftrace"):
            part = self.slice(SAMPLE, "--steps", wanted, name=name)
            self.assertIn(f"3 steps; step {first - 1} is kept, too", self.said)
            self.assertEqual([row["index"] for row in self.report(part)["steps"]["list"]], [first - 1, first, last])
            got = self.report(part, "--steps", wanted, "--no-local-state")
            for a, b in zip(want["steps"]["list"], got["steps"]["list"]):
                self.assertEqual({**a, "start_ms": 0}, {**b, "start_ms": 0})
            self.assertEqual(want["steps"]["p50_ms"], got["steps"]["p50_ms"])
            self.assert_same_tables(want, got)

    def test_steps_that_were_inferred_agree(self):
        """Each step lasts until the next begins. If the slice lacked the next step, the last requested step used to be
        missing."""
        spans = [{"name": "step", "ph": "X", "ts": 1100 * i, "dur": 900, "pid": 1, "tid": 1} for i in range(6)]
        trace = self.write("own.json", json.dumps({"traceEvents": spans}))
        for more in ((), ("--step-marker", "step")):
            want = [row["wall_ms"] for row in self.report(trace, "--steps", "1:2", *more)["steps"]["list"]]
            part = self.slice(trace, "--steps", "1:2", *more, name="own-part.json")
            self.assertIn("3 steps; step 0 is kept, too", self.said)
            got = self.report(part, *more)["steps"]["list"]
            self.assertEqual([row["wall_ms"] for row in got], [want[0], *want])
        part = self.slice(trace, "--steps", "0:0", name="too-little.json")
        self.assertEqual([row["wall_ms"] for row in self.report(part)["steps"]["list"]], [1.1, 0.9])

    def test_the_first_step_waits_for_the_queue_as_it_did(self):
        """On a host that runs ahead, work of earlier steps ran between the end of the window and the first task of its
        steps. That work used to be left out: the step before the window took twice its time, and means and throughput
        were wrong."""
        for trace in (SAMPLE, support.data_file("h200/traces/vgg19_bs-8.json.gz")):
            want = {row["index"]: row["wall_ms"] for row in self.report(trace)["steps"]["list"]}
            part = self.slice(trace, "--steps", f"{sorted(want)[1]}:{sorted(want)[1]}")
            got = {row["index"]: row["wall_ms"] for row in self.report(part)["steps"]["list"]}
            self.assertEqual(len(got), 2)
            self.assertEqual(got, {index: want[index] for index in got})

    def assert_same_tables(self, want, got):
        for table in ("kernels", "operators", "layers", "lines", "classes"):
            self.assertEqual(want[table], got[table], table)

    def test_tables_are_of_the_steps_that_were_asked_for(self):
        """With --steps, these figures used to cover the whole trace, and so differed from those of a slice of these
        steps."""
        for trace in (SAMPLE, support.ROOT / "data/samples/bert_base_amp_fp16_h200.json.gz"):
            whole = self.report(trace, "--no-local-state")
            steps = [row["index"] for row in whole["steps"]["list"]]
            each = [self.report(trace, "--steps", f"{step}:{step}", "--no-local-state") for step in steps]
            for step, want in zip(steps[1:], each[1:]):
                part = self.slice(trace, "--steps", f"{step}:{step}")
                self.assert_same_tables(want, self.report(part, "--steps", f"{step}:{step}", "--no-local-state"))
            # The tables of single steps sum to the table of all steps, so no step counts twice.
            together = self.report(trace, "--steps", f"{steps[0]}:{steps[-1]}", "--no-local-state")
            for table in ("kernels", "operators"):
                for key in ("count", "total_us"):
                    sums = {}
                    for report in each:
                        for row in report[table]:
                            sums[row["name"]] = sums.get(row["name"], 0) + row[key]
                    self.assertEqual(
                        {row["name"]: round(row[key], 3) for row in together[table]},
                        {name: round(sum_, 3) for name, sum_ in sums.items()},
                    )
            self.assertLess(
                sum(row["count"] for row in each[0]["kernels"]), sum(row["count"] for row in whole["kernels"]) / 2
            )

    def test_launches_and_tasks_stay_together(self):
        whole = stores.tables(SAMPLE, self.scratch / "whole")
        part = stores.tables(self.slice(SAMPLE, "--time", "20:40"), self.scratch / "part")
        self.assertLess(len(part["host_events"]), len(whole["host_events"]))
        for name in ("host_events", "gpu_tasks"):
            self.assertGreater(len(part[name]), 10)
        # Every task is unchanged, including its launch.
        self.assertEqual(set(part["gpu_tasks"]) - set(whole["gpu_tasks"]), set())
        launched = {dict(row)["launch"] for row in part["gpu_tasks"]}
        for row in whole["gpu_tasks"]:
            if dict(row)["launch"] in launched - {""}:
                self.assertIn(row, set(part["gpu_tasks"]))
        for name in ("processes", "threads", "devices"):
            self.assertEqual(part[name], whole[name], name)

    def test_a_part_of_all_is_all(self):
        self.assertEqual(stores.compare(SAMPLE, self.slice(SAMPLE, "--time", "0:"), self.scratch), [])

    def test_ranks(self):
        trace = ranks.load(support.data_file(RANKS))
        folder = self.scratch / "traces"
        folder.mkdir()
        for rank in range(2):
            ranks.write(ranks.make_rank(trace, rank, 2), folder / f"node{rank}_4{rank}.17000000000.pt.trace.json.gz")
        one = sorted(folder.iterdir())[1]
        want = stores.tables(one, self.scratch / "one")
        self.assertEqual(
            stores.differences(want, stores.tables(self.slice(folder, "--rank", "1"), self.scratch / "of-folder")), []
        )
        merged = self.scratch / "merged.json"
        self.assertEqual(support.headroom("merge", folder, "-o", merged).code, 0)
        got = stores.tables(self.slice(merged, "--rank", "1"), self.scratch / "of-merged")
        self.assertEqual(len(got["gpu_tasks"]), len(want["gpu_tasks"]))
        self.assertEqual(len(got["host_events"]), len(want["host_events"]))
        self.assert_refused(
            support.headroom("slice", folder, "--time", "0:1", "-o", self.scratch / "x.json"), 2, "--rank"
        )

    def test_what_is_refused(self):
        out = self.scratch / "x.json"
        self.assert_refused(support.headroom("slice", SAMPLE, "-o", out), 2, "--steps", "--time", "--rank")
        self.assert_refused(
            support.headroom("slice", SAMPLE, "--steps", "1:2", "--time", "1:2", "-o", out), 2, "choose one of"
        )
        self.assert_refused(support.headroom("slice", SAMPLE, "--steps", "9000:", "-o", out), 2, "no such step")
        for wrong in ("5", ":", "9:8", "a:b", "-1:5", "nan:5"):
            self.assert_refused(support.headroom("slice", SAMPLE, f"--time={wrong}", "-o", out), 2, "--time")
        self.assert_refused(support.headroom("slice", SAMPLE, "--time", "1e9:", "-o", out), 2, "nothing was recorded")
        self.assert_refused(support.headroom("slice", SAMPLE, "--time", "1:2", "-o", "-"), 2, "-o -")
        self.assertFalse(out.exists())

    @support.NEEDS_FULL_DEVICE
    def test_a_full_disk(self):
        self.assert_refused(
            support.headroom("slice", SAMPLE, "--time", "1:2", "-o", support.FULL_DEVICE), 4, support.FULL_DEVICE
        )
