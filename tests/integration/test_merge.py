"""Tests `headroom merge`: all ranks in one trace, on one clock, without mixing up their data."""
import collections
import gzip
import json
import shutil

from integration import ranks, support

TRACE = "public-traces/hta__nccl_parser_config__nccl_data.json.gz"


class Merge(support.ProgramTest):
    trace: dict

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = ranks.load(support.data_file(TRACE))

    def folder(self, *made):
        folder = self.scratch / "traces"
        folder.mkdir(exist_ok=True)
        for number, trace in enumerate(made):
            ranks.write(trace, folder / f"node{number}_{40 + number}.1700000000{number}.pt.trace.json.gz")
        return folder

    def merge(self, *arguments):
        merged = self.scratch / "job.json.gz"
        outcome = support.headroom("merge", *arguments, "-o", merged)
        self.assertEqual(outcome.code, 0, str(outcome))
        with gzip.open(merged) as file:
            return json.load(file), outcome.message, merged

    def test_all_ranks_on_one_clock(self):
        made = [
            ranks.make_rank(self.trace, r, 3, offset_us=5e8 * r, drift=20e-6 * r, late_us=1500 if r == 2 else 0)
            for r in range(3)
        ]
        merged, message, path = self.merge(self.folder(*made))
        self.assertRegex(message, r"3 ranks, [0-9,]+ events; clocks aligned to within [0-9.]+ us")
        names = {e["pid"]: e["args"]["name"] for e in merged["traceEvents"] if e["name"] == "process_name"}
        of_rank = {pid: int(name.split()[1]) for pid, name in names.items()}
        self.assertIn("rank 1 on node1: GPU 0", names.values())
        ends = collections.defaultdict(list)
        for event in merged["traceEvents"]:
            if event.get("cat") == "kernel" and "AllReduce" in event["name"]:
                ends[of_rank[event["pid"]]].append(event["ts"] + event["dur"])
        self.assertEqual(sorted(ends), [0, 1, 2])
        for end_of_all in zip(*(sorted(ends[r]) for r in range(3))):
            self.assertLess(max(end_of_all) - min(end_of_all), 10)  # us; the clocks differ by 500 s.
        report = self.report(path, "--no-local-state")
        self.assertIn("mixed-ranks", {issue["code"] for issue in report["health"]["issues"]})
        self.assertEqual(len(report["inputs"][0]["devices"]), 3)
        for r, own in enumerate(made):
            want = self.report(self.write(f"own{r}.json", json.dumps(own)), "--no-local-state")
            got = self.report(path, "--rank", r, "--no-local-state")
            self.assertNotIn("mixed-ranks", {issue["code"] for issue in got["health"]["issues"]})
            self.assertAlmostEqual(got["steps"]["p50_ms"] / want["steps"]["p50_ms"], 1, delta=1e-4)
            metrics = support.headroom("export", path, "--rank", r, "--to", "openmetrics", "-o", "-")
            self.assertIn(f'rank="{r}"', metrics.text)
        self.assert_refused(support.headroom("report", path, "--rank", 7), 2, "holds ranks 0, 1, 2")
        self.assert_refused(support.headroom("export", path, "--to", "openmetrics", "-o", "-"), 2, "--rank")

    def test_files_without_a_rank_are_numbered_and_that_is_said(self):
        made = [ranks.make_rank(self.trace, r, 2) for r in range(2)]
        for trace in made:
            del trace["distributedInfo"]
        for name, trace in zip(("first.json.gz", "second.json.gz"), made):
            ranks.write(trace, self.scratch / name)
        message = self.merge(self.scratch / "first.json.gz", self.scratch / "second.json.gz")[1]
        self.assertRegex(message, r"2 of 2 files state no rank.*first\.json\.gz is rank 0\. Name them rank0\.json")
        named = [self.scratch / f"rank{r}.json.gz" for r in range(2)]
        for path, trace in zip(named, made):
            ranks.write(trace, path)
        self.assertNotIn("state no rank", self.merge(*named)[1])

    def test_every_event_is_there_once_a_rank(self):
        made = [ranks.make_rank(self.trace, r, 2) for r in range(2)]
        merged = self.merge(self.folder(*made))[0]

        def spans(trace):
            return collections.Counter(
                (e["name"], e.get("cat"), round(e["dur"], 3)) for e in trace["traceEvents"] if e["ph"] == "X"
            )

        expected = spans(made[0]) + spans(made[1])
        got = spans(merged)
        # The reader keeps only one of several copies of an event.
        self.assertLessEqual(sum((got - expected).values()), 0)
        self.assertLess(sum((expected - got).values()), 0.001 * sum(expected.values()))
        launches = collections.defaultdict(set)
        for event in merged["traceEvents"]:
            if event.get("cat") in ("cuda_runtime", "kernel") and event["args"].get("correlation", 0) > 0:
                launches[event["args"]["correlation"]].add(event["pid"])
        self.assertTrue(all(len(pids) <= 2 for pids in launches.values()))  # The clock difference of a host and its
        # GPU.

    def test_what_all_ranks_have_in_common_is_said(self):
        """Versions that only one rank has do not apply to the merged file. A copy names the recording tool, so its
        remedies are for that tool.
        """
        made = [ranks.make_rank(self.trace, r, 2) for r in range(2)]
        for rank, trace in enumerate(made):
            trace["headroom_versions"] = {"pytorch": "2.7.1", "python": f"3.{10 + rank}"}
        merged = self.merge(self.folder(*made))[0]
        self.assertEqual(merged["headroom_versions"], {"nccl": "2.17.1", "pytorch": "2.7.1"})
        self.assertEqual(merged["headroom_copy_of"], self.report(self.scratch / "job.json.gz")["inputs"][0]["format"])
        self.assertNotIn("headroom_scenario", merged)

    def test_one_that_shares_nothing_is_named(self):
        alone = ranks.make_rank(self.trace, 2, 3)
        alone["traceEvents"] = [e for e in alone["traceEvents"] if "AllReduce" not in e["name"]]
        message = self.merge(self.folder(ranks.make_rank(self.trace, 0, 3), ranks.make_rank(self.trace, 1, 3), alone))[
            1
        ]
        self.assertIn("rank 2: too few collectives match those of rank", message)

    def test_hostile_numbers_and_bytes(self):
        """Tests the largest ids, stamps before the first rank's zero, and arguments that are not UTF-8."""
        folder = self.scratch / "traces"
        folder.mkdir()
        for rank in range(2):
            events = [
                {
                    "ph": "X",
                    "cat": "cuda_runtime",
                    "name": "cudaLaunchKernel",
                    "pid": 1,
                    "tid": 1,
                    "ts": 1000 - 999 * rank,
                    "dur": 5,
                    "args": {"correlation": 9223372036854775806 - rank, "note": "bad"},
                },
                {"ph": "i", "cat": "", "name": "mark", "pid": 1, "tid": 1, "ts": 1005, "args": {"note": "bad"}},
                {
                    "ph": "X",
                    "cat": "kernel",
                    "name": "k",
                    "pid": 0,
                    "tid": 7,
                    "ts": 1010,
                    "dur": 5,
                    "args": {"correlation": 9223372036854775806 - rank, "device": 0, "stream": 7},
                },
            ]
            text = json.dumps(
                {
                    "distributedInfo": {"rank": rank, "world_size": 2},
                    "baseTimeNanoseconds": 10**18 - 10**6 * rank,
                    "traceEvents": events,
                }
            )
            (folder / f"rank{rank}.json").write_bytes(text.encode().replace(b"bad", b"bad \xff\xfe"))
        merged = self.merge(folder)[0]
        spans = [e for e in merged["traceEvents"] if e["ph"] == "X"]
        self.assertEqual(min(e["ts"] for e in spans), 0)
        self.assertEqual(
            {e["args"]["note"] for e in merged["traceEvents"] if "note" in e.get("args", {})}, {"bad \ufffd\ufffd"}
        )
        ids = collections.Counter(e["args"]["correlation"] for e in spans)
        self.assertEqual(sorted(ids.values()), [2, 2])
        self.assertLess(max(ids), 100)

    def test_a_damaged_file_of_a_folder_is_left_out(self):
        folder = self.folder(*(ranks.make_rank(self.trace, r, 2) for r in range(2)))
        (folder / "broken.json.gz").write_bytes(b"\x1f\x8b\x08nothing")
        self.assertIn("left out: ", self.merge(folder)[1])

    def test_what_is_refused(self):
        folder = self.folder(*(ranks.make_rank(self.trace, r, 2) for r in range(2)))
        first, second = sorted(folder.iterdir())
        self.assert_refused(support.headroom("merge", folder, "-o", first), 2, "-o", "an input trace")
        self.assert_refused(support.headroom("merge", first, "-o", self.scratch / "x.json"), 2, "at least two ranks")
        shutil.copy(first, folder / "again.json.gz")
        self.assert_refused(support.headroom("merge", folder, "-o", self.scratch / "x.json"), 2, "rank 0")
        self.assert_refused(
            support.headroom("merge", second, "-o", self.scratch / "none/x.json", first), 4, "none/x.json"
        )
        self.assert_refused(support.headroom("merge", folder), 2, "--output")
        self.assert_refused(support.headroom("merge", first, first, "-o", self.scratch / "x.json"), 2, "given twice")
        (self.scratch / "link.json.gz").symlink_to(first)
        self.assert_refused(
            support.headroom("merge", first, self.scratch / "link.json.gz", "-o", self.scratch / "x.json"),
            2,
            "the same file as",
        )
        strangers = self.scratch / "strangers"
        strangers.mkdir()
        for rank in (5, 6):
            ranks.write(ranks.make_rank(self.trace, rank, 2), strangers / f"rank{rank}.json.gz")
        self.assert_refused(
            support.headroom("merge", strangers, "-o", self.scratch / "x.json"), 2, "of one job", "the job has 2 ranks"
        )
        self.assertFalse((self.scratch / "x.json").exists())
