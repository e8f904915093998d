"""Tests that every wrong request and every unreadable file raises an exception that says what is wrong, and that random
edits never break the graph."""
import gzip
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np

import headroom
import support


class WithoutNumpy(unittest.TestCase):
    def test_it_is_said_what_is_needed_and_how_to_get_it(self):
        trace = f"load({str(support.RESNET)!r})"
        for ask in (
            f"{trace}.tables",
            f"{trace}.query('select 1')",
            f"{trace}.Graph()",
            "Graph('x.json')",
            "TextColumn",
        ):
            program = (
                "import sys; sys.modules['numpy'] = None; import headroom; "
                f"headroom.report({str(support.RESNET)!r}); headroom.{ask}"
            )
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
            with self.subTest(ask):
                self.assertEqual(done.returncode, 1)
                said = done.stderr.splitlines()[-1]
                self.assertRegex(
                    said,
                    r"^ImportError: headroom\.\w+ requires numpy, .*apt install python3-numpy .*pip install numpy$",
                )


class WithoutEngine(unittest.TestCase):
    def test_it_is_said_what_is_missing(self):
        program = (
            "import sys; sys.modules['headroom._engine'] = None; import headroom; "
            "assert not hasattr(headroom, 'nothing'); assert not hasattr(headroom, '_engine'); headroom.load('x.json')"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.splitlines()[-1], r"^ImportError: headroom\.Trace requires the engine, ")


class Files(unittest.TestCase):
    def test_no_such_file(self):
        for ask in (headroom.load, headroom.Graph, headroom.report, headroom.whatif):
            with self.assertRaisesRegex(headroom.TraceError, "/nonexistent/trace.json"):
                ask("/nonexistent/trace.json")  # type: ignore[operator]

    def test_no_trace(self):
        with support.written("this is no trace") as path, self.assertRaises(headroom.TraceError):
            headroom.load(path)

    def test_a_trace_without_anything_to_replay(self):
        with support.written({"traceEvents": []}) as path:
            trace = headroom.load(path)
            self.assertEqual(trace.report()["steps"]["count"], 0)
            with self.assertRaises((ValueError, headroom.TraceError)):
                trace.Graph()

    def test_a_cut_file_still_answers(self):
        whole = gzip.decompress(support.BERT.read_bytes())
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "cut.json"
            path.write_bytes(whole[: len(whole) * 2 // 3])
            self.assertGreater(headroom.Graph(path).step_ms, 0)

    def test_paths_of_any_kind(self):
        self.assertEqual(headroom.load(str(support.BERT)).path, headroom.load(pathlib.Path(support.BERT)).path)
        with self.assertRaises(TypeError):
            headroom.load(7)  # type: ignore[arg-type]


class Requests(support.HandMade):
    def refused(self, pattern, function, *args, error=ValueError, **kwargs):
        with self.assertRaisesRegex(error, pattern):
            function(*args, **kwargs)

    def test_criteria(self):
        select = self.graph.select
        self.refused("kernel: not a regular expression", select, kernel="(")
        self.refused("operator: not a regular expression", select, operator="*")
        self.refused('phase: "backwards" is not one of forward, backward', select, phase="backwards")
        self.refused('family: "gemm" is not one of', select, family="gemm")
        self.refused("where: the mask has 3 values", select, where=np.ones(3, bool))
        self.refused("where: requires a function", select, where=np.ones(len(self.graph.tasks)))
        self.refused("where: requires a function", select, where=[0, 1])
        self.refused("where: requires a function", select, where=np.ones((len(self.graph.tasks), 1), bool))
        self.refused("positional", select, "gemm", error=TypeError)
        self.refused("of my own", select, where=lambda task: dict()["of my own"], error=KeyError)  # type: ignore[index]

    def test_amounts(self):
        everything = self.graph.select()
        for factor in (-1, math.nan, math.inf, 1e300):
            self.refused("factor", everything.scale, factor)
            self.refused("factor", everything.scale_host, factor)
        for us in (-1, math.nan, math.inf, 1e300):
            self.refused("us=", everything.set_duration, us)
            self.refused("duration_us=", everything.insert_before, us)
            self.refused("host_us=", everything.insert_after, 1, host_us=us)
            self.refused("duration_us=", self.graph.channel("c").insert, us)
        everything.set_duration(1e12)
        self.refused("would take more", everything.scale, 1e6)

    def test_a_refused_edit_changes_nothing(self):
        before = self.graph.copy()
        self.test_amounts()
        self.graph.select().scale(1)
        everything = self.graph.reset().select()
        self.refused("launch_us", everything.insert_before, 1, launch_us=-1)
        self.assertEqual(self.graph.changed, before.changed)
        self.assertEqual(self.graph.replay().step_ms, before.replay().step_ms)

    def test_channels(self):
        self.refused("policy", self.graph.channel, "c", "lifo")
        channel = self.graph.channel("c")
        tasks = len(self.graph.tasks)
        self.refused("after: 99999 is neither a task", channel.insert, 1, after=99999)
        self.refused("after: -1 is neither a task", channel.insert, 1, after=-1)
        self.refused("before: -1 is not a task", channel.insert, 1, before=-1)
        number = channel.insert(1)
        self.assertEqual(number, tasks)
        self.refused(f"before: {number} is not a task", channel.insert, 1, before=number)
        self.refused("", channel.insert, 1, after=0.5, error=TypeError)
        self.refused("priority=", channel.insert, 1, priority=2**40)

    def test_a_transfer_that_waits_for_itself_by_way_of_a_scenario(self):
        graph = headroom.Graph(support.RESNET)
        # The optimizer's first launch now waits for the scaler's kernel, which follows all earlier work on the stream.
        graph.apply("amp:dtype=fp16")
        step = int(np.unique(graph.tasks.step)[-2])
        first = graph.select(phase="optimizer", step=step, family="elementwise").indices[0]
        launch = int(graph.tasks.launch[first])
        before = int(graph.select(phase="backward", step=step).indices[-1])
        self.assertLess(launch, before)
        graph.channel("c").insert(1, after=launch, before=before)
        self.refused("waits for itself", graph.replay)
        graph.reset().replay()

    def test_scenarios(self):
        self.refused("did you mean", self.graph.whatif, "ampp")
        self.refused(r"not one of fp16\|bf16", self.graph.apply, "amp:dtype=fp64")
        self.refused("steps=", self.trace.Graph, steps=(3, 1))
        self.refused("step", self.trace.Graph, steps=(100, 101))
        self.refused("measured_step_ms", self.trace.Graph, measured_step_ms=0)
        self.refused("no such file", self.trace.Graph, calibration="/nonexistent.toml")

    def test_nothing_goes_before_what_has_no_launch(self):
        trace = support.two_kernels_a_step()
        # The first kernel is left out: its launch would be before the recording began.
        del [e for e in trace["traceEvents"] if e["name"] == "gemm"][2]["args"]["correlation"]
        with support.written(trace) as path:
            graph = headroom.Graph(path)
        orphans = graph.select(where=(graph.tasks.kind == "gpu") & (graph.tasks.launch < 0))
        self.assertEqual(len(orphans), 1)
        self.refused("launch", orphans.insert_before, 1)
        self.assertEqual(graph.changed, (0, 0, 0))


class Random(unittest.TestCase):
    """Edits in any order keep every task in the replay, and the step stays a number."""

    EDITS = 12

    def test_random_edits(self):
        graph = headroom.Graph(support.RESNET)
        rng = random.Random(3)
        gpu = np.flatnonzero(graph.tasks.kind == "gpu")
        operators = sorted({operator for operator in graph.tasks.operator if operator})
        steps = sorted({int(step) for step in graph.tasks.step if step >= 0})
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        warnings.simplefilter("ignore")  # Not every operator runs on the GPU in every step.
        for _ in range(15):
            graph.reset()
            numbers = []
            for _ in range(self.EDITS):
                selected = graph.select(
                    operator=f"^{rng.choice(operators)}$", step=rng.choice([None, steps[0], steps[-1]])
                )
                channel = graph.channel(rng.choice("ab"), rng.choice(["fifo", "priority"]))
                pool = [int(task) for task in rng.choices(gpu, k=4)] + numbers
                edit = rng.choice(
                    [
                        lambda: selected.scale(rng.uniform(0, 3)),
                        lambda: selected.scale_host(rng.choice([0, 0.5, 2])),
                        lambda: selected.set_duration(rng.uniform(0, 50)),
                        selected.remove,
                        selected.remove_waits,
                        lambda: numbers.extend(map(int, selected.insert_before(rng.uniform(0, 9)))),
                        lambda: numbers.extend(map(int, selected.insert_after(rng.uniform(0, 9), host_us=0))),
                        lambda: numbers.append(
                            channel.insert(
                                rng.uniform(0, 900),
                                after=rng.choices(pool, k=2),
                                before=rng.choices(gpu, k=2),
                                priority=rng.randrange(5),
                            )
                        ),
                        lambda: numbers.append(channel.insert(rng.uniform(0, 900), after=rng.choices(pool, k=1))),
                        lambda: graph.apply(
                            rng.choice(["amp", "tf32", "p3", "data-parallel:gpus=2", "remove-syncs", "cuda-graph"])
                        ),
                    ]
                )
                try:
                    edit()
                except headroom.DoesNotApply:
                    pass
            replay = graph.replay()
            self.assertTrue(math.isfinite(replay.step_ms) and replay.step_ms >= 0)
            # All tasks except those that one scenario put on a channel and another removed.
            here = np.r_[0 : len(graph.tasks), np.array(numbers, int)]
            self.assertTrue((replay.starts_ns[here] >= 0).all())
            self.assertTrue((replay.ends_ns >= replay.starts_ns).all())


if __name__ == "__main__":
    unittest.main()
