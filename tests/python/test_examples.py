"""Tests that the examples run on the bundled samples and print their documented results."""
import re
import subprocess
import sys
import unittest

import support


def run(name):
    """Returns an example's output. It must succeed and print nothing on stderr."""
    done = subprocess.run([sys.executable, "-B", support.ROOT / "examples" / name], capture_output=True, text=True)
    if done.returncode or done.stderr:
        raise AssertionError(f"{name}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def number(text, pattern):
    found = re.search(pattern, text)
    if not found:
        raise AssertionError(f"{pattern} is not in:\n{text}")
    return float(found.group(1))


class Examples(unittest.TestCase):
    def test_amp_recipes(self):
        text = run("amp_recipes.py")
        rule, amp, step = (
            number(text, rf"{name} +([\d.]+) ms") for name in ("rule of thumb", "headroom's amp", "step")
        )
        self.assertLess(max(rule, amp), step)
        # The rule has one factor for all operators. With shapes, each operator has a separate factor.
        self.assertGreater(
            number(text, r"convolution +[\d.]+ +([\d.]+)"), number(text, r"convolution +[\d.]+ +[\d.]+ +([\d.]+)")
        )
        self.assertGreater(number(text, r"adds per step: (\d+)"), 0)

    def test_fused_adam(self):
        text = run("fused_adam.py")
        recipe, forecast = number(text, r"by its bytes +([\d.]+) ms"), number(text, r"fused-optimizer +([\d.]+) ms")
        self.assertAlmostEqual(recipe / forecast, 1, delta=0.05)
        self.assertLess(number(text, r"host work +([\d.]+) ms"), number(text, r"those kernels +([\d.]+) ms"))

    def test_what_to_speed_up(self):
        rows = re.findall(
            r"^aten::\S+ +[\d.]+ ms +(-?[\d.]+) ms +(-?[\d.]+) ms$", run("what_to_speed_up.py"), re.MULTILINE
        )
        self.assertEqual(len(rows), 8)
        # This job is host-bound: faster kernels have no effect.
        self.assertLess(max(float(kernels) for kernels, _ in rows), 0.1)
        self.assertGreater(float(rows[0][1]), 1)

    def test_faster_gpu(self):
        host_bound, gpu_bound = re.split(r"^(?=resnet)", run("faster_gpu.py"), flags=re.MULTILINE)
        self.assertIn("host-bound", host_bound)
        self.assertIn("GPU-bound", gpu_bound)
        for text in (host_bound, gpu_bound):
            twice = number(text, r"twice as fast ([\d.]+) ms")
            self.assertLessEqual(twice, number(text, r"step ([\d.]+) ms"))
            self.assertGreaterEqual(twice, number(text, r"go below ([\d.]+) ms"))

    def test_layers_and_gradients(self):
        text = run("layers_and_gradients.py")
        self.assertEqual(len(re.findall(r"layer::\S+ +[\d.]+ ms less", text)), 5)
        self.assertLess(number(text, r"priority +([\d.]+) ms"), number(text, r"fifo +([\d.]+) ms"))

    def test_pytorch_loop(self):  # Also recorded: tests/integration/test_record.py.
        self.assertRegex(run("pytorch_loop.py"), r"^30 steps, loss [\d.]+$")

    def test_sklearn_program(self):
        text = run("sklearn_program.py")
        self.assertGreater(number(text, r"accuracy ([\d.]+)"), 0.4)
        self.assertEqual(number(text, r"fit: (\d+) times"), 10)

    def test_every_example_has_a_test(self):
        examples = {path.stem for path in (support.ROOT / "examples").glob("*.py")}
        self.assertEqual(
            examples,
            {
                name.removeprefix("test_")
                for name in dir(self)
                if name.startswith("test_") and name != "test_every_example_has_a_test"
            },
        )


if __name__ == "__main__":
    unittest.main()
