"""Tests the engine's figures in a report: the corrected step, the savings of findings, and the commands that show
them."""
import shlex

from integration import support

SAMPLES = [support.ROOT / f"data/samples/{job}_h200.json.gz" for job in ("bert_base_amp_fp16", "resnet50_fp32")]
# Traces with whole steps and GPU work that cannot be replayed, with the reason.
KNOWN_SILENT = {"tracelens__inference__sglang_decode__sglang_Qwen3-8B_decode.json.gz": "off by"}
MOST_EVENTS = 250_000


class Forecasts(support.ProgramTest):
    def whatif(self, finding, cwd, *more):
        words = shlex.split(finding["whatif"])
        self.assertEqual(words[:2], ["headroom", "whatif"])
        outcome = support.headroom(*words[1:], *more, "--json", "--quiet", cwd=cwd)
        self.assertEqual(outcome.code, 0, outcome)
        return outcome.json()

    def test_findings_save_what_whatif_forecasts(self):
        shown = 0
        for trace in SAMPLES:
            report = self.report(trace.name, cwd=trace.parent)
            window = report["engine_window"]
            for finding in report["findings"]:
                if finding["whatif"] is None:
                    continue
                shown += 1
                with self.subTest(trace=trace.name, finding=finding["id"]):
                    forecast = self.whatif(finding, trace.parent)
                    row = forecast["scenarios"][0]
                    self.assertTrue(row["applies"])
                    # The report replays some of the steps, whatif replays all.
                    self.assertGreaterEqual(row["saves_ms"], finding["saves_ms"]["low"])
                    self.assertLessEqual(row["saves_ms"], finding["saves_ms"]["high"])
                    # For the same steps, the saving is the same share of the step.
                    steps = f"{window['first_step']}:{window['last_step']}"
                    again = self.whatif(finding, trace.parent, "--steps", steps)
                    self.assertAlmostEqual(
                        again["scenarios"][0]["saves_ms"] / again["baseline"]["corrected_step_ms"],
                        finding["saves_ms"]["mid"] / window["corrected_step_ms"]["mid"],
                        places=9,
                    )
                    self.assertAlmostEqual(
                        forecast["baseline"]["corrected_step_ms"], window["corrected_step_ms"]["mid"], places=9
                    )
        self.assertGreater(shown, len(SAMPLES))

    def test_no_saving_exceeds_the_step(self):
        for trace in SAMPLES:
            report = self.report(trace.name, cwd=trace.parent)
            self.assertTrue(report["findings"])
            for finding in report["findings"]:
                self.assertIsNotNone(finding["saves_ms"], (trace.name, finding))
                self.assertLess(finding["saves_ms"]["mid"], report["steps"]["corrected_p50_ms"] * 1.02)

    def test_every_job_with_steps_and_gpu_work_has_a_corrected_step(self):
        for trace in SAMPLES + support.real_traces():
            with self.subTest(trace=trace.name):
                report = self.report(trace)
                window = report["engine_window"]
                whole = [step for step in report["steps"]["list"] if step["counted"]]
                work = whole or report["stretch"]
                self.assertEqual(window is not None, bool(work))
                if window is None or not whole:
                    continue
                if trace.name in KNOWN_SILENT:
                    self.assertIn(KNOWN_SILENT[trace.name], window["error"])
                    continue
                if window["error"]:  # Launches alone cannot be replayed.
                    self.assertIn("nothing to replay", window["error"])
                    continue
                self.assertGreater(report["steps"]["corrected_p50_ms"], 0)
                self.assertLessEqual(abs(window["replay_error_pct"]), 1)
                self.assertTrue(window["events"] <= MOST_EVENTS or window["steps"] <= 2, window)
                self.assertTrue(
                    window["steps"] >= 2 or len(whole) < len(report["steps"]["list"]) or len(whole) == 1, window
                )

    def test_a_measured_step_takes_the_place_of_the_calibration(self):
        trace = support.data_file("h200/traces/bert_base_bs-1.json.gz")  # This job is host-bound.
        report = support.headroom("report", "--json", "--quiet", trace, "--measured-step-ms", 34).json()
        self.assertAlmostEqual(report["engine_window"]["corrected_step_ms"]["mid"], 34, delta=0.01)
        self.assertIn("34 ms", report["engine_window"]["calibration"])
        self.assertIn("--measured-step-ms 34", next(f["whatif"] for f in report["findings"] if f["whatif"]))
        self.assert_refused(support.headroom("report", trace, "--measured-step-ms", 3), 2, "the same job")
        self.assert_refused(support.headroom("report", trace, "--measured-step-ms", 0), 2)
        self.assert_refused(
            support.headroom("report", trace, "--calibration", self.scratch / "none.toml"), 2, "none.toml"
        )

    def test_the_text_names_the_steps_that_were_replayed(self):
        text = support.headroom("report", SAMPLES[0], "--full", environment={"LC_ALL": "C.UTF-8"}).text
        window = self.report(SAMPLES[0])["engine_window"]
        self.assertIn(f"steps {window['first_step']} to {window['last_step']}", text)
        self.assertIn("without the profiler", text)
