"""Tests `headroom whatif`: the contract of its JSON, identity of the replay, and the limits of any forecast."""
import gzip
import json

from integration import support

SAMPLES = [support.ROOT / f"data/samples/{job}_h200.json.gz" for job in ("bert_base_amp_fp16", "resnet50_fp32")]
# Traces whose replay is off, with the reason. An entry that replays well fails, so that entries are removed in time.
KNOWN_OFF = {"tracelens__inference__sglang_decode__sglang_Qwen3-8B_decode.json.gz": "a synchronous copy of 463 ms"}


class Whatif(support.ProgramTest):
    def whatif(self, trace, *scenarios):
        outcome = support.headroom("whatif", "--json", "--quiet", trace, *scenarios)
        self.assertEqual(outcome.code, 0, outcome)
        return outcome.json()

    def test_keys_of_the_contract(self):
        forecast = self.whatif(SAMPLES[0], "gpu-speed", "remove:match=no such kernel")
        self.assertEqual(forecast["schema"], "headroom.whatif/1")
        self.assertLessEqual(
            {"traced_step_ms", "corrected_step_ms", "replay_step_ms", "replay_error_pct", "calibration"},
            forecast["baseline"].keys(),
        )
        applied, abstained = forecast["scenarios"]
        for row in forecast["scenarios"]:
            self.assertLessEqual(
                {
                    "name",
                    "step_ms",
                    "speedup",
                    "saves_ms",
                    "memory_delta_bytes",
                    "applies",
                    "why",
                    "changed",
                    "validated",
                },
                row.keys(),
            )
        self.assertTrue(applied["applies"])
        self.assertLessEqual(applied["step_ms"]["low"], applied["step_ms"]["mid"])
        self.assertLessEqual(applied["step_ms"]["mid"], applied["step_ms"]["high"])
        self.assertFalse(abstained["applies"])
        self.assertEqual(set(abstained["step_ms"].values()), {None})
        self.assertIn("no such kernel", abstained["why"])

    def test_rows_come_in_the_order_asked_for_and_ranked_else(self):
        names = ["host-speed", "tf32", "gpu-speed"]
        self.assertEqual([row["name"] for row in self.whatif(SAMPLES[0], *names)["scenarios"]], names)
        saves = [row["saves_ms"] for row in self.whatif(SAMPLES[0])["scenarios"]]
        self.assertGreater(len(saves), 3)
        self.assertEqual(saves, sorted(saves, reverse=True))

    def test_the_unchanged_job_replays_as_recorded(self):
        traces = SAMPLES + support.real_traces()
        for trace in traces:
            with self.subTest(trace=trace.name):
                outcome = support.headroom("whatif", "--json", "--quiet", trace, "gpu-speed:factor=1")
                self.assertEqual(outcome.code, 0, outcome)
                forecast = outcome.json()
                if forecast["baseline"]["replay_step_ms"] is None:
                    self.assertIn("nothing to replay", forecast["scenarios"][0]["why"])
                    continue
                off = abs(forecast["baseline"]["replay_error_pct"]) > 0.5
                self.assertEqual(off, trace.name in KNOWN_OFF, forecast["baseline"])
                row = forecast["scenarios"][0]
                if not row["applies"] and "no GPU work" in row["why"]:
                    continue
                if off:  # Forecasts would miss everything that the replay misses.
                    self.assertFalse(row["applies"])
                    self.assertIn("off by", row["why"])
                else:  # A factor of 1 changes nothing.
                    self.assertAlmostEqual(row["speedup"], 1, places=9)

    def test_twice_the_speed_of_everything_is_at_most_twice_as_fast(self):
        for trace in SAMPLES + support.real_traces():
            with self.subTest(trace=trace.name):
                outcome = support.headroom(
                    "whatif", "--json", "--quiet", trace, "gpu-speed", "host-speed", "gpu-speed+host-speed"
                )
                if outcome.json()["baseline"]["replay_step_ms"] is None or trace.name in KNOWN_OFF:
                    continue
                gpu, host, both = (row["speedup"] for row in outcome.json()["scenarios"])
                if gpu is None:  # A job on the CPU.
                    self.assertAlmostEqual(host, 2, 6)
                    continue
                for one in (gpu, host):
                    self.assertGreaterEqual(one, 1 - 1e-9)
                    self.assertLessEqual(one, both + 1e-6)
                self.assertLessEqual(both, 2 + 1e-6)

    def test_a_measured_step_takes_the_place_of_the_calibration(self):
        trace = support.data_file("h200/traces/bert_base_bs-1.json.gz")  # This job is host-bound.
        baseline = self.whatif(trace, "gpu-speed", "--measured-step-ms", 34)["baseline"]
        self.assertAlmostEqual(baseline["corrected_step_ms"], 34, delta=0.01)
        self.assertIn("34 ms", baseline["calibration"])
        outcome = support.headroom("whatif", trace, "--measured-step-ms", 3)
        self.assert_refused(outcome, 2, "the same job")

    def test_a_step_paced_by_the_gpu_calibrates_nothing(self):
        plain = self.whatif(SAMPLES[1], "gpu-speed")
        measured = self.whatif(SAMPLES[1], "gpu-speed", "--measured-step-ms", 80)
        self.assertIn("says nothing about the host", measured["baseline"]["calibration"])
        self.assertEqual(plain["scenarios"], measured["scenarios"])

    def test_parts_of_a_combination_see_each_other(self):
        bert, resnet = SAMPLES
        alone, together = self.whatif(bert, "cuda-graph", "remove-syncs+cuda-graph")["scenarios"]
        self.assertFalse(alone["applies"])
        self.assertTrue(together["applies"], together["why"])
        amp, amp_tf32, scaler = self.whatif(resnet, "amp", "amp+tf32", "amp:dtype=fp16+cuda-graph")["scenarios"]
        self.assertEqual(amp["step_ms"], amp_tf32["step_ms"])  # tf32 has no further effect.
        self.assertFalse(scaler["applies"])  # The gradient scaler waits.

    def test_a_recording_without_step_markers_is_forecast_alike(self):
        trace = json.loads(gzip.decompress(SAMPLES[1].read_bytes()))
        trace["traceEvents"] = [
            event for event in trace["traceEvents"] if not event.get("name", "").startswith("ProfilerStep")
        ]
        without = self.whatif(self.write("without.json", json.dumps(trace)), "amp", "gpu-speed")["scenarios"]
        marked = self.whatif(SAMPLES[1], "amp", "gpu-speed")["scenarios"]
        for ours, theirs in zip(without, marked):
            self.assertAlmostEqual(ours["step_ms"]["mid"] / theirs["step_ms"]["mid"], 1, delta=0.03)

    def test_steps_that_are_not_whole_are_left_out_and_lost_work_is_said(self):
        (resnet,) = (sample for sample in SAMPLES if "resnet" in sample.name)
        whole = self.whatif(resnet, "tf32")
        self.assertIsNone(whole["baseline"]["steps_note"])
        packed, text = resnet.read_bytes(), gzip.decompress(resnet.read_bytes())
        cut = self.scratch / "cut.json.gz"
        cut.write_bytes(packed[: len(packed) * 9 // 10])
        forecast = self.whatif(cut, "tf32")
        self.assertIn("1 of 3 steps are left out", forecast["baseline"]["steps_note"])
        self.assertAlmostEqual(
            forecast["scenarios"][0]["step_ms"]["mid"],
            whole["scenarios"][0]["step_ms"]["mid"],
            delta=0.02 * whole["scenarios"][0]["step_ms"]["mid"],
        )
        half = self.whatif(self.write("half.json", text[: len(text) * 6 // 10].decode(errors="ignore")), "tf32")
        self.assertFalse(half["scenarios"][0]["applies"])
        self.assertIn("no step has all its GPU work recorded", half["scenarios"][0]["why"])
        trace = json.loads(text)
        for every, expected in ((3, "a replay would be too fast"), (50, "every forecast lacks that work")):
            kernels = [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]
            lost = {id(event) for event in kernels[::every]}
            left = [event for event in trace["traceEvents"] if id(event) not in lost]
            holes = self.whatif(self.write("holes.json", json.dumps({**trace, "traceEvents": left})), "tf32")
            with self.subTest(every=every):
                self.assertEqual(holes["scenarios"][0]["applies"], every == 50)
                self.assertIn(
                    expected, holes["baseline"]["steps_note"] if every == 50 else holes["scenarios"][0]["why"]
                )

    def test_batch_sizes_have_a_curve_with_its_knee(self):
        (resnet,) = (sample for sample in SAMPLES if "resnet" in sample.name)
        row, other = self.whatif(resnet, "batch-size:n=48", "amp")["scenarios"]
        self.assertNotIn("batch_curve", other)
        curve = row["batch_curve"]
        self.assertEqual(curve["recorded_samples"], 64)
        samples = [point["samples"] for point in curve["points"]]
        self.assertEqual(samples, [16, 32, 48, 64, 128, 256, 512, 1024])
        asked = curve["points"][2]
        self.assertAlmostEqual(asked["step_ms"], row["step_ms"]["mid"], places=3)
        self.assertAlmostEqual(asked["samples_per_s"], 48e3 / asked["step_ms"], places=1)
        self.assertEqual(asked["memory_delta_bytes"], row["memory_delta_bytes"])
        self.assertIn(curve["knee_samples"], samples)
        text = support.headroom("whatif", "--quiet", resnet, "batch-size:n=48").text
        self.assertRegex(text, rf"(?m)^ +{curve['knee_samples']} .* knee$")
        # Twice the jobs, twice the samples.
        (twice,) = self.whatif(resnet, "batch-size:n=48+horizontal-fusion:jobs=2")["scenarios"]
        point = twice["batch_curve"]["points"][2]
        self.assertAlmostEqual(point["samples_per_s"], 96e3 / point["step_ms"], places=1)

    def test_its_step_is_the_report_s(self):
        compared = 0
        for trace in SAMPLES + support.real_traces():
            with self.subTest(trace=trace.name):
                report, answer = self.report(trace), support.headroom("whatif", "--json", "--quiet", trace, "gpu-speed")
                window = report["engine_window"]
                if answer.code != 0 or window is None or window["error"]:
                    continue
                compared += 1
                baseline = answer.json()["baseline"]
                recorded = (report["stretch"] or {}).get("wall_ms") or report["steps"]["step_time_ms"]
                self.assertEqual(baseline["traced_step_ms"], recorded)
                self.assertEqual(
                    [baseline[f"corrected_step_{end}ms"] for end in ("low_", "", "high_")],
                    [window["corrected_step_ms"][end] for end in ("low", "mid", "high")],
                )
        self.assertGreaterEqual(compared, len(SAMPLES))

    def test_one_step_of_a_job_that_the_gpu_paces(self):
        """The step's GPU work waits for that of the previous step. The step's time excludes this wait."""
        all_steps = self.whatif(SAMPLES[1], "amp")
        one = self.whatif(SAMPLES[1], "amp", "--steps", "4:4")
        for key in ("traced_step_ms", "corrected_step_ms"):
            self.assertAlmostEqual(one["baseline"][key] / all_steps["baseline"][key], 1, delta=0.02)
        self.assertAlmostEqual(
            one["scenarios"][0]["step_ms"]["mid"] / all_steps["scenarios"][0]["step_ms"]["mid"], 1, delta=0.03
        )

    def test_what_cannot_be_told_is_said_and_the_rest_is_answered(self):
        def golden(name, *scenarios):
            return self.whatif(support.GOLDEN / name / "trace.json", *scenarios)

        forecast = golden("no-host", "amp", "gpu-speed")
        self.assertEqual({value for key, value in forecast["baseline"].items() if key != "calibration"}, {None})
        for row in forecast["scenarios"]:
            self.assertFalse(row["applies"])
            self.assertIn("record with both CPU and CUDA", row["why"])
        self.assertEqual(golden("no-host")["scenarios"], [])
        self.assertGreater(len(golden("no-host")["abstaining"]), 20)
        # Without shapes, with orphans, graph replays, one step, no step: scenarios that need no shapes are answered.
        for name in ("host-bound-two-steps", "orphan-kernels", "graph-replay", "no-gpu", "steps-inferred"):
            forecast = golden(name)
            why = {row["name"]: row["why"] for row in forecast["abstaining"]}
            self.assertTrue(why["amp"], name)
            if name != "no-gpu":
                self.assertIn("gpu-speed", [row["name"] for row in forecast["scenarios"]], name)
        # Its only step is cut.
        self.assertIn("no step has all", golden("truncated-file", "gpu-speed")["scenarios"][0]["why"])

    def test_a_recording_without_gpu_work_counts_as_a_job_on_the_cpu(self):
        trace = support.GOLDEN / "no-gpu" / "trace.json"
        forecast = self.whatif(trace, "host-speed:factor=2", "amp")
        twice, amp = forecast["scenarios"]
        self.assertAlmostEqual(twice["step_ms"]["mid"], forecast["baseline"]["corrected_step_ms"] / 2, 3)
        self.assertFalse(amp["applies"])
        self.assertIn("no GPU work", amp["why"])
        text = support.headroom("whatif", trace).text
        self.assertIn("if it uses a GPU, record it: ProfilerActivity.CUDA", " ".join(text.split()))

    def test_reasons_tell_what_was_not_recorded_from_what_is_not_there(self):
        """Requests for shapes mislead if no operator could have shapes. They must appear if shapes are missing."""
        shapes = {"Input Dims", "Input type", "Input Strides", "Concrete Inputs"}
        # On BERT and on ResNet-50: data without shapes, and parts that the job lacks.
        missing = (
            {"metaflow", "fuse-pointwise", "flash-attention", "checkpointing"},
            {"tf32", "amp", "channels-last", "metaflow", "fuse-pointwise", "checkpointing", "vdnn", "gist"},
        )
        absent = (
            {
                "tf32": "already: the matrix products and convolutions run in fp16",
                "amp": "already: the matrix products and convolutions run in fp16",
                "channels-last": "no convolutions",
                "vdnn": "no convolutions",
                "gist": "no ReLU",
                "restructured-batchnorm": "no batch norms",
            },
            {"flash-attention": "no unfused attention"},
        )
        for sample, without, reasons in zip(SAMPLES, missing, absent):
            trace = json.loads(gzip.decompress(sample.read_bytes()))
            for event in trace["traceEvents"]:
                if shapes & event.get("args", {}).keys():
                    event["args"] = {key: value for key, value in event["args"].items() if key not in shapes}
            bare = self.whatif(self.write("bare.json", json.dumps(trace)), *sorted(without | reasons.keys()))[
                "scenarios"
            ]
            for row in bare:
                with self.subTest(sample=sample.name, scenario=row["name"]):
                    self.assertFalse(row["applies"])
                    self.assertIn(reasons.get(row["name"], "not recorded (record_shapes=True)"), row["why"])
                    if row["name"] in reasons:
                        self.assertNotIn("record_shapes", row["why"])
            for row in self.whatif(sample)["abstaining"]:
                self.assertNotIn("record_shapes", row["why"], f"{sample.name} has all shapes: {row}")

    def test_a_sum_over_some_shapes_says_how_many_are_missing(self):
        names = ["fused-optimizer", "data-parallel:gpus=4", "p3"]
        trace = json.loads(gzip.decompress(SAMPLES[1].read_bytes()))
        for event in trace["traceEvents"][::2]:
            event.get("args", {}).pop("Input Dims", None)
        for row in self.whatif(self.write("some.json", json.dumps(trace)), *names[:2])["scenarios"]:
            self.assertTrue(row["applies"], row)
            self.assertRegex(
                row["why"], r"\d+ of \d+ [a-z ]+ have no shapes and are not counted \(record_shapes=True\)"
            )
        for sample in SAMPLES:
            for row in self.whatif(sample, *names)["scenarios"]:
                self.assertNotIn("record_shapes", row["why"], f"{sample.name} has all shapes")

    def test_a_recording_without_steps_says_what_its_step_is(self):
        marked = support.headroom("whatif", SAMPLES[1], "gpu-speed")
        self.assertEqual(marked.message, "")
        once = json.loads((support.GOLDEN / "host-bound-two-steps/trace.json").read_text())
        second = next(i for i, event in enumerate(once["traceEvents"]) if event["name"] == "ProfilerStep#2")
        once["traceEvents"] = [event for event in once["traceEvents"][:second] if event["name"] != "ProfilerStep#1"]
        trace = self.write("unmarked.json", json.dumps(once))
        self.assertEqual(self.report(trace)["steps"]["source"], "none")
        outcome = support.headroom("whatif", trace, "gpu-speed")
        self.assertEqual(outcome.code, 0, outcome)
        for part in ("counts as one", "start-up", "prof.step()", "--step-marker"):
            self.assertIn(part, " ".join(outcome.text.split()))
            self.assertIn(part, self.whatif(trace)["baseline"]["steps_note"])
        rows = self.whatif(trace)["scenarios"]
        self.assertEqual([row["name"] for row in rows if row["at_best"]], ["cuda-graph"])
        self.assertEqual(rows[-1]["name"], "cuda-graph", "it may buy nothing")
        self.assertIn("up to", support.headroom("whatif", trace).text)
        self.assertIsNone(self.whatif(SAMPLES[1])["baseline"]["steps_note"])

    def test_what_needs_a_graph_is_refused_with_the_reason_where_there_is_none(self):
        for name in ("no-host", "no-gpu"):
            trace = support.GOLDEN / name / "trace.json"
            out = self.scratch / "out.json"
            for flags in (
                ("--self-check",),
                ("--dump-graph", out),
                ("--write-trace", out),
                ("gpu-speed", "--write-trace", out),
            ):
                with self.subTest(trace=name, flags=flags[0]):
                    flag = next(flag for flag in flags if str(flag).startswith("--"))
                    self.assert_refused(
                        support.headroom("whatif", "--quiet", trace, *flags),
                        3,
                        flag,
                        trace.name,
                        "requires a graph",
                        "record with both CPU and CUDA",
                    )
                    self.assertFalse(out.exists())
            self.assertEqual(support.headroom("whatif", trace).code, 0)
            if name == "no-gpu":  # It has forecasts of a job on the CPU.
                continue
            state = {"XDG_STATE_HOME": str(self.scratch)}
            saved = support.headroom("whatif", trace, "gpu-speed", "--save", environment=state)
            self.assertEqual(saved.code, 0, saved)
            self.assertIn("saved nothing", saved.message)

    def test_what_does_not_fit_the_gpu_is_said_where_the_trace_tells(self):
        trace = json.loads(gzip.decompress(SAMPLES[1].read_bytes()))
        capacity = trace["deviceProperties"][0]["totalGlobalMem"]
        bigger, smaller = "batch-size:n=128", "batch-size:n=8"  # The recorded batch size is 64.
        plain = self.whatif(SAMPLES[1], bigger)["scenarios"][0]
        grows = plain["memory_delta_bytes"]
        self.assertGreater(grows, 0)
        self.assertNotIn("does not fit", plain["why"])
        # Twelve blocks of ResNet-50 without their inner activations: 40 x 200704 elements per sample, by hand 2.05 GB.
        self.assertAlmostEqual(
            self.whatif(SAMPLES[1], "checkpointing")["scenarios"][0]["memory_delta_bytes"] / -2.05e9, 1, delta=0.05
        )
        self.assertIn(
            "does not fit: the modelled peak of", self.whatif(SAMPLES[1], "batch-size:n=4096")["scenarios"][0]["why"]
        )
        some = trace["traceEvents"][len(trace["traceEvents"]) // 2]
        for allocated, device, fits in (
            (capacity - grows - 1, 1, True),
            (capacity - grows + 1, 1, False),
            (capacity, 0, True),
        ):
            record = {
                "ph": "i",
                "cat": "cpu_instant_event",
                "s": "t",
                "name": "[memory]",
                "pid": some["pid"],
                "tid": some["tid"],
                "ts": some.get("ts", 0),
                "args": {
                    "Total Reserved": allocated,
                    "Total Allocated": allocated,
                    "Bytes": 512,
                    "Device Id": 0 if device else -1,
                    "Device Type": device,
                    "Addr": 1,
                },
            }
            path = self.write("memory.json", json.dumps({**trace, "traceEvents": trace["traceEvents"] + [record]}))
            with self.subTest(allocated=allocated, device=device):
                rows = self.whatif(path, bigger, smaller)["scenarios"]
                self.assertEqual("does not fit" not in rows[0]["why"], fits, rows[0]["why"])
                self.assertNotIn("does not fit", rows[1]["why"])

    def test_values_out_of_range_are_usage_errors_that_say_what_is_allowed(self):
        number, count = "a number from 1e-6 to 1e9", "a whole number from 1 to 1e9"
        for text, named, allowed in (
            *((f"gpu-speed:factor={value}", f"factor={value}", number) for value in ("inf", "1e300", "nan", "0", "-1")),
            ("batch-size:n=0", "n=0", count),
            ("amp+", '"amp+"', "A+B"),
            ("+amp", '"+amp"', "A+B"),
            ("amp++tf32", '"amp++tf32"', "A+B"),
            ("", "requires a name", "--list"),
            ("scale:match=(,factor=2", "match=(", "regular expression"),
            ("remove:match=", "match is empty", ".* matches everything"),
        ):
            with self.subTest(text):
                self.assert_refused(support.headroom("whatif", SAMPLES[0], text), 2, named, allowed)

    def test_wrong_scenarios_are_usage_errors_that_list_the_near_names(self):
        self.assert_refused(support.headroom("whatif", SAMPLES[0], "gpu-sped"), 2, "gpu-speed", "--list")
        self.assert_refused(support.headroom("whatif", SAMPLES[0], "tf32:x=1"), 2, "takes no keys")
        self.assert_refused(support.headroom("whatif", SAMPLES[0], "amp:dtype=fp8"), 2, "fp16|bf16")
        self.assert_refused(support.headroom("whatif"), 2, "TRACE")
        self.assert_refused(support.headroom("whatif", self.scratch / "missing.json"), 3, "missing.json")
        self.assert_refused(support.headroom("whatif", self.write("empty.json", "")), 3)

    def test_a_recurrent_job_takes_what_was_measured(self):
        trace = support.data_file("h200-recurrent/traces/gnmt_fp32.json.gz")
        truth = json.loads(support.data_file("h200-recurrent/truth.json").read_text())["results"]
        times = {(row["cfg"].get("amp"), row["bs"]): (row["step_ms_sync"], row["step_ms_async"]) for row in truth}
        measured = {
            "amp:dtype=fp16": times["fp16", 64],
            "amp:dtype=bf16": times["bf16", 64],
            "batch-size:n=128": times[None, 128],
        }
        for row in self.whatif(trace, *measured)["scenarios"]:
            with self.subTest(row["name"]):
                self.assertGreater(row["step_ms"]["mid"], 0.9 * min(measured[row["name"]]))
                self.assertLess(row["step_ms"]["mid"], 1.1 * max(measured[row["name"]]))
