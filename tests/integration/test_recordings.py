"""Recordings of today's frameworks (tests/frameworks/recorded_jobs.py says what each job does, tools/record_frameworks
records them again)."""
from integration import support

FOLDER = support.ROOT / "tests/frameworks/recordings"
# By file: steps, where they come from, verdicts that are true. Steps that the optimizer marks lie between its updates.
TRUE = {
    "jax_steps.xplane.pb": (6, "annotation", {"unknown"}),
    "lightning_fit.json.xz": (4, "annotation", {"cpu-compute", "input"}),
    "pytorch_accumulation.json.xz": (3, "inferred", {"cpu-compute", "input"}),
    "pytorch_compiled.json.xz": (5, "inferred", {"cpu-compute", "input"}),
    "pytorch_ddp.json.xz": (5, "inferred", {"communication"}),
    "pytorch_fsdp2.json.xz": (5, "inferred", {"communication"}),
    "pytorch_generator.json.xz": (5, "inferred", {"input"}),
    "pytorch_inference.json.xz": (8, "inferred", {"cpu-compute"}),
    "pytorch_loop.json.xz": (5, "inferred", {"cpu-compute", "input"}),
    "pytorch_schedule.1.json.xz": (3, "annotation", {"cpu-compute", "input"}),
    "pytorch_schedule.2.json.xz": (3, "annotation", {"cpu-compute", "input"}),
    "pytorch_validation.json.xz": (7, "inferred", {"cpu-compute", "input"}),
    "transformers_trainer.json.xz": (5, "inferred", {"cpu-compute"}),
}
NO_TRACE = {"pytorch_execution_trace.json.xz": "is an execution trace of PyTorch, which has no times"}


class Recordings(support.ProgramTest):
    def test_steps_and_verdicts(self):
        self.assertEqual({path.name for path in FOLDER.iterdir()}, {*TRUE, *NO_TRACE})
        for name, (count, source, verdicts) in TRUE.items():
            with self.subTest(name):
                report = self.report(FOLDER / name)
                self.assertEqual(support.violations(report), [])
                self.assertEqual((report["steps"]["count"], report["steps"]["source"]), (count, source))
                self.assertIn(report["bottleneck"]["verdict"], verdicts)
                self.assertEqual(report["health"]["grade"], "A")

    def test_what_is_no_trace(self):
        for name, message in NO_TRACE.items():
            self.assert_refused(support.headroom("report", FOLDER / name), 3, message)

    def parts(self, name):
        return {part["name"]: part["time_ms"] for part in self.report(FOLDER / name)["run"]["parts"]}

    def test_where_the_recording_went(self):
        compiled = self.parts("pytorch_compiled.json.xz")
        self.assertGreater(compiled["compilation"], 0.9 * sum(compiled.values()))
        self.assertIn("evaluation", self.parts("pytorch_validation.json.xz"))
        self.assertAlmostEqual(self.parts("pytorch_generator.json.xz")["data wait"], 5 * 20, delta=5)

    def test_cycles_of_one_process(self):
        report = self.report(*sorted(FOLDER.glob("pytorch_schedule.*")))
        self.assertEqual(report["steps"]["count"], 6)
