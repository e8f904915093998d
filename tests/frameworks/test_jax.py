"""JAX: the files that jax.profiler writes for a jitted training loop."""

from frameworks.programs import STEPS, FrameworkTest

LOOP = f"""
    import sys
    import jax
    import jax.numpy as jnp

    def loss(weights, inputs, targets):
        return jnp.mean((jnp.tanh(inputs @ weights) - targets) ** 2)

    @jax.jit
    def update(weights, inputs, targets):
        return weights - 0.1 * jax.grad(loss)(weights, inputs, targets)

    key = jax.random.key(0)
    weights, inputs, targets = (jax.random.normal(key, shape) for shape in ((64, 16), (256, 64), (256, 16)))
    weights = update(weights, inputs, targets).block_until_ready()
    with jax.profiler.trace(sys.argv[1]):
        for i in range({STEPS}):
            with jax.profiler.StepTraceAnnotation("train", step_num=i):
                weights = update(weights, inputs, targets).block_until_ready()
"""


class Jax(FrameworkTest):
    def profile(self):
        """Returns the two files that the profiler writes for the loop."""
        folder = self.scratch / "profile"
        self.run_program(LOOP, folder)
        return [next(folder.rglob(f"*{suffix}")) for suffix in (".xplane.pb", ".trace.json.gz")]

    def test_both_files_of_the_profiler(self):
        for path, form in zip(self.profile(), ("xplane-protobuf", "xla-trace-json")):
            with self.subTest(form):
                report = self.report(path)
                self.assertEqual(report["inputs"][0]["format"], form)
                self.assert_steps(report, STEPS)
                self.assertEqual([step["index"] for step in report["steps"]["list"]], list(range(STEPS)))
                self.assertGreater(report["steps"]["min_ms"], 0)

    def test_spans_of_the_runtime_are_no_regions(self):
        for path in self.profile():
            with self.subTest(path.name):
                keys = {row["key"] for row in self.report(path)["regions"]}
                self.assertEqual(keys - {"PjitFunction(update)"}, set())
