"""`headroom diff` and `headroom baseline`: real pairs, gates and their exit codes, damaged input."""
import gzip
import json
import os
import re

from integration import support

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
            self.assertAlmostEqual(phases, parts, delta=2e-5)  # A baseline has a nanosecond of each.
        return answer

    def slower(self, name, factor, source=RESNET, kernel="sgemm|implicit_convolve"):
        """A copy of a trace whose kernels take longer; those after them on the stream start as much later."""
        document = json.loads(gzip.decompress(source.read_bytes()))
        shift = 0
        for event in sorted((e for e in document["traceEvents"] if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")),
                            key=lambda e: e["ts"]):
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
                answer = self.diff(trace(f"{model}_fp32"), trace(f"{model}_fp32_layers"), "--gate", "gpu_work_ms<=+3%", "--gate", "gpu_tasks<=+0%")
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
        # Recorded it got slower, and without its profiler faster: the truth is 59.4 to 46.2 ms.
        self.assertGreater(answer["step_ms"]["change"], 0)
        self.assertLess(answer["corrected_step_ms"]["change"], 0)
        self.assertIn("aten::mm", [swap["operator"] for swap in answer["swaps"]])
        self.assertIn("math_dtype", [f["name"] for f in answer["facts"] if f["state"] == "different" and f["blocks"]])

    def test_tensor_cores_are_found_as_other_kernels(self):
        answer = self.diff(trace("vgg19_fp32"), trace("vgg19_tf32-True"))
        self.assertTrue(answer["changed"])
        self.assertLess(answer["step_ms"]["change_pct"], -50)  # Truth: 135.9 to 55.3 ms.
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
        a = self.with_versions("a.json", cuda_runtime_version=12080, distributedInfo={"rank": 0, "world_size": 1, "nccl_version": "2.27.7"})
        b = self.with_versions("b.json", cuda_runtime_version=13000, hip_runtime_version=60443483)
        answer = self.diff(a, b, "--gate", "gpu_tasks<=+0%")
        self.assertEqual(self.facts(answer), {"version.cuda_runtime": ("12.8", "13.0"), "version.nccl": ("2.27.7", None), "version.hip_runtime": (None, "6.4.43483")})
        for copy in ("copy.json", "copy.pftrace"):
            self.assertEqual(support.headroom("slice", a, "--time", "0:", "-o", self.scratch / copy).code, 0)
            self.assertEqual(self.facts(self.diff(self.scratch / copy, a)), {"version.cuda_runtime": ("12.8",) * 2, "version.nccl": ("2.27.7",) * 2})

    def test_what_is_no_version_is_not_kept(self):
        a = self.with_versions("a.json", cuda_runtime_version=-1, distributedInfo={"nccl_version": "/home/me/nccl"}, headroom_versions={"pytorch": 7, "gpu": "2.0"})
        self.assertEqual(self.facts(self.diff(a, a)), {"version.gpu": ("2.0", "2.0")})


class OddTraces(DiffTest):
    def golden(self, name):
        return next((support.GOLDEN / name).glob("*trace*"))

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
        self.assertLess(answer["step_ms"]["low"], -0.05)  # Equal copies are no proof that runs do not differ.

    def test_wrong_rules_are_usage_errors(self):
        for rule, fragment in (("stepms<=+3%", "did you mean step_ms"), ("step_ms<=3%", "+3%"), ("kernel:nothing<=+3%", "neither run has"),
                               ("step_ms", "<="), ("rules.toml", "rules.toml")):
            with self.subTest(rule):
                self.assert_refused(support.headroom("diff", RESNET, RESNET, "--gate", rule, cwd=self.scratch), 3 if rule == "rules.toml" else 2, fragment)
        self.assert_refused(support.headroom("diff", RESNET, RESNET, "--gate", self.write("r.toml", "[[rule]]\nmetric = 'x'\nlimit = '<=+1%'\n")), 2, "no metric 'x'")
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
            self.assert_refused(self.save(name, RESNET), 2, "no name for a baseline")
        self.assert_refused(support.headroom("diff", "main", RESNET, "-o", ".headroom/baselines/main.json", cwd=self.scratch), 2, "-o")
        self.assert_refused(support.headroom("diff", "main", RESNET, "--also-a", RESNET, cwd=self.scratch), 2, "baseline")
        self.assert_refused(support.headroom("diff", "other", RESNET, cwd=self.scratch), 3, "no baseline of that name")

    def test_broken_baselines(self):
        self.assertEqual(self.save("main", RESNET).code, 0)
        file = self.scratch / ".headroom/baselines/main.json"
        text = file.read_text()
        for broken in (text[:-200], text.replace('"steps": 3', '"steps": "x"'), text.replace("baseline/1", "baseline/9"), re.sub(r'"runs": \[.*?\n  \]', '"runs": []', text, flags=re.S)):
            self.assertNotEqual(broken, text)
            file.write_text(broken)
            self.assert_refused(support.headroom("diff", "main", RESNET, cwd=self.scratch), 3, "not a baseline")

    def test_list(self):
        empty = support.headroom("baseline", "list", cwd=self.scratch)
        self.assertEqual(empty.code, 0)
        self.assertIn("none", empty.text)
        self.assertEqual(self.save("main", RESNET, "--here").code, 0)
        self.write(".headroom/baselines/junk.json", "{}")
        listed = support.headroom("baseline", "list", cwd=self.scratch)
        self.assertIn("main", listed.text)
        self.assertIn("not a baseline", listed.text)
        rows = support.headroom("baseline", "list", "--json", cwd=self.scratch).json()["baselines"]
        self.assertEqual([(row["file"], row["problem"] is None) for row in rows], [("junk.json", False), ("main.json", True)])

    def test_settings_of_the_machine(self):
        os_environment = {"CUDA_LAUNCH_BLOCKING": "1"}
        saved = support.headroom("baseline", "save", "main", RESNET, "--here", "-q", cwd=self.scratch, environment=os_environment)
        self.assertEqual(saved.code, 0, saved)
        text = (self.scratch / ".headroom/baselines/main.json").read_text()
        self.assertNotIn(os.environ["PATH"], text)
        outcome = support.headroom("diff", "main", RESNET, "--here", "--json", "-q", cwd=self.scratch, environment={"CUDA_LAUNCH_BLOCKING": "0"})
        fact = next(f for f in outcome.json()["facts"] if f["name"] == "env.CUDA_LAUNCH_BLOCKING")
        self.assertEqual((fact["a"], fact["b"], fact["state"], fact["blocks"]), ("1", "0", "different", False))
        self.assertIn("launch", fact["cost"])


class Ci(DiffTest):
    def test_the_example_passes_and_fails(self):
        script = support.ROOT / "examples/ci/gate.sh"
        path = {"PATH": f"{support.BINARY.parent}:{os.environ['PATH']}"}
        self.assertEqual(support.headroom("baseline", "save", "main", RESNET, "-q", cwd=self.scratch).code, 0)
        good = support.run([script, "main", RESNET, self.write("again.json.gz", RESNET.read_bytes())], cwd=self.scratch, environment=path)
        self.assertEqual(good.code, 0, good)
        self.assertIn("Gate: pass", good.text)
        bad = support.run([script, "main", self.slower("slow.json", 1.1)], cwd=self.scratch, environment=path)
        self.assertEqual(bad.code, 1, bad)
        self.assertIn("Gate: fail", (self.scratch / "gate.md").read_text())
