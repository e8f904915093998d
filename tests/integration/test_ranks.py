"""Tests several ranks: the report names the straggler, not its victims, even with unrelated clocks. The ranks are made
from one real trace (integration/ranks.py), so that the expected results are known."""
import csv
import gzip
import os
import pathlib
import shlex
import shutil

from integration import ranks, support

TRACE = "public-traces/hta__nccl_parser_config__nccl_data.json.gz"


class Ranks(support.ProgramTest):
    trace: dict

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = ranks.load(support.data_file(TRACE))

    def job(self, *made):
        """Writes the files of these ranks into a separate folder. Returns the files and the folder."""
        folder = self.scratch / "traces"
        folder.mkdir(exist_ok=True)
        for number, trace in enumerate(made):
            ranks.write(trace, folder / f"rank{number}.json.gz")
        return folder

    def answer(self, *paths):
        report = self.report(*paths, "--no-local-state")
        return report["job_ranks"], {issue["code"]: issue for issue in report["health"]["issues"]}, report

    def test_the_culprit_on_clocks_hours_apart(self):
        made = [
            ranks.make_rank(self.trace, r, 4, offset_us=3.6e9 * r - 7e8, drift=20e-6 * r, late_us=1500 if r == 2 else 0)
            for r in range(4)
        ]
        job, issues, report = self.answer(self.job(*made))
        straggler = job["straggler"]
        self.assertEqual((straggler["pattern"], straggler["rank"], straggler["steps"]), ("recurrent", 2, 3))
        lost = ranks.lost_us(self.trace, 1500) / 1e3
        self.assertTrue(
            10 < lost <= 15 * 1.5
        )  # Five collectives per step. At most the part that the median rank's computation leaves exposed.
        self.assertAlmostEqual(straggler["lost_ms"], lost, delta=0.05)
        self.assertLess(straggler["uncertainty_us"], 5)
        for row in job["waits"]:
            expected = (0, lost) if row["rank"] == 2 else (22.5, 0)
            self.assertAlmostEqual(row["waited_ms"], expected[0], delta=0.1)
            self.assertAlmostEqual(row["caused_ms"], expected[1], delta=0.1)
        for row in job["clocks"]:
            self.assertAlmostEqual(row["offset_ms"], 3.6e6 * row["rank"], delta=20)
        self.assertNotIn("missing-ranks", issues)
        self.assertEqual(job["unmatched"], 0)
        self.assertEqual(len(report["inputs"]), 4)

    def test_why_the_culprit_is_late(self):
        made = [ranks.make_rank(self.trace, r, 4, late_us=1500 if r == 2 else 0) for r in range(4)]
        folder = self.job(*made)
        job, _, report = self.answer(folder)
        self.assertEqual(job["straggler"]["cause"], "late-start")
        self.assertIn("Rank 2 computes as long as the median rank", job["straggler"]["why"])
        finding = next(f for f in report["findings"] if f["id"] == "straggler")
        self.assertEqual(finding["rank"], 2)
        self.assertAlmostEqual(finding["saves_ms"]["mid"], ranks.lost_us(self.trace, 1500) / 3e3, delta=0.05)
        words = shlex.split(finding["check"])
        check = support.headroom(*words[1:], "--no-local-state")
        self.assertEqual(check.code, 0, str(check))
        self.assertIn(finding["figure"], check.text)
        # Kernels that take twice as long, and delay the other ranks by the same time.
        slow = list(made)
        slow[2] = ranks.make_rank(self.trace, 2, 4, late_us=1500)
        for event in slow[2]["traceEvents"]:
            if event.get("cat") == "kernel" and "AllReduce" not in event["name"]:
                event["dur"] *= 2
        straggler = self.answer(self.job(*slow))[0]["straggler"]
        self.assertEqual(straggler["cause"], "unknown")  # Neither shapes nor sizes of copies were recorded.
        self.assertRegex(straggler["why"], r"Rank 2 computes 1\.[3-9][0-9]* times as long")

    def test_what_the_groups_share_out(self):
        """The job's own group is not described, so its axis is inferred. Then two of five all-reduces become sends of a
        mesh's pipeline.
        """
        made = [ranks.make_rank(self.trace, r, 2) for r in range(2)]
        group = self.answer(self.job(*made))[0]["groups"]
        self.assertEqual(
            [(g["group"], g["axis"], g["axis_from"], g["ranks"]) for g in group], [("0", "data", "inferred", [0, 1])]
        )
        for r, trace in enumerate(made):
            for index, event in enumerate(ranks.collectives(trace)):
                if index % 5 > 2:
                    event["args"].update(
                        {
                            "Collective name": "send" if r == 0 else "recv",
                            "Process Group Name": "1",
                            "Process Group Description": "mesh_pp",
                        }
                    )
        job = self.answer(self.job(*made))[0]
        self.assertEqual(
            [(g["group"], g["axis"], g["axis_from"]) for g in job["groups"]],
            [("0", "data", "inferred"), ("1", "pipeline", "recorded")],
        )
        stages = job["pipeline"]["stages"]
        self.assertEqual([stage["ranks"] for stage in stages], [[0], [1]])
        for stage in stages:
            self.assertGreater(stage["bubble_ms"], 0)
            self.assertLessEqual(stage["computing_ms"] + stage["bubble_ms"] + stage["idle_ms"], stage["step_ms"])
        text = support.headroom("report", self.scratch / "traces", "--only", "ranks", "--no-local-state").text
        self.assertRegex(text, r"2 stages wait for each other for [0-9.]+ %\s+of\s+their\s+time")
        self.assertRegex(text, r"allreduce +0 +data\?")

    def test_tables_of_ranks_and_collectives(self):
        made = [ranks.make_rank(self.trace, r, 2, late_us=1500 if r == 1 else 0) for r in range(2)]
        tables = self.scratch / "tables"
        outcome = support.headroom("report", self.job(*made), "--csv", tables, "--no-local-state")
        self.assertEqual(outcome.code, 0, str(outcome))
        with open(tables / "waits.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["rank"] for row in rows], ["0", "1"])
        self.assertAlmostEqual(float(rows[1]["caused_ms"]), ranks.lost_us(self.trace, 1500) / 1e3, delta=0.1)
        with open(tables / "collectives.csv", newline="") as file:
            self.assertEqual({row["axis"] for row in csv.DictReader(file)}, {"data"})

    def test_the_machine_of_the_culprits(self):
        made = [ranks.make_rank(self.trace, r, 4, late_us=1500 if r > 1 else 0) for r in range(4)]
        folder = self.scratch / "traces"
        folder.mkdir()
        for r, trace in enumerate(made):
            ranks.write(trace, folder / f"gpu-node_{r // 2}_{4000 + r}.1700000000{r}.pt.trace.json.gz")
        straggler = self.answer(folder)[0]["straggler"]
        self.assertEqual((straggler["ranks"], straggler["host"]), ([2, 3], "gpu-node_1"))
        text = support.headroom("report", folder, "--only", "ranks", "--no-local-state").text
        self.assertRegex(text, r"Ranks 2, 3 \(all on gpu-node_1\)\s+hold")
        self.assertRegex(text, r"rank +host +held up +last")
        # The decisive figure is not cut off.
        self.assertRegex(text, r"clock ahead +within\n")
        markdown = support.headroom("report", folder, "--md", "--no-local-state").text
        self.assertRegex(markdown, r"\*\*Ranks\.\*\* Ranks 2, 3 \(all on gpu-node")

    def test_the_order_of_the_files_does_not_matter(self):
        made = [ranks.make_rank(self.trace, r, 3, offset_us=1e6 * r, late_us=800 if r == 1 else 0) for r in range(3)]
        self.job(*made)
        files = sorted((self.scratch / "traces").iterdir())
        self.assertEqual(self.answer(*files)[0], self.answer(*reversed(files))[0])

    def test_another_rank_each_time(self):
        made = [
            ranks.make_rank(
                self.trace, r, 3, offset_us=5e5 * r, late_us=1500, late_in=lambda index, r=r: index // 5 == r
            )
            for r in range(3)
        ]
        straggler = self.answer(self.job(*made))[0]["straggler"]
        self.assertEqual((straggler["pattern"], straggler["rank"]), ("rotating", None))
        self.assertGreater(straggler["lost_pct"], 1)

    def test_in_one_step_alone(self):
        made = [
            ranks.make_rank(self.trace, r, 2, late_us=2400 if r else 0, late_in=lambda index: index // 5 == 1)
            for r in range(2)
        ]
        straggler = self.answer(self.job(*made))[0]["straggler"]
        self.assertEqual((straggler["pattern"], straggler["rank"]), ("once", 1))

    def test_ranks_that_are_alike(self):
        straggler = self.answer(self.job(*(ranks.make_rank(self.trace, r, 3, offset_us=1e9 * r) for r in range(3))))[0][
            "straggler"
        ]
        self.assertEqual((straggler["pattern"], straggler["lost_ms"]), ("none", 0))

    def test_missing_ranks(self):
        job, issues, _ = self.answer(self.job(*(ranks.make_rank(self.trace, r, 8) for r in (0, 3))))
        self.assertEqual(issues["missing-ranks"]["count"], 6)
        self.assertIn("1, 2, 4, 5, 6, 7", issues["missing-ranks"]["detail"])

    def test_two_files_of_one_rank(self):
        self.assert_refused(
            support.headroom("report", self.job(ranks.make_rank(self.trace, 1, 2), ranks.make_rank(self.trace, 1, 2))),
            2,
            "they are rank 1",
        )

    def test_ranks_of_different_jobs(self):
        job, issues, _ = self.answer(
            self.job(ranks.make_rank(self.trace, 0, 2), ranks.make_rank(self.trace, 1, 4, late_us=1500))
        )
        self.assertIn("other-job", issues)
        self.assertEqual((job["straggler"]["pattern"], job["matched"]), ("none", 0))

    def test_sets_of_ranks_that_share_nothing(self):
        """Tests ranks of two jobs with the same number of ranks, or of stages that do not exchange anything else."""
        made = [ranks.make_rank(self.trace, r, 4, late_us=1500 if r == 1 else 0) for r in range(4)]
        for r, trace in enumerate(made):
            for event in ranks.collectives(trace):
                event["args"].update({"Process Group Name": f"{r // 2}", "Group size": 2})
        job, issues, report = self.answer(self.job(*made))
        self.assertIn("ranks 0, 1 | 2, 3 share no collective", issues["separate-ranks"]["detail"])
        self.assertEqual([clock["reference_rank"] for clock in job["clocks"]], [0, 0, 2, 2])
        self.assertEqual(report["health"]["grade"], "B")
        merged = support.headroom("merge", self.scratch / "traces", "-o", self.scratch / "merged.json")
        self.assertEqual(merged.code, 0, str(merged))
        self.assertIn("rank 2, 3: too few collectives match those of rank 0", merged.message)

    def test_groups_of_one_name(self):
        """Each rank is compared with the members of its group."""
        made = [ranks.make_rank(self.trace, r, 4, late_us=1500 if r == 3 else 0) for r in range(4)]
        for r, trace in enumerate(made):
            for event in ranks.collectives(trace):
                event["args"].update(
                    {
                        "Process Group Name": "tp",
                        "Process Group Ranks": str([2 * (r // 2), 2 * (r // 2) + 1]),
                        "Group size": 2,
                    }
                )
        job = self.answer(self.job(*made))[0]
        self.assertEqual({row["group"] for row in job["collectives"]}, {"tp [0, 1]", "tp [2, 3]"})
        self.assertEqual(job["straggler"]["rank"], 3)

    def test_many_ranks_do_not_bury_the_answer(self):
        trace = {
            **self.trace,
            "traceEvents": [e for e in self.trace["traceEvents"] if e.get("cat") in ("kernel", "user_annotation")],
        }
        folder = self.job(*(ranks.make_rank(trace, r, 40, late_us=1500 if r == 33 else 0) for r in range(40)))
        self.assertIn("Rank 33 holds the others up", support.headroom("report", folder, "--no-local-state").text)
        text = support.headroom("report", folder, "--no-local-state", "--full").text
        self.assertIn("Rank 33 holds the others up", text)
        self.assertLess(len(text.splitlines()), 280)
        self.assertIn("30 more", text)
        self.assertLess(len(support.headroom("report", folder, "--md", "--no-local-state").text.splitlines()), 120)

    def test_different_step_counts(self):
        short = ranks.make_rank(self.trace, 1, 2, offset_us=1e8, late_us=1500)
        marks = sorted(
            (
                e
                for e in short["traceEvents"]
                if e.get("name", "").startswith("ProfilerStep#") and e.get("cat") == "user_annotation"
            ),
            key=lambda e: e["ts"],
        )
        cut = marks[-1]["ts"]
        short["traceEvents"] = [e for e in short["traceEvents"] if e.get("ts", 0) < cut]
        job, issues, _ = self.answer(self.job(ranks.make_rank(self.trace, 0, 2), short))
        self.assertIn("2 steps of rank 1, 3 steps of rank 0", issues["different-steps"]["detail"])
        self.assertEqual(
            (job["straggler"]["pattern"], job["straggler"]["rank"], job["straggler"]["steps"]), ("recurrent", 1, 2)
        )
        self.assertGreater(job["unmatched"], 0)

    def test_a_truncated_rank(self):
        folder = self.job(*(ranks.make_rank(self.trace, r, 2, offset_us=7e7 * r, late_us=1500 * r) for r in range(2)))
        whole = gzip.decompress((folder / "rank1.json.gz").read_bytes())
        (folder / "rank1.json.gz").write_bytes(gzip.compress(whole[: len(whole) * 9 // 10]))
        job, issues, report = self.answer(folder)
        self.assertIn("truncated", issues)
        self.assertEqual((job["straggler"]["pattern"], job["straggler"]["rank"]), ("recurrent", 1))
        self.assertGreater(job["unmatched"], 0)

    def test_a_rank_without_collectives(self):
        alone = ranks.make_rank(self.trace, 2, 3, late_us=1500)
        alone["traceEvents"] = [e for e in alone["traceEvents"] if "nccl" not in e.get("name", "").lower()]
        job, issues, _ = self.answer(
            self.job(ranks.make_rank(self.trace, 0, 3), ranks.make_rank(self.trace, 1, 3), alone)
        )
        self.assertIn("rank 2", issues["unaligned-ranks"]["detail"])
        self.assertEqual([row["aligned"] for row in job["clocks"]], [True, True, False])
        self.assertEqual(job["straggler"]["pattern"], "none")

    def test_a_folder_with_other_files(self):
        folder = self.job(*(ranks.make_rank(self.trace, r, 2) for r in range(2)))
        (folder / "notes.txt").write_text("nothing")
        (folder / "settings.json").write_text("{}")
        (folder / "more").mkdir()
        job, issues, report = self.answer(folder)
        self.assertEqual([row["rank"] for row in report["ranks"]], [0, 1])
        self.assertIn("notes.txt", issues["not-a-trace"]["detail"])
        self.assertIn("settings.json", issues["unreadable-file"]["detail"])
        # If the user names such a file, it is refused.
        self.assert_refused(
            support.headroom("report", folder / "rank0.json.gz", folder / "settings.json"), 3, "settings.json"
        )

    def test_several_that_are_equally_late(self):
        made = [
            ranks.make_rank(self.trace, r, 6, offset_us=1e7 * r, late_us=1500 + r if r > 3 else 0) for r in range(6)
        ]
        straggler = self.answer(self.job(*made))[0]["straggler"]
        self.assertEqual((straggler["pattern"], straggler["rank"], straggler["ranks"]), ("recurrent", None, [4, 5]))
        self.assertAlmostEqual(straggler["lost_ms"], ranks.lost_us(self.trace, 1500) / 1e3, delta=0.3)

    def test_the_first_rank_without_collectives(self):
        alone = ranks.make_rank(self.trace, 0, 3)
        alone["traceEvents"] = [e for e in alone["traceEvents"] if "nccl" not in e.get("name", "").lower()]
        job, issues, _ = self.answer(
            self.job(alone, ranks.make_rank(self.trace, 1, 3), ranks.make_rank(self.trace, 2, 3, late_us=1500))
        )
        self.assertEqual((job["straggler"]["pattern"], job["straggler"]["rank"]), ("recurrent", 2))
        self.assertEqual([row["reference_rank"] for row in job["clocks"]], [None, 1, 1])

    def test_a_broken_file_beside_a_whole_one(self):
        folder = self.job(ranks.make_rank(self.trace, 0, 2))
        (folder / "rank1.json").write_text("{")
        job, issues, report = self.answer(folder)
        self.assertIsNone(job)
        self.assertIn("rank1.json", issues["unreadable-file"]["detail"])
        self.assertEqual(report["health"]["grade"], "B")

    def test_one_rank_of_several_keeps_what_is_wrong_with_all(self):
        folder = self.job(*(ranks.make_rank(self.trace, r, 8) for r in (0, 3)))
        report = self.report(folder, "--rank", "3", "--no-local-state")
        self.assertIn("missing-ranks", {issue["code"] for issue in report["health"]["issues"]})

    def test_text(self):
        made = [ranks.make_rank(self.trace, r, 3, offset_us=1e6 * r, late_us=1500 if r == 1 else 0) for r in range(3)]
        text = support.headroom("report", self.job(*made), "--only", "ranks", "--no-local-state").text
        self.assertIn("Rank 1 holds the others up in every step", text)
        self.assertIn("allreduce", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)


class Folders(support.ProgramTest):
    def test_without_a_trace(self):
        self.assert_refused(support.headroom("report", self.scratch), 3, "has no trace", "name the files")

    def test_what_is_not_a_file_or_is_hidden_is_no_trace(self):
        below = self.scratch / "below"
        below.mkdir()
        for folder in (self.scratch, below):
            (folder / "._run.json").write_text("{}")
            (folder / "dangling.json").symlink_to(folder / "nowhere")
            os.mkfifo(folder / "pipe.json")
        for command in ("report", "whatif", "predict"):
            self.assert_refused(support.headroom(command, self.scratch), 3, "has no trace", "name the files")

    def test_the_only_folder_below_stands_for_its_folder(self):
        folder = self.scratch / "plugins/profile/2026_01_01"
        folder.mkdir(parents=True)
        trace = support.GOLDEN / "host-bound-two-steps/trace.json"
        shutil.copy(trace, folder / "host.json")
        for command in (("report", "--json"), ("whatif", "--json")):
            outcome = support.headroom(*command, "--quiet", self.scratch)
            self.assertEqual(outcome.code, 0, outcome)
            self.assertIn("2026_01_01/host.json", outcome.text)
        self.write("args.json", '{"batch_size": 32}')  # No trace, although its name could be one.
        self.assertIn("2026_01_01/host.json", support.headroom("report", "--json", "--quiet", self.scratch).text)
        other = folder.with_name("2026_01_02")
        shutil.copytree(folder, other)
        self.assert_refused(support.headroom("report", self.scratch), 3, "2 folders below it", other.name)
        shutil.copy(trace, folder / "other.json")
        self.assert_refused(support.headroom("whatif", folder), 3, "holds 2 traces", "other.json")

    def test_files_of_different_jobs_are_no_ranks(self):
        for sample in ("bert_base_amp_fp16_h200.json.gz", "resnet50_fp32_h200.json.gz"):
            shutil.copy(support.ROOT / "data/samples" / sample, self.scratch)
        report = self.report(self.scratch)
        self.assertEqual([row["rank"] for row in report["inputs"]], [None])
        self.assertIn("resnet50", report["inputs"][0]["path"])
        self.assertIn("other-job", [issue["code"] for issue in report["health"]["issues"]])
        text = support.headroom("report", self.scratch).text
        self.assertIn("Only this file is reported, the slowest of 2", " ".join(text.split()))

    def test_a_profile_and_its_timeline_are_one_recording(self):
        profile = support.data_file("public-traces/tracelens__mi300__jax_conv_minimal.xplane.pb")
        shutil.copy(profile, self.scratch / "host.xplane.pb")
        for copy in ("host.trace.json.gz", "perfetto_trace.json.gz"):
            (self.scratch / copy).write_bytes(b"not read")
        self.assertEqual(len(self.report(self.scratch)["inputs"]), 1)

    def test_exports_of_nsight(self):
        export = support.data_file("cases/07-loop-without-marks-not-found/nsys_loop.sqlite")
        (self.scratch / "job").mkdir()
        for rank in range(2):
            self.write(f"job/report_rank{rank}.sqlite", export.read_bytes())
        self.write("job/report_rank0.nsys-rep", b"the same, not exported")
        report = self.report(self.scratch / "job")
        self.assertEqual(
            [pathlib.Path(row["path"]).name for row in report["inputs"]], ["report_rank0.sqlite", "report_rank1.sqlite"]
        )

    def test_one_file_is_a_report_of_one(self):
        folder = self.scratch / "traces"
        folder.mkdir()
        (folder / "trace.json").write_bytes((support.GOLDEN / "host-bound-two-steps/trace.json").read_bytes())
        self.assertIsNone(self.report(folder)["job_ranks"])
        self.assertIn("Only one rank", support.headroom("report", folder, "--only", "ranks").text)
