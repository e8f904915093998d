"""Tests `headroom diff` and `headroom baseline`: real pairs, gates and their exit codes, damaged input."""
import functools
import gzip
import json
import os
import re

from integration import ranks, support

TRACES = "h200/traces"
SAMPLES = support.ROOT / "data/samples"
RESNET = SAMPLES / "resnet50_fp32_h200.json.gz"
BERT = SAMPLES / "bert_base_amp_fp16_h200.json.gz"
SCHEMA = json.loads((support.ROOT / "docs/schema/diff-1.json").read_text())


def trace(name):
    return support.data_file(f"{TRACES}/{name}.json.gz")


class DiffTest(support.ProgramTest):
    def diff(self, *arguments, code=0):
        outcome = support.headroom("diff", *arguments, "--json", "--no-local-state", cwd=self.scratch)
        self.assertEqual(outcome.code, code, outcome)
        answer = outcome.json()
        errors = support.jsonschema.Draft202012Validator(SCHEMA).iter_errors(answer)
        self.assertEqual([f"{e.json_path}: {e.message}" for e in errors], [])
        self.assertAlmostEqual(sum(r["change_ms"] for r in answer["account"]), answer["step_ms"]["change"], places=6)
        for row in answer["operators"] + answer["kernels"] + answer["layers"]:
            self.assertAlmostEqual(row["by_count_ms"] + row["by_time_ms"], row["ms"]["change"], places=6)
        for side in ("a", "b"):
            phases, parts = (sum(answer[side][key].values()) for key in ("phases", "parts"))
            self.assertAlmostEqual(phases, parts, delta=2e-5)  # A baseline stores each value to a nanosecond.
        return answer

    def slower(self, name, factor, source=RESNET, kernel="sgemm|implicit_convolve"):
        """Returns a copy of a trace whose kernels take longer. Later kernels on the stream start later by the same
        amount."""
        document = json.loads(gzip.decompress(source.read_bytes()))
        shift = 0
        for event in sorted(
            (e for e in document["traceEvents"] if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")),
            key=lambda e: e["ts"],
        ):
            event["ts"] += shift
            if event["cat"] == "kernel":
                more = event["dur"] * (factor - 1)
                event["dur"] += more
                shift += more
        return self.write(name, json.dumps(document))


class RealPairs(DiffTest):
    def test_the_same_job_twice(self):
        for model in ("resnet50", "gpt2", "vgg19"):
            with self.subTest(model):
                answer = self.diff(
                    trace(f"{model}_fp32"),
                    trace(f"{model}_fp32_layers"),
                    "--gate",
                    "gpu_work_ms<=+3%",
                    "--gate",
                    "gpu_tasks<=+0%",
                )
                self.assertFalse(answer["changed"])
                self.assertTrue(answer["comparable"])
                self.assertEqual(answer["gate"]["verdict"], "pass")
                self.assertEqual([row for row in answer["kernels"] if row["state"] != "changed"], [])

    def test_mixed_precision_names_the_products_and_the_host(self):
        answer = self.diff(trace("bert_base_fp32"), trace("bert_base_amp-fp16"))
        self.assertEqual((answer["a"]["verdict"], answer["b"]["verdict"]), ("gpu-compute", "host"))
        account = {row["part"]: row["change_ms"] for row in answer["account"]}
        self.assertLess(account["aten::mm"], -15)
        self.assertGreater(account["host_wait"], 30)
        # Slower as recorded, but faster without the profiler. The measured times are 59.4 and 46.2 ms.
        self.assertGreater(answer["step_ms"]["change"], 0)
        self.assertLess(answer["corrected_step_ms"]["change"], 0)
        self.assertIn("aten::mm", [swap["operator"] for swap in answer["swaps"]])
        self.assertIn("math_dtype", [f["name"] for f in answer["facts"] if f["state"] == "different" and f["blocks"]])

    def test_tensor_cores_are_found_as_other_kernels(self):
        answer = self.diff(trace("vgg19_fp32"), trace("vgg19_tf32-True"))
        self.assertTrue(answer["changed"])
        self.assertLess(answer["step_ms"]["change_pct"], -50)  # Measured: 135.9 and 55.3 ms.
        self.assertTrue(answer["account"][0]["is_operator"])
        self.assertTrue(answer["swaps"])

    def test_another_batch_is_not_comparable(self):
        gate = ("--gate", "step_ms<=+3%")
        answer = self.diff(trace("resnet50_fp32"), trace("resnet50_bs-16"), *gate, code=1)
        self.assertEqual(answer["gate"]["verdict"], "not comparable")
        self.assertEqual(answer["gate"]["rules"][0]["verdict"], "pass")
        differ = [f["name"] for f in answer["facts"] if f["state"] == "different" and f["blocks"]]
        self.assertIn("batch", differ)
        accepted = self.diff(trace("resnet50_fp32"), trace("resnet50_bs-16"), *gate, "--accept", ",".join(differ))
        self.assertEqual(accepted["gate"]["verdict"], "pass")

    def test_another_model_is_no_error(self):
        answer = self.diff(RESNET, BERT)
        self.assertFalse(answer["comparable"])
        self.assertIn("operators", [f["name"] for f in answer["facts"] if f["state"] == "different"])


class Versions(DiffTest):
    def with_versions(self, name, **members):
        document = json.loads(gzip.decompress(RESNET.read_bytes()))
        return self.write(name, json.dumps({**document, **members}))

    def facts(self, answer):
        return {f["name"]: (f["a"], f["b"]) for f in answer["facts"] if f["name"].startswith("version.")}

    def test_other_versions_are_told_and_block_nothing(self):
        a = self.with_versions(
            "a.json", cuda_runtime_version=12080, distributedInfo={"rank": 0, "world_size": 1, "nccl_version": "2.27.7"}
        )
        b = self.with_versions("b.json", cuda_runtime_version=13000, hip_runtime_version=60443483)
        answer = self.diff(a, b, "--gate", "gpu_tasks<=+0%")
        self.assertEqual(
            self.facts(answer),
            {
                "version.cuda_runtime": ("12.8", "13.0"),
                "version.nccl": ("2.27.7", None),
                "version.hip_runtime": (None, "6.4.43483"),
            },
        )
        for copy in ("copy.json", "copy.pftrace"):
            self.assertEqual(support.headroom("slice", a, "--time", "0:", "-o", self.scratch / copy).code, 0)
            self.assertEqual(
                self.facts(self.diff(self.scratch / copy, a)),
                {"version.cuda_runtime": ("12.8",) * 2, "version.nccl": ("2.27.7",) * 2},
            )

    def test_what_is_no_version_is_not_kept(self):
        a = self.with_versions(
            "a.json",
            cuda_runtime_version=-1,
            distributedInfo={"nccl_version": "/home/me/nccl"},
            headroom_versions={"pytorch": 7, "gpu": "2.0"},
        )
        self.assertEqual(self.facts(self.diff(a, a)), {"version.gpu": ("2.0", "2.0")})


class OddTraces(DiffTest):
    def golden(self, name):
        return next((support.GOLDEN / name).glob("*trace*"))

    def test_a_copy_is_comparable_with_its_source(self):
        copy = self.scratch / "copy.pftrace"
        self.assertEqual(support.headroom("export", RESNET, "--to", "perfetto", "-o", copy).code, 0)
        answer = self.diff(RESNET, copy)
        self.assertTrue(answer["comparable"])
        self.assertEqual(answer["step_ms"]["change"], 0)

    def test_hostile_names_act_nowhere(self):
        path = self.golden("hostile-names-text")
        text = support.headroom("diff", path, BERT, "-q")
        self.assertEqual(text.code, 0, text)
        self.assert_readable_text(text.text, text)
        markdown = support.headroom("diff", path, BERT, "--md", "-q")
        self.assert_whole_tables(markdown.text, markdown)

    def test_without_gpu_work_the_phases_are_the_account(self):
        answer = self.diff(self.golden("loop-without-gpu"), self.golden("no-gpu"))
        self.assertIn("phase.data_wait", [row["part"] for row in answer["account"]])

    def test_one_step_has_no_spread(self):
        path = self.golden("communication-exposed-and-hidden")
        answer = self.diff(path, path, "--gate", "step_ms<=+3%", code=1)
        self.assertEqual(answer["gate"]["verdict"], "inconclusive")
        self.assertIsNone(answer["step_ms"]["low"])

    def test_what_is_no_trace_of_steps(self):
        for name in ("truncated-file", "metadata-of-nothing"):
            path = self.golden(name)
            self.assert_refused(support.headroom("diff", path, RESNET), 3, path)
        self.assert_refused(support.headroom("diff", RESNET, self.scratch / "none.json.gz"), 3, "none.json.gz")

    def test_steps_are_chosen(self):
        all_steps = support.headroom("report", RESNET, "--json").json()["steps"]["list"]
        first = all_steps[0]["index"]
        answer = self.diff(RESNET, RESNET, "--steps", f"{first}:{first + 1}")
        self.assertEqual(answer["a"]["steps"], 2)
        self.assert_refused(support.headroom("diff", RESNET, RESNET, "--steps", "x"), 2, "--steps")


class Gate(DiffTest):
    def test_a_true_regression_fails(self):
        slow = self.slower("slow.json", 1.1)
        answer = self.diff(RESNET, slow, "--gate", "step_ms<=+3%", "--gate", "gpu_work_ms<=+3%", code=1)
        self.assertEqual([rule["verdict"] for rule in answer["gate"]["rules"]], ["fail", "fail"])
        self.assertAlmostEqual(answer["step_ms"]["change_pct"], 9.5, delta=1)

    def test_within_noise_is_inconclusive(self):
        near = self.slower("near.json", 1.03)
        rules = ("--gate", "step_ms<=+3%")
        answer = self.diff(RESNET, near, *rules, code=1)
        self.assertEqual(answer["gate"]["verdict"], "inconclusive")
        self.diff(RESNET, near, *rules, "--allow-inconclusive")
        message = support.headroom("diff", RESNET, near, *rules, "-q").message
        self.assertIn("inconclusive", message)

    def test_repeated_runs_are_the_unit(self):
        runs = [self.slower(f"run{i}.json", 1 + 0.001 * i) for i in range(3)]
        answer = self.diff(RESNET, runs[0], "--also-a", runs[1], "--also-b", runs[2], "--gate", "step_ms<=+3%")
        self.assertEqual((answer["a"]["runs"], answer["b"]["runs"]), (2, 2))
        self.assertEqual(answer["gate"]["verdict"], "pass")

    def test_a_run_counts_once(self):
        self.assert_refused(support.headroom("diff", RESNET, BERT, "--also-a", RESNET), 2, "given twice")
        two_of_a_kind = (self.write("x.json.gz", RESNET.read_bytes()), self.write("y.json.gz", RESNET.read_bytes()))
        answer = self.diff(two_of_a_kind[0], RESNET, "--also-a", two_of_a_kind[1])
        self.assertLess(answer["step_ms"]["low"], -0.05)  # Identical copies do not prove that runs do not differ.

    def test_wrong_rules_are_usage_errors(self):
        for rule, fragment in (
            ("stepms<=+3%", "did you mean step_ms"),
            ("step_ms<=3%", "+3%"),
            ("kernel:nothing<=+3%", "neither run has"),
            ("step_ms", "<="),
            ("rules.toml", "rules.toml"),
        ):
            with self.subTest(rule):
                self.assert_refused(
                    support.headroom("diff", RESNET, RESNET, "--gate", rule, cwd=self.scratch),
                    3 if rule == "rules.toml" else 2,
                    fragment,
                )
        self.assert_refused(
            support.headroom(
                "diff", RESNET, RESNET, "--gate", self.write("r.toml", "[[rule]]\nmetric = 'x'\nlimit = '<=+1%'\n")
            ),
            2,
            "unknown metric 'x'",
        )
        self.assert_refused(support.headroom("diff", RESNET, RESNET, "--accept", "gpus"), 2, "did you mean")
        self.assert_refused(support.headroom("diff", RESNET, RESNET, "--json", "--md"), 2, "--md")

    def test_text_and_markdown(self):
        slow = self.slower("slow.json", 1.1)
        text = support.headroom("diff", RESNET, slow, "--gate", "step_ms<=+3%", "-q")
        self.assertEqual(text.code, 1)
        self.assert_readable_text(text.text, text)
        self.assertIn("fail", text.text)
        markdown = support.headroom("diff", RESNET, slow, "--gate", "step_ms<=+3%", "--md", "-q")
        self.assertEqual(markdown.code, 1)
        self.assert_whole_tables(markdown.text, markdown)
        self.assertIn("**Gate: fail**", markdown.text)
        self.assertRegex(markdown.text, r"(?m)^\* \*\*Step\*\*: [\d.]+ ms -> [\d.]+ ms, ")  # Arrows are text
        # characters.

    def test_figures_of_a_gate_have_their_unit(self):
        slow = self.slower("slow.json", 1.1)
        for rule, said in (
            ("step_ms<=1ms", r"[\d.]+ ms \([\d.]+ ms to [\d.]+ ms\)"),
            ("step_ms<=+0.1ms", r"\+[\d.]+ ms \(\+[\d.]+ ms to \+[\d.]+ ms\)"),
            ("step_ms<=+3%", r"\+[\d.]+ % \(\+[\d.]+ % to \+[\d.]+ %\)"),
            ("gpu_tasks<=1", r"\d+ \(\d+ to \d+\)"),
        ):
            with self.subTest(rule):
                outcome = support.headroom("diff", RESNET, slow, "--gate", rule, "-q")
                self.assertEqual(outcome.code, 1)
                self.assertRegex(outcome.message, "gate: fail: " + re.escape(rule) + ": " + said + r"\n")


class MissingFigures(DiffTest):
    """A gate on a figure that was not recorded has checked nothing. --allow-inconclusive applies only to noise."""

    def test_what_is_not_recorded_is_no_pass(self):
        for rule in ("memory_peak_mb<=+3%", "memory_peak_mb<=40GB", "slowest_rank_step_ms<=+3%"):
            with self.subTest(rule):
                answer = self.diff(
                    RESNET, RESNET, "--gate", rule, "--gate", "gpu_tasks<=+0%", "--allow-inconclusive", code=1
                )
                self.assertEqual(answer["gate"]["verdict"], "missing")
                self.assertEqual([row["verdict"] for row in answer["gate"]["rules"]], ["missing", "pass"])
                self.assertIsNone(answer["gate"]["rules"][0]["measured"])
        outcome = support.headroom("diff", RESNET, RESNET, "--gate", "memory_peak_mb<=+3%", "-q")
        self.assertIn("profile_memory=True", outcome.message)

    def test_work_that_is_not_in_the_trace(self):
        document = json.loads(gzip.decompress(RESNET.read_bytes()))
        kept = [
            e
            for e in document["traceEvents"]
            if e.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver")
        ]
        cpu = self.write("cpu.json", json.dumps({**document, "traceEvents": kept}))
        answer = self.diff(
            RESNET,
            cpu,
            "--gate",
            "compute_ms<=+3%",
            "--accept",
            "recorded,gpus_used,gpu",
            "--allow-inconclusive",
            code=1,
        )
        self.assertIn(answer["gate"]["verdict"], ("missing", "not comparable"))
        self.assertEqual(answer["gate"]["rules"][0]["verdict"], "missing")

    def test_a_kernel_that_is_gone_is_told(self):
        kernel = max(support.headroom("report", RESNET, "--json").json()["kernels"], key=lambda row: row["total_us"])[
            "name"
        ]
        renamed = self.write(
            "renamed.json",
            gzip.decompress(RESNET.read_bytes()).decode().replace(json.dumps(kernel), json.dumps(kernel + "_v2")),
        )
        answer = self.diff(RESNET, renamed, "--gate", f"kernel:{kernel}<=+3%")
        self.assertEqual(answer["gate"]["verdict"], "pass")
        self.assertIn("B has no such row", answer["gate"]["rules"][0]["why"])
        self.diff(RESNET, renamed, "--gate", f"kernel:{kernel}>=1us", code=1)


class RowsAndSizes(DiffTest):
    def test_ids_are_those_of_the_report(self):
        answer = self.diff(trace("vgg19_fp32"), trace("vgg19_tf32-True"))
        report = support.headroom("report", trace("vgg19_tf32-True"), "--json").json()
        for key in ("kernels", "operators"):
            ids = {row["name"]: row["id"] for row in report[key]}
            both = [row for row in answer[key] if row["name"] in ids]
            self.assertGreater(len(both), 5)
            self.assertEqual([row["id"] for row in both], [ids[row["name"]] for row in both])
        markdown = support.headroom("diff", trace("vgg19_fp32"), trace("vgg19_tf32-True"), "--md", "-q").text
        number = re.search(r"\| (k-[0-9a-f]{10}) \|", markdown)[1]
        self.assertIn("--show ID", markdown)
        self.assertEqual({row["id"] for row in answer["kernels"]} & {number}, {number})

    def test_markdown_is_never_longer(self):
        for most in (1000, 2000, 5000, 20000):
            outcome = support.headroom("diff", RESNET, BERT, "--md", "-q", "--top", 300, "--max-bytes", most)
            self.assertEqual(outcome.code, 0, outcome)
            self.assertLessEqual(len(outcome.out), most)
            self.assertEqual(outcome.text.count("<details>"), outcome.text.count("</details>"))
            self.assert_whole_tables(outcome.text, most)
        self.assert_refused(support.headroom("diff", RESNET, BERT, "--max-bytes", 5000), 2, "--md")
        self.assert_refused(support.headroom("diff", RESNET, BERT, "--measured-step-ms", 50), 2, "diff compares two")


class Ranks(DiffTest):
    """Tests ranks that are made from a real one (integration/ranks.py), so that the changes are known."""

    trace: dict

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = ranks.load(support.data_file("public-traces/hta__nccl_parser_config__nccl_data.json.gz"))

    @classmethod
    @functools.cache
    def packed_rank(cls, rank, world, offset_us, late_us, slow):
        made = ranks.make_rank(cls.trace, rank, world, offset_us=offset_us, late_us=late_us)
        if slow:
            for event in made["traceEvents"]:
                if event.get("cat") == "kernel" and "AllReduce" not in event["name"]:
                    event["dur"] *= 1.5
        return ranks.packed(made)

    def job(self, name, world=4, late=None, slow=None, offset_us=3.6e9):
        folder = self.scratch / name
        folder.mkdir()
        for rank in range(world):
            data = self.packed_rank(rank, world, offset_us * rank, 1500 if rank == late else 0, rank == slow)
            (folder / f"rank{rank}.json.gz").write_bytes(data)
        return folder

    def test_a_rank_that_comes_late(self):
        even, late = self.job("even"), self.job("late", late=2)
        answer = self.diff(even, late)
        a, b = answer["a"], answer["b"]
        self.assertEqual((a["ranks"], a["runs"], a["steps"], b["ranks"]), ("0-3", 1, 3, "0-3"))
        self.assertIsNone(a["late"])
        self.assertLess(a["lost_to_late_ms"], 0.05)
        self.assertEqual(b["late"], "rank 2, in most steps")
        self.assertAlmostEqual(b["lost_to_late_ms"], ranks.lost_us(self.trace, 1500) / 3e3, delta=0.05)
        self.assertEqual([row["rank"] for row in answer["ranks"]], [0, 1, 2, 3])
        for row in answer["ranks"]:
            self.assertAlmostEqual(row["a"]["waited_ms"], 0, delta=0.1)
            self.assertAlmostEqual(row["b"]["waited_ms"], 0 if row["rank"] == 2 else 7.5, delta=0.1)  # Five waits.
        # A straggler waits less, and so shows less communication.
        exposed = [
            row["b"]["exposed_communication_ms"] - row["a"]["exposed_communication_ms"] for row in answer["ranks"]
        ]
        self.assertLess(exposed[2], -1)
        self.assertAlmostEqual(exposed[0], 0, delta=0.001)
        change = next(row for row in answer["metrics"] if row["name"] == "exposed_communication_ms")["change"]
        self.assertAlmostEqual(change, sum(exposed) / 4, places=6)
        text = support.headroom("diff", even, late, "-q")
        self.assert_readable_text(text.text, text)
        text = support.headroom("diff", even, late, "-q", "--full")
        self.assert_readable_text(text.text, text)
        self.assertIn("(rank 2, in most steps)", text.text)
        markdown = support.headroom("diff", even, late, "--md", "-q")
        self.assert_whole_tables(markdown.text, markdown)

    def test_a_rank_that_computes_longer(self):
        even, slow = self.job("even"), self.job("slow", slow=3)
        rules = ("--gate", "busiest_rank_compute_ms<=+3%")
        self.diff(even, even, *rules)
        answer = self.diff(even, slow, *rules, code=1)
        self.assertEqual(answer["gate"]["verdict"], "fail")
        self.assertEqual(answer["b"]["busiest_rank"], 3)
        compute = [row["b"]["compute_ms"] for row in answer["ranks"]]
        self.assertAlmostEqual(answer["b"]["imbalance_ms"], max(compute) - sum(compute) / 4, places=9)
        self.assertGreater(answer["b"]["imbalance_ms"], 1)
        self.assertAlmostEqual(answer["a"]["imbalance_ms"], 0, places=9)

    def test_repeated_runs_and_baselines(self):
        first, second, after = (
            self.job("first", world=2),
            self.job("second", world=2, offset_us=0),
            self.job("after", world=2),
        )
        rule = ("--gate", "gpu_tasks<=+0%")
        answer = self.diff(first, after, "--also-a", second, *rule)
        self.assertEqual((answer["a"]["runs"], answer["a"]["ranks"], answer["a"]["steps"]), (2, "0-1", 6))
        saved = support.headroom("baseline", "save", "job", first, second, "--no-local-state", "-q", cwd=self.scratch)
        self.assertEqual(saved.code, 0, saved)
        again = self.diff("job", after, *rule)
        for key in ("runs", "ranks", "busiest_rank", "late"):
            self.assertEqual(again["a"][key], answer["a"][key])
        self.assertAlmostEqual(again["a"]["lost_to_late_ms"], answer["a"]["lost_to_late_ms"], places=6)
        for row, before in zip(again["ranks"], answer["ranks"]):
            self.assertAlmostEqual(row["a"]["compute_ms"], before["a"]["compute_ms"], places=6)
        # The merged file describes the same job.
        self.assertEqual(support.headroom("merge", first, "-o", self.scratch / "merged.json.gz", "-q").code, 0)
        merged = self.diff(first, self.scratch / "merged.json.gz", *rule)
        self.assertEqual((merged["b"]["ranks"], merged["b"]["steps"]), ("0-1", 3))
        self.assertEqual([row["state"] for row in merged["kernels"] if row["state"] != "changed"], [])
        for row in merged["ranks"]:
            self.assertAlmostEqual(row["a"]["compute_ms"], row["b"]["compute_ms"], places=2)

    def test_other_ranks_are_not_comparable(self):
        even, fewer = self.job("even"), self.job("fewer")
        (fewer / "rank3.json.gz").unlink()
        rule = ("--gate", "gpu_tasks<=+0%")
        answer = self.diff(even, fewer, *rule, code=1)
        self.assertEqual(answer["gate"]["verdict"], "not comparable")
        self.assertEqual(
            [(f["name"], f["a"], f["b"]) for f in answer["facts"] if f["blocks"]], [("ranks", "0-3", "0-2")]
        )
        self.assertIsNone(answer["ranks"][3]["b"])
        self.diff(even, fewer, *rule, "--accept", "ranks")
        one = self.diff(even / "rank0.json.gz", even / "rank1.json.gz", *rule, code=1)
        self.assertEqual((one["ranks"], one["gate"]["verdict"]), ([], "not comparable"))

    def test_files_that_make_no_job(self):
        even, other = self.job("even"), self.job("other", world=2)
        self.assert_refused(support.headroom("diff", even, even, "--also-a", other), 2, "2 and of 4 ranks")
        (other / "rank0.json.gz").unlink()
        silent = {key: value for key, value in self.trace.items() if key != "distributedInfo"}
        ranks.write(silent, even / "x.json.gz")
        self.assert_refused(support.headroom("diff", even, RESNET), 2, "x.json.gz does not state its rank")
        (even / "x.json.gz").unlink()
        ranks.write(ranks.make_rank(self.trace, 2, 4), even / "rank2-again.json.gz")
        self.assert_refused(support.headroom("diff", even, RESNET), 2, "rank 2: 2")


class Baselines(DiffTest):
    def save(self, *arguments):
        return support.headroom("baseline", "save", *arguments, "--no-local-state", "-q", cwd=self.scratch)

    def test_a_baseline_says_what_its_trace_says(self):
        for name, path in (("resnet", RESNET), ("bert", BERT)):
            self.assertEqual(self.save(name, path).code, 0)
            file = self.scratch / f".headroom/baselines/{name}.json"
            self.assertLess(file.stat().st_size, 30_000)
            self.assertNotIn(str(support.ROOT), file.read_text())
            answer = self.diff(name, path, "--gate", "gpu_work_ms<=+3%", "--gate", "gpu_tasks<=+0%")
            self.assertEqual(answer["a"]["baseline"], name)
            self.assertAlmostEqual(answer["step_ms"]["change"], 0, places=5)
            self.assertEqual(answer["gate"]["verdict"], "pass")
            self.assertEqual([row for row in answer["operators"] + answer["kernels"] if row["state"] == "gone"], [])
            self.assertEqual(self.diff(file, path)["a"]["baseline"], name)
            first = file.read_bytes()
            self.assertEqual(self.save(name, path, "--force").code, 0)
            self.assertEqual(file.read_bytes(), first)

    def test_names_and_files_in_the_way(self):
        self.assertEqual(self.save("main", RESNET).code, 0)
        self.assert_refused(self.save("main", RESNET), 2, "--force")
        for name in ("../x", "a/b", ".x", "", "a b"):
            self.assert_refused(self.save(name, RESNET), 2, "invalid baseline name")
        self.assert_refused(
            support.headroom("diff", "main", RESNET, "-o", ".headroom/baselines/main.json", cwd=self.scratch), 2, "-o"
        )
        self.assert_refused(
            support.headroom("diff", "main", RESNET, "--also-a", RESNET, cwd=self.scratch), 2, "baseline"
        )
        self.assert_refused(support.headroom("diff", "other", RESNET, cwd=self.scratch), 3, "no baseline of that name")

    def test_broken_baselines(self):
        self.assertEqual(self.save("main", RESNET).code, 0)
        file = self.scratch / ".headroom/baselines/main.json"
        text = file.read_text()
        for broken in (
            text[:-200],
            text.replace('"steps": 3', '"steps": "x"'),
            text.replace("baseline/1", "baseline/9"),
            re.sub(r'"runs": \[.*?\n  \]', '"runs": []', text, flags=re.S),
        ):
            self.assertNotEqual(broken, text)
            file.write_text(broken)
            self.assert_refused(support.headroom("diff", "main", RESNET, cwd=self.scratch), 3, "not a valid baseline")
        saved = json.loads(text)
        step = {key: value for key, value in saved["step"].items() if key != "p50_ms"}
        kernels = [{**saved["kernels"][0], "ms": "a"}, *saved["kernels"][1:]]
        for content, what in (
            ({"a": 1}, "it has no 'schema', which must be headroom.baseline/1"),
            ({**saved, "step": step}, "step has no 'p50_ms'"),
            ({**saved, "kernels": kernels}, "kernels[0].ms is not a valid number"),
            ({**saved, "runs": {}}, "runs is not a valid list"),
            ({**saved, "steps": -1.5}, "steps is not a valid whole number"),
        ):
            file.write_text(json.dumps(content))
            refused = support.headroom("diff", "main", RESNET, cwd=self.scratch)
            self.assert_refused(
                refused,
                3,
                f"main.json: not a valid baseline: {what}; save it again (headroom baseline save NAME TRACE...)",
            )

    def test_list(self):
        empty = support.headroom("baseline", "list", cwd=self.scratch)
        self.assertEqual(empty.code, 0)
        self.assertIn("no baselines", empty.text)
        self.assertEqual(self.save("main", RESNET, "--here").code, 0)
        self.write(".headroom/baselines/junk.json", "{}")
        listed = support.headroom("baseline", "list", cwd=self.scratch)
        self.assertIn("main", listed.text)
        self.assertIn("not a baseline", listed.text)
        rows = support.headroom("baseline", "list", "--json", cwd=self.scratch).json()["baselines"]
        self.assertEqual(
            [(row["file"], row["problem"] is None) for row in rows], [("junk.json", False), ("main.json", True)]
        )

    def test_settings_of_the_machine(self):
        os_environment = {"CUDA_LAUNCH_BLOCKING": "1"}
        saved = support.headroom(
            "baseline", "save", "main", RESNET, "--here", "-q", cwd=self.scratch, environment=os_environment
        )
        self.assertEqual(saved.code, 0, saved)
        text = (self.scratch / ".headroom/baselines/main.json").read_text()
        self.assertNotIn(os.environ["PATH"], text)
        outcome = support.headroom(
            "diff",
            "main",
            RESNET,
            "--here",
            "--json",
            "-q",
            cwd=self.scratch,
            environment={"CUDA_LAUNCH_BLOCKING": "0"},
        )
        fact = next(f for f in outcome.json()["facts"] if f["name"] == "env.CUDA_LAUNCH_BLOCKING")
        self.assertEqual((fact["a"], fact["b"], fact["state"], fact["blocks"]), ("1", "0", "different", False))
        self.assertIn("launch", fact["cost"])


class Ci(DiffTest):
    def test_the_example_passes_and_fails(self):
        script = support.ROOT / "examples/ci/gate.sh"
        path = {"PATH": f"{support.BINARY.parent}:{os.environ['PATH']}"}
        self.assertEqual(support.headroom("baseline", "save", "main", RESNET, "-q", cwd=self.scratch).code, 0)
        good = support.run(
            [script, "main", RESNET, self.write("again.json.gz", RESNET.read_bytes())],
            cwd=self.scratch,
            environment=path,
        )
        self.assertEqual(good.code, 0, good)
        self.assertIn("Gate: pass", good.text)
        bad = support.run([script, "main", self.slower("slow.json", 1.1)], cwd=self.scratch, environment=path)
        self.assertEqual(bad.code, 1, bad)
        self.assertIn("Gate: fail", (self.scratch / "gate.md").read_text())
