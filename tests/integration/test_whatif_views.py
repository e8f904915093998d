"""Tests `headroom whatif`'s views of the engine (--explain, --dump-graph, --self-check, --sweep, --write-trace) and its
history (--save, --score, --scores)."""
import copy
import gzip
import json
import unittest

import jsonschema

from integration import support

SAMPLES = [support.ROOT / f"data/samples/{job}_h200.json.gz" for job in ("bert_base_amp_fp16", "resnet50_fp32")]
FLOAT32 = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"
VIEWS = ("--explain", "--sweep", "--self-check")


def without(value, path):
    """Returns a copy without one member."""
    value = copy.deepcopy(value)
    inside = value
    for key in path[:-1]:
        inside = inside[key]
    del inside[path[-1]]
    return value


def members(value, path=()):
    """Returns the paths of all members of all objects; for lists only the first row."""
    rows = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, child in rows:
        if isinstance(value, dict):
            yield (*path, key)
        yield from members(child, (*path, key))


class Views(support.ProgramTest):
    def whatif(self, *args, **options):
        outcome = support.headroom("whatif", "--json", "--quiet", *args, **options)
        self.assertEqual(outcome.code, 0, outcome)
        return outcome.json()

    def test_the_published_schema_holds_and_requires_every_key(self):
        validator = support.forecast_validator()
        jsonschema.Draft202012Validator.check_schema(validator.schema)
        forecast = self.whatif(FLOAT32, "amp", "remove:match=no such kernel", *VIEWS)
        self.assertEqual(support.forecast_violations(forecast), [])
        for path in members(forecast):
            optional = path in (("explanation",), ("self_check",), ("sweep",))
            self.assertEqual(validator.is_valid(without(forecast, path)), optional, path)
        for sample in SAMPLES:
            self.assertEqual(support.forecast_violations(self.whatif(sample)), [])

    def test_the_critical_path_adds_up_to_the_step(self):
        for sample in SAMPLES:
            forecast = self.whatif(sample, "gpu-speed:factor=1000", "host-speed:factor=1000", "--explain")
            as_it_is, fast_gpu, fast_host = forecast["explanation"]["plans"]
            self.assertIsNone(as_it_is["name"])
            self.assertAlmostEqual(as_it_is["step_ms"], forecast["baseline"]["corrected_step_ms"])
            for plan in (as_it_is, fast_gpu, fast_host):
                self.assertAlmostEqual(plan["host_ms"] + plan["gpu_ms"] + plan["waits_ms"], plan["step_ms"], places=4)
                for side, lists in (
                    ("host_ms", ("phases",)),
                    ("host_ms", ("operators", "calls")),
                    ("gpu_ms", ("kernels",)),
                    ("waits_ms", ("waits",)),
                ):
                    self.assertAlmostEqual(
                        sum(part["path_ms"] for name in lists for part in plan[name]), plan[side], places=4
                    )
            self.assertGreater(fast_gpu["host_ms"], 0.9 * fast_gpu["step_ms"])
            self.assertGreater(fast_host["gpu_ms"], 0.8 * fast_host["step_ms"])
            # The side that limits the step has no slack, the other side has some.
            self.assertLess(fast_gpu["host_slack"]["median_ms"], 0.01)
            self.assertGreater(fast_host["host_slack"]["median_ms"], 0.1)
            edges = {row["kind"]: row for row in forecast["explanation"]["edges"]}
            self.assertEqual(edges["launch"]["recorded"], edges["stream"]["recorded"])

    def test_the_dumped_graph_replays_to_the_same_step(self):
        for sample in SAMPLES:
            path = self.scratch / "graph.jsonl"
            baseline = self.whatif(sample, "gpu-speed:factor=1", "--dump-graph", path)["baseline"]
            head, *tasks = (json.loads(line) for line in path.read_text().splitlines())
            self.assertEqual((head["schema"], head["tasks"]), ("headroom.graph/1", len(tasks)))
            self.assertEqual(head["edges"], sum(len(task["edges"]) for task in tasks))
            self.assertAlmostEqual(
                replay(head, tasks), baseline["corrected_step_ms"], delta=1e-3 * baseline["corrected_step_ms"]
            )

    def test_files_are_not_overwritten_by_accident(self):
        trace = self.write("trace.json.gz", FLOAT32.read_bytes())
        for flag in ("--dump-graph", "--write-trace"):
            self.assert_refused(support.headroom("whatif", trace, flag, trace), 2, flag)
        self.assertEqual(trace.read_bytes(), FLOAT32.read_bytes())
        self.assert_refused(support.headroom("whatif", trace, "--write-trace", self.scratch / "x.txt"), 2, ".json.gz")
        self.assert_refused(
            support.headroom("whatif", trace, "amp", "tf32", "--write-trace", self.scratch / "x.json"), 2, "one"
        )
        self.assert_refused(support.headroom("whatif", trace, "--dump-graph", "-"), 2, "stdout")
        self.assert_refused(
            support.headroom(
                "whatif", trace, "remove:match=nothing at all", "--write-trace", self.scratch / "x.json", "-q"
            ),
            2,
            "no GPU task",
        )
        self.assertFalse((self.scratch / "x.json").exists())

    def test_the_engine_checks_itself(self):
        for sample in SAMPLES:
            checks = self.whatif(sample, "--self-check")["self_check"]
            self.assertGreaterEqual(
                {c["name"] for c in checks},
                {
                    "identity",
                    "uniform scale",
                    "GPU bound",
                    "host bound",
                    "monotonicity",
                    "edge removal",
                    "commutation",
                    "round trip",
                },
            )
            self.assertEqual([c for c in checks if not c["passed"]], [])

    def test_a_failed_self_check_is_a_failed_gate(self):
        bad = [t for t in support.real_traces() if "sglang_Qwen3-8B_decode" in t.name]
        if not bad:
            self.skipTest("the trace whose replay is off is not here")
        outcome = support.headroom("whatif", "--json", "--quiet", "--self-check", bad[0])
        self.assertEqual(outcome.code, 1, outcome)
        self.assertIn("identity", outcome.message)
        self.assertIn("identity", [c["name"] for c in json.loads(outcome.out)["self_check"] if not c["passed"]])

    def test_a_sweep_gains_monotonously_and_less_and_less(self):
        for sample in SAMPLES:
            forecast = self.whatif(sample, "--sweep")
            sweep = forecast["sweep"]
            self.assertAlmostEqual(sweep["step_ms"], forecast["baseline"]["corrected_step_ms"], places=3)
            noise = 1e-3 * sweep["step_ms"]
            scales = [1, *(1 / f if f else 0 for f in sweep["factors"])]
            for target in sweep["targets"]:
                if target["kind"] == "sync":
                    self.assertEqual(set(target["step_ms"][:-1]), {None})
                    continue
                steps = [sweep["step_ms"], *target["step_ms"]]
                for i, (a, b) in enumerate(zip(steps, steps[1:])):
                    self.assertLessEqual(b, a + noise, target)
                    # A target never saves more than its own time.
                    self.assertLessEqual(a - b, (scales[i] - scales[i + 1]) * target["time_ms"] + noise, target)
                self.assertAlmostEqual(target["saves_ms"], sweep["step_ms"] - target["step_ms"][3])
            saves = [t["saves_ms"] for t in sweep["targets"]]
            self.assertEqual(saves, sorted(saves, reverse=True))
            self.assertTrue(sweep["next"])
            self.assertAlmostEqual(
                sweep["next"][0]["saves_ms"],
                max(t["saves_ms"] for t in sweep["targets"] if t["kind"] != "sync"),
                places=3,
            )
            for before, after in zip([sweep, *sweep["next"]], sweep["next"]):
                self.assertAlmostEqual(before["step_ms"] - after["step_ms"], after["saves_ms"])

    def test_a_sweep_agrees_with_the_scenario(self):
        forecast = self.whatif(FLOAT32, "scale:match=aten..convolution_backward,factor=0.5", "--sweep")
        (target,) = (
            t
            for t in forecast["sweep"]["targets"]
            if (t["kind"], t["name"]) == ("operator", "aten::convolution_backward")
        )
        self.assertAlmostEqual(
            target["step_ms"][3], forecast["scenarios"][0]["step_ms"]["mid"], delta=1e-3 * target["step_ms"][3]
        )

    def test_a_written_trace_has_the_forecasts_step(self):
        path = self.scratch / "predicted.json.gz"
        for sample in SAMPLES:
            for scenario in (
                None,
                "amp",
                "fused-optimizer",
                "cuda-graph",
                "gpu-speed:factor=4",
                "host-speed",
                "vdnn",
                "data-parallel:gpus=8",
                "p3",
            ):
                with self.subTest(trace=sample.name, scenario=scenario):
                    named = [scenario] if scenario else []
                    outcome = support.headroom("whatif", "--json", "--quiet", sample, *named, "--write-trace", path)
                    if outcome.code == 2 and "no forecast" in outcome.message:
                        continue
                    forecast = outcome.json()
                    step = (
                        forecast["scenarios"][0]["step_ms"]["mid"]
                        if scenario
                        else forecast["baseline"]["corrected_step_ms"]
                    )
                    report = self.report(path)
                    self.assertAlmostEqual(report["steps"]["mean_ms"], step, delta=0.005 * step)
                    self.assertEqual(report["health"]["grade"], "A")
                    again = self.whatif(path)
                    walls = [row["wall_ms"] for row in report["steps"]["list"]]
                    self.assertAlmostEqual(
                        again["baseline"]["traced_step_ms"], sum(walls[1:]) / len(walls[1:]), delta=1e-6 * step
                    )
                    self.assertAlmostEqual(again["baseline"]["traced_step_ms"], step, delta=0.02 * step)
                    # The written trace is not a recording. No profiler cost is removed, and both commands say so.
                    # Its first step does not count.
                    self.assertEqual(again["baseline"]["corrected_step_ms"], again["baseline"]["traced_step_ms"])
                    self.assertIn("forecast", {issue["code"] for issue in report["health"]["issues"]})
                    self.assertEqual({row["profiler_cost_ms"] for row in report["steps"]["list"]}, {0})
                    for sentence in (again["baseline"]["calibration"], report["engine_window"]["calibration"]):
                        self.assertIn("forecast written by headroom", sentence)

    def test_a_written_trace_marks_what_changed(self):
        path = self.scratch / "predicted.json"
        changed = self.whatif(FLOAT32, "amp", "--write-trace", path)["scenarios"][0]["changed"]
        trace = json.loads(path.read_text())
        self.assertEqual(trace["headroom_scenario"], "amp")
        launches = {e["args"]["correlation"] for e in trace["traceEvents"] if e.get("cat") == "cuda_runtime"}
        marks = {"changed": 0, "inserted": 0}
        for event in trace["traceEvents"]:
            if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and "correlation" in event["args"]:
                self.assertIn(event["args"]["correlation"], launches)
                if "headroom" in event["args"]:
                    marks[event["args"]["headroom"]] += 1
        self.assertEqual(marks, {"changed": changed["tasks"], "inserted": changed["inserted"]})
        operators = {
            e["args"]["External id"]: e["name"]
            for e in json.loads(gzip.decompress(FLOAT32.read_bytes()))["traceEvents"]
            if e.get("cat") == "cpu_op"
        }
        named = [e["args"] for e in trace["traceEvents"] if "operator" in e.get("args", {})]
        self.assertTrue(named)
        for args in named:
            self.assertEqual(operators[args["recorded_external_id"]], args["operator"])
        packed = self.scratch / "predicted.json.gz"
        self.whatif(FLOAT32, "amp", "--write-trace", packed)
        self.assertEqual(gzip.decompress(packed.read_bytes()), path.read_bytes())

    def test_transfers_have_tracks_of_their_own(self):
        path = self.scratch / "predicted.json"
        inserted = self.whatif(FLOAT32, "vdnn", "--write-trace", path)["scenarios"][0]["changed"]["inserted"]
        events = json.loads(path.read_text())["traceEvents"]
        transfers = [e for e in events if e.get("cat") == "headroom_transfer"]
        self.assertGreaterEqual(len(transfers), inserted)
        tracks = {
            e["tid"]: e["args"]["name"]
            for e in events
            if e["name"] == "thread_name" and e["pid"] == transfers[0]["pid"]
        }
        self.assertEqual(set(tracks.values()), {"copies out", "copies in"})
        for transfer in transfers:
            self.assertEqual(transfer["name"], tracks[transfer["tid"]])
        # The trace has neither orphans nor GPU work.
        self.assertEqual([e for e in events if e.get("cat") == "kernel" and "headroom" in e["args"]], [])
        report = self.report(path)
        self.assertNotIn("orphan-gpu-task", {issue["code"] for issue in report["health"]["issues"]})
        self.assertFalse({"copies out", "copies in"} & {kernel["name"] for kernel in report["kernels"]})

    def test_a_host_that_nothing_holds_up_leads_by_one_cycle(self):
        path = self.scratch / "predicted.json"
        step = self.whatif(FLOAT32, "cuda-graph", "--write-trace", path)["scenarios"][0]["step_ms"]["mid"]
        events = json.loads(path.read_text())["traceEvents"]
        calls = {e["args"]["correlation"]: e["ts"] for e in events if e.get("cat") == "cuda_runtime"}
        steps = len([e for e in events if e.get("cat") == "user_annotation"])
        work = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
        self.assertLess(min(e["ts"] for e in work), 1000)
        leads = [e["ts"] - calls[e["args"]["correlation"]] for e in work if "correlation" in e["args"]]
        self.assertGreater(min(leads), 0)
        self.assertLess(min(leads), 1.01 * steps * step * 1e3)

    def test_text_is_readable(self):
        outcome = support.headroom("whatif", "--quiet", FLOAT32, "amp", *VIEWS, environment={"LC_ALL": "C.UTF-8"})
        self.assertEqual(outcome.code, 0, outcome)
        self.assert_readable_text(outcome.text, "all views")
        for word in ("Critical path", "Slack", "Best next fix", "Self-check", "gone"):
            self.assertIn(word, outcome.text)

    def test_a_forecast_is_saved_and_scored_and_sets_intervals(self):
        state = {"XDG_STATE_HOME": str(self.scratch / "state")}
        after = self.scratch / "after.json"
        scenario = "gpu-speed:factor=2"
        before = self.whatif(FLOAT32, scenario, "--save", "--write-trace", after, environment=state)["scenarios"][0]
        lines = (self.scratch / "state/headroom/forecasts.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["scenario"] for line in lines], [scenario])
        for job in range(1, 4):
            # Uses another trace of the changed job each time; 1 % slower than forecast.
            another = self.write(f"after{job}.json", after.read_text() + " " * job)
            outcome = support.headroom(
                "whatif",
                "--json",
                "--quiet",
                "--score",
                FLOAT32,
                another,
                "--measured-step-ms",
                before["step_ms"]["mid"] * 1.01,
                environment=state,
            )
            self.assertEqual(outcome.code, 0, outcome)
            score = outcome.json()
            self.assertEqual((score["schema"], score["scenario"]), ("headroom.whatif-score/1", scenario))
            self.assertEqual((score["scores"], score["source"]), (job, "measured"))
            self.assertAlmostEqual(score["error_pct"], -1 / 1.01)
        # A pair that is scored again counts once.
        support.headroom("whatif", "--quiet", "--score", FLOAT32, another, scenario, environment=state)
        width = before["step_ms"]["high"] - before["step_ms"]["mid"]
        learned = self.whatif(FLOAT32, scenario, environment=state)["scenarios"][0]
        self.assertEqual(learned["scores"], 3)
        self.assertAlmostEqual(learned["interval_factor"], max(0.5, min(3, 0.01 * before["step_ms"]["mid"] / width)))
        self.assertAlmostEqual(
            learned["step_ms"]["high"] - learned["step_ms"]["mid"], width * learned["interval_factor"]
        )
        fresh = self.whatif(FLOAT32, scenario, "--no-local-state", environment=state)["scenarios"][0]
        self.assertEqual(fresh["step_ms"], before["step_ms"])
        self.assertIsNone(fresh["scores"])

    def test_scores_are_listed(self):
        state = {"XDG_STATE_HOME": str(self.scratch / "state")}
        ledger = self.scratch / "state/headroom/forecasts.jsonl"

        validator = support.scores_validator()
        jsonschema.Draft202012Validator.check_schema(validator.schema)

        def listed():
            outcome = support.headroom("whatif", "--scores", "--json", environment=state)
            self.assertEqual(outcome.code, 0, outcome)
            scores = outcome.json()
            self.assertEqual((scores["schema"], scores["ledger"]), ("headroom.whatif-scores/1", str(ledger)))
            self.assertEqual([e.message for e in validator.iter_errors(scores)], [])
            for path in members(scores):
                self.assertFalse(validator.is_valid(without(scores, path)), path)
            return scores["records"]

        self.assertEqual(listed(), [])
        self.assertIn("--save", support.headroom("whatif", "--scores", environment=state).text)
        after = self.scratch / "after.json"
        forecast = self.whatif(FLOAT32, "gpu-speed:factor=2", "--save", "--write-trace", after, environment=state)[
            "scenarios"
        ][0]
        actual = 1.01 * forecast["step_ms"]["mid"]
        outcome = support.headroom("whatif", "--score", FLOAT32, after, "--measured-step-ms", actual, environment=state)
        self.assertEqual(outcome.code, 0, outcome)
        saved, scored = listed()
        self.assertEqual((saved["line"], scored["line"]), (1, 2))
        for record in (saved, scored):
            self.assertEqual(
                (record["before"], record["scenario"], record["step_ms"]),
                (str(FLOAT32), "gpu-speed:factor=2", forecast["step_ms"]),
            )
        self.assertEqual([saved[key] for key in ("actual_ms", "error_pct", "held")], [None] * 3)
        self.assertAlmostEqual(scored["actual_ms"], actual)
        self.assertAlmostEqual(scored["error_pct"], -1 / 1.01)
        self.assertEqual(scored["held"], actual <= forecast["step_ms"]["high"])
        text = support.headroom("whatif", "--scores", environment={**state, "LC_ALL": "C.UTF-8"}).text
        self.assert_readable_text(text, "scores")
        self.assertIn("-1.0 %", text)
        self.assert_refused(support.headroom("whatif", FLOAT32, "--scores", environment=state), 2, "leave out TRACE")
        for target, shown in ((ledger, ("--scores",)), (after, ("--score", FLOAT32, after))):
            before = target.read_bytes()
            self.assert_refused(support.headroom("whatif", *shown, "-o", target, environment=state), 2, "-o")
            self.assertEqual(target.read_bytes(), before)
        self.assert_refused(
            support.headroom("whatif", "--scores", "--no-local-state", environment=state), 2, "local state"
        )

    def test_the_trace_of_before_is_no_score(self):
        state = {"XDG_STATE_HOME": str(self.scratch / "state")}
        self.whatif(FLOAT32, "amp", "--save", environment=state)
        copy_of_before = self.write("copy.json.gz", FLOAT32.read_bytes())
        self.assert_refused(
            support.headroom("whatif", "--score", FLOAT32, copy_of_before, environment=state), 2, "same trace"
        )

    def test_only_a_measured_step_is_called_the_truth(self):
        state = {"XDG_STATE_HOME": str(self.scratch / "state")}
        after = self.scratch / "after.json"
        self.whatif(FLOAT32, "amp", "--save", "--write-trace", after, environment=state)
        for measured, label, other in (((), "After", "Truth"), (("--measured-step-ms", 30), "Truth", "After")):
            outcome = support.headroom("whatif", "--score", FLOAT32, after, *measured, environment=state)
            self.assertEqual(outcome.code, 0, outcome)
            self.assertRegex(outcome.text, rf"(?m)^  {label} ")
            self.assertNotRegex(outcome.text, rf"(?m)^  {other} ")
            self.assertNotIn("another job", outcome.message)

    def test_a_damaged_trace_is_no_score(self):
        state = {"XDG_STATE_HOME": str(self.scratch / "state")}
        self.whatif(FLOAT32, "amp", "--save", environment=state)
        text = gzip.decompress(FLOAT32.read_bytes())
        cut = self.write("cut.json", text[: len(text) * 6 // 10].decode(errors="ignore"))
        outcome = support.headroom("whatif", "--score", FLOAT32, cut, environment=state)
        self.assert_refused(outcome, 3, "no step has all its GPU work recorded")
        outcome = support.headroom("whatif", cut, "--dump-graph", self.scratch / "graph.jsonl")
        self.assert_refused(outcome, 3, "--dump-graph", "no step has all its GPU work recorded")
        self.assertFalse((self.scratch / "graph.jsonl").exists())

    def test_another_job_is_refused(self):
        state = {"XDG_STATE_HOME": str(self.scratch / "state")}
        (bert,) = (sample for sample in SAMPLES if "bert" in sample.name)
        self.whatif(FLOAT32, "amp", "--save", environment=state)
        ledger = self.scratch / "state/headroom/forecasts.jsonl"
        before = ledger.read_bytes()
        self.assert_refused(
            support.headroom("whatif", "--score", FLOAT32, bert, environment=state),
            2,
            "a different job",
            "the score was not saved",
        )
        self.assertEqual(ledger.read_bytes(), before)

    def test_a_change_of_the_job_is_no_other_job(self):
        traces = {t.name: t for t in support.real_traces()}
        for before, after in (
            ("bert_base_fp32", "bert_base_amp-bf16_attn-sdpa_opt-fused"),
            ("resnet50_fp32", "resnet50_bs-8"),
        ):
            if f"{before}.json.gz" not in traces or f"{after}.json.gz" not in traces:
                self.skipTest("the recorded pairs are not here")
            state = {"XDG_STATE_HOME": str(self.scratch / before)}
            self.whatif(traces[f"{before}.json.gz"], "gpu-speed:factor=2", "--save", environment=state)
            outcome = support.headroom(
                "whatif", "--score", traces[f"{before}.json.gz"], traces[f"{after}.json.gz"], environment=state
            )
            self.assertEqual((outcome.code, outcome.message), (0, ""), outcome)

    def test_scores_need_a_saved_forecast(self):
        state = {"XDG_STATE_HOME": str(self.scratch / "state")}
        self.assert_refused(support.headroom("whatif", "--score", FLOAT32, FLOAT32, environment=state), 2, "--save")
        self.assert_refused(support.headroom("whatif", FLOAT32, "--save", environment=state), 2, "named")
        self.assert_refused(
            support.headroom("whatif", FLOAT32, "amp", "--save", "--no-local-state", environment=state),
            2,
            "local state",
        )
        self.assertFalse((self.scratch / "state").exists())


def replay(head, tasks):
    """Returns ms of a slow, simple replay of a dumped graph, cycle after cycle."""
    before, ends = [], [0]
    for _ in range(8):
        now = []
        for task in tasks:
            start = 0
            for edge in task["edges"]:
                back = edge["cycles_back"]
                if back > len(before):
                    continue
                moments = before[-back] if back else now
                start = max(start, moments[edge["from"]][edge["moment"] == "end"] + edge["corrected_lag_ns"])
            now.append((start, start + task["corrected_duration_ns"]))
        before.append(now)
        ends.append(max(end for (_, end), task in zip(now, tasks) if task["kind"] == "gpu"))
    return ((ends[-1] - ends[-2]) / head["steps"] * head["step_factor"] + head["step_offset_ns"]) / 1e6


if __name__ == "__main__":
    unittest.main()
