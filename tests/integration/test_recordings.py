"""Tests recordings of current frameworks. tests/frameworks/recorded_jobs.py describes each job, and
tools/record_frameworks records them again. Recordings named h200_ come from bench/h200/jobs.py and, for JAX, from a
small network of convolutions. They were made on an H200 with PyTorch 2.11 and JAX 0.11."""
from integration import support

FOLDER = support.ROOT / "tests/frameworks/recordings"
# By file: steps, their source, acceptable verdicts. Steps that the optimizer marks are between its updates.
TRUE = {
    "h200_accumulation.json.xz": (5, "inferred", {"host"}),
    "h200_graph_replays.json.xz": (12, "inferred", {"gpu-memory"}),
    "h200_jax.xplane.pb.xz": (5, "annotation", {"host"}),
    "h200_reduce_overhead.json.xz": (4, "annotation", {"host"}),
    "h200_validation.json.xz": (24, "inferred", {"host"}),
    "jax_steps.xplane.pb": (6, "annotation", {"cpu-compute"}),
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
    "tensorflow_steps.xplane.pb": (5, "annotation", {"cpu-compute"}),
    "transformers_trainer.json.xz": (5, "inferred", {"cpu-compute"}),
}
NO_TRACE = {"pytorch_execution_trace.json.xz": "is a PyTorch execution trace, which has no times"}


CAPTURE = "h200_graph_capture.json.xz"


class Recordings(support.ProgramTest):
    def test_steps_and_verdicts(self):
        self.assertEqual({path.name for path in FOLDER.iterdir()}, {*TRUE, *NO_TRACE, CAPTURE})
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

    def test_a_capture_names_the_operators_of_replays(self):
        """According to the raw events, without a graph, convolutions take 0.097 ms per pass and the product takes
        0.0383 ms."""
        report = self.report(FOLDER / "h200_graph_replays.json.xz", "--capture", FOLDER / CAPTURE)
        per_pass = {row["name"]: row["total_us"] / 12 for row in report["operators"]}
        self.assertAlmostEqual(per_pass["aten::cudnn_convolution"], 97, delta=2)
        self.assertAlmostEqual(per_pass["aten::addmm"], 38.3, delta=1)

    def test_jax_calls_bear_the_names_of_kernels(self):
        """Each of the 585 GPU tasks has its call, so the host's part is known. A step alone took 2.646 ms."""
        report = self.report(FOLDER / "h200_jax.xplane.pb.xz")
        self.assertNotIn("orphan-gpu-task", [issue["code"] for issue in report["health"]["issues"]])
        alone = report["steps"]["corrected_step_ms"]
        self.assertTrue(alone["low"] < 2.646 < alone["high"], alone)

    def parts(self, name):
        return {part["name"]: part["time_ms"] for part in self.report(FOLDER / name)["run"]["parts"]}

    def test_where_the_recording_went(self):
        compiled = self.parts("pytorch_compiled.json.xz")
        self.assertGreater(compiled["compilation"], 0.9 * sum(compiled.values()))
        self.assertIn("evaluation", self.parts("pytorch_validation.json.xz"))
        self.assertAlmostEqual(self.parts("pytorch_generator.json.xz")["data wait"], 5 * 20, delta=5)

    def test_phases_of_tensorflow(self):
        """A script over the raw events gives backward 6.155 ms, optimizer 2.657 ms, all operations 11.044 ms per
        step."""
        breakdown = self.report(FOLDER / "tensorflow_steps.xplane.pb")["step_breakdown"]
        self.assertAlmostEqual(breakdown["backward_ms"], 6.155, delta=0.1)
        self.assertAlmostEqual(breakdown["optimizer_ms"], 2.657, delta=0.1)
        computed = sum(breakdown[f"{phase}_ms"] for phase in ("forward", "backward", "optimizer"))
        self.assertTrue(11.044 <= computed < 11.4, computed)  # Time between operations of a phase belongs to the phase.

    def test_cycles_of_one_process(self):
        report = self.report(*sorted(FOLDER.glob("pytorch_schedule.*")))
        self.assertEqual(report["steps"]["count"], 6)
