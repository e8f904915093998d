"""Small inputs from public bug reports that a reader once misread. case.md explains how each right value is known."""
import gzip
import json
import zipfile

from integration import support


class CaseReaders(support.ProgramTest):
    def issues(self, report):
        return {issue["code"]: issue["count"] for issue in report["health"]["issues"]}

    def rows(self, path, sql):
        outcome = support.headroom("query", path, sql, "--json")
        self.assertEqual(outcome.code, 0, outcome)
        return [tuple(row) for row in outcome.json()["rows"]]


class StampsOfZero(CaseReaders):
    def test_kernels_stamped_zero_are_lost(self):
        report = self.report(support.data_file("cases/13-stamp-zero/ts0.json.gz"))
        self.assertEqual(self.issues(report)["bad-time"], 20)
        (gpu,) = report["gpu_time"]
        self.assertAlmostEqual(gpu["span_ms"], 33.795, places=3)
        self.assertAlmostEqual(gpu["busy_ms"], 28.0, places=3)
        self.assertLess(abs(report["steps"]["list"][4]["wall_ms"] / 5.64 - 1), 0.01)

    def test_zero_is_the_start_of_other_clocks(self):
        events = [
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": "a",
                "pid": 1,
                "tid": 1,
                "ts": ts,
                "dur": 0,
                "args": {"External id": 1},
            }
            for ts in (0, 7_000_000_000)
        ]
        report = self.report(self.write("clock.json", json.dumps({"traceEvents": events})))
        self.assertNotIn("bad-time", self.issues(report))


class OverlappingSpans(CaseReaders):
    def test_each_ends_at_its_own_end(self):
        path = support.data_file("cases/12-interleaved-ends/interleaved.json")
        issues = self.issues(self.report(path))
        self.assertNotIn("unmatched-end", issues)
        self.assertNotIn("unfinished-span", issues)
        self.assertEqual(
            self.rows(path, "select name, duration_ns from host_events order by name"),
            [("prepare A", 3000), ("prepare B", 528500)],
        )


class SeveralProcesses(CaseReaders):
    LAUNCHES = """
        select count(*), sum(t.launch_id is null), coalesce(sum(c.start_ns > t.start_ns), 0)
        from gpu_tasks t left join host_events c on c.id = t.launch_id"""

    def test_tasks_join_calls_of_their_own_process(self):
        for name, tasks, without in (
            ("cases/08-nsys-correlation-of-another-process/two_processes.sqlite", 240, 20),
            # SQL joins by globalPid >> 24 and correlationId.
            ("wild/nsys_ai__mfu_2gpu_after.sqlite", 4733, 16),
            ("wild/nsys_ai__mfu_2gpu_before.sqlite", 5299, 31),
        ):
            with self.subTest(name):
                path = support.data_file(name)
                self.assertEqual(self.rows(path, self.LAUNCHES), [(tasks, without, 0)])
                issues = self.issues(self.report(path))
                self.assertNotIn("orphan-gpu-task", issues)
                self.assertNotIn("misplaced-task", issues)
                self.assertNotIn("step-without-kernels", issues)
                self.assertGreaterEqual(issues["work-before-first-step"], without)


class ConvertedNames(CaseReaders):
    def test_pieces_have_the_name_of_their_operator(self):
        path = support.data_file("cases/10-chakra-names-with-suffix/job.0.et")
        operators = {row["name"]: row for row in self.report(path)["operators"]}
        self.assertEqual(operators["aten::mm"]["family"], "matmul")
        self.assertEqual(operators["aten::mm"]["flops"], 6 * 2 * 1024**3)
        self.assertEqual(operators["aten::convolution_backward"]["family"], "convolution")
        self.assertEqual(self.by_phase(path), {"backward": 2.4, "forward": 1.29})

    def test_the_backward_pass_of_a_public_file(self):
        path = support.data_file("wild/mlcommons__chakra.0.et")
        self.assertEqual(self.by_phase(path), {"backward": 192.96, "forward": 136.583})

    def by_phase(self, path):
        sql = """
            select a.phase, round(sum(t.duration_ns) / 1e6, 3)
            from gpu_attribution a join gpu_tasks t on t.id = a.id group by 1"""
        return dict(self.rows(path, sql))


class SnapshotWithoutTimes(CaseReaders):
    def test_nothing_is_lost(self):
        report = self.report(support.data_file("cases/09-snapshot-without-time/snapshot.pickle"))
        self.assertEqual(report["health"]["grade"], "A")
        issues = self.issues(report)
        self.assertNotIn("bad-time", issues)
        self.assertIn("no-times", issues)
        (use,) = report["memory"]["devices"]
        self.assertEqual((use["allocations"], use["frees"], use["peak_bytes"]), (40, 20, 21_000_000))


class PackedFiles(CaseReaders):
    FOLDER = "cases/24-files-that-are-no-trace/"

    def test_one_trace_opens_in_any_packing(self):
        reports = {}
        for name in ("double.json.gz", "trace.json.xz", "trace.json.zip", "trace.tar.gz"):
            report = self.report(support.data_file(self.FOLDER + name))
            self.assertEqual(report["health"]["grade"], "A", name)
            reports[name] = (report["inputs"][0]["events"], report["gpu_time"])
        self.assertEqual(reports["double.json.gz"], reports["trace.json.xz"])
        self.assertEqual(reports["double.json.gz"], reports["trace.json.zip"])
        self.assertEqual(reports["double.json.gz"], reports["trace.tar.gz"])

    def test_what_is_no_trace_says_what_it_is(self):
        for name, *fragments in (
            ("lfs_pointer.pt.trace.json", "Git LFS pointer", "git lfs pull"),
            ("web_page.json", "web page", "download"),
        ):
            outcome = support.headroom("report", support.data_file(self.FOLDER + name))
            self.assert_refused(outcome, 3, *fragments)
        self.assert_refused(
            support.headroom("report", self.write("empty.json", "")), 3, "is empty", "download it again"
        )

    def test_several_files_are_named(self):
        path = self.scratch / "run.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for i in range(7):
                archive.writestr(f"rank{i}.json", "{}")
        self.assert_refused(
            support.headroom("report", path), 3, "7 files", "rank0.json", "rank4.json and 2 more", "unpack"
        )

    def test_limits_hold_for_what_is_inside(self):
        path = self.scratch / "bomb.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("bomb.json.gz", gzip.compress(b" " * (100 << 20), 1))
        self.assert_refused(support.headroom("report", path), 3, "--max-expansion")
