"""Tests selections, edits and replays against times computed by hand and laws that hold on any trace."""
import json
import pathlib
import random
import subprocess
import tempfile
import unittest
import warnings

import numpy as np

import headroom
import support
from support import GAP_US, KERNEL_US, STEP_US, STEPS


def step_factor(trace):
    """Returns the program's factor for a replayed step of a trace (docs/engine.md)."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "graph.jsonl"
        command = [support.BINARY, "whatif", trace, "gpu-speed", "--dump-graph", path]
        subprocess.run(command, check=True, capture_output=True)
        with path.open() as lines:
            return json.loads(next(lines))["step_factor"]


class Selecting(support.HandMade):
    def names(self, **criteria):
        return list(self.graph.tasks.name[self.graph.select(**criteria).indices])

    def test_nothing_said_is_every_gpu_task(self):
        self.assertEqual(self.names(), ["gemm", "pointwise"] * STEPS)
        self.assertAlmostEqual(self.graph.select().time_ms, 2 * KERNEL_US / 1e3)

    def test_by_name_of_the_kernel_and_of_operators_around_it(self):
        self.assertEqual(self.names(kernel="^gemm$"), ["gemm"] * STEPS)
        self.assertEqual(self.names(operator="relu"), ["pointwise"] * STEPS)
        self.assertEqual(self.names(operator="relu", kernel="gemm"), [])

    def test_by_place(self):
        self.assertEqual(self.names(step=1), ["gemm", "pointwise"])
        self.assertEqual(len(self.names(stream=7, device=0)), 2 * STEPS)
        self.assertEqual(self.names(stream=8), [])
        self.assertEqual(self.names(device=1), [])

    def test_an_edit_of_nothing_warns_and_changes_nothing(self):
        nothing = self.graph.select(kernel="gemn", step=1)
        edits = {
            "scale": lambda: nothing.scale(0.5),
            "set_duration": lambda: nothing.set_duration(1),
            "remove": nothing.remove,
            "scale_host": lambda: nothing.scale_host(0),
            "insert_before": lambda: nothing.insert_before(5),
            "insert_after": lambda: nothing.insert_after(5),
        }
        for name, edit in edits.items():
            with self.subTest(name), self.assertWarnsRegex(
                UserWarning, rf"{name}\(\).*select\(kernel='gemn', step=1\)"
            ) as warned:
                edit()
            self.assertEqual(pathlib.Path(warned.filename), pathlib.Path(__file__), "the warning names the user's line")
        self.assertEqual(self.graph.changed, (0, 0, 0))

    def test_an_edit_of_something_does_not_warn(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.graph.select(kernel="gemm").scale(0.5).scale_host(0.5).remove()
            self.graph.select().scale_host(0.5)

    def test_by_family(self):
        self.assertEqual(self.names(family="matmul"), ["gemm"] * STEPS)

    def test_by_mask_and_by_function(self):
        tasks = self.graph.tasks
        by_mask = self.graph.select(where=(tasks.name == "gemm") & (tasks.step > 1))
        by_function = self.graph.select(where=lambda task: task.name == "gemm" and task.step > 1)
        np.testing.assert_array_equal(by_mask.indices, by_function.indices)
        self.assertEqual(len(by_mask), STEPS - 2)

    def test_the_function_sees_only_what_meets_the_other_criteria(self):
        seen = []
        self.graph.select(kernel="gemm", where=lambda task: seen.append(task.name))
        self.assertEqual(seen, ["gemm"] * STEPS)

    def test_phases_and_layers_of_a_real_job(self):
        graph = headroom.Graph(support.RESNET)
        parts = [
            len(graph.select(phase=phase))
            for phase in ("forward", "backward", "optimizer", "other", "data_wait", "callback")
        ]
        self.assertEqual(sum(parts), len(graph.select()))
        self.assertGreater(min(parts[:3]), 0)
        layer = graph.select(layer=r"^layer::layer1\.0\.conv1$")
        self.assertEqual(set(graph.tasks.layer[layer.indices]), {"layer::layer1.0.conv1"})
        self.assertEqual(set(graph.tasks.phase[layer.indices]), {"forward", "backward"})


class Editing(support.HandMade):
    def step_us(self):
        return self.graph.replay().step_ms * 1e3

    def test_unedited_it_replays_as_recorded(self):
        self.assertAlmostEqual(self.step_us(), STEP_US)
        self.assertAlmostEqual(self.graph.step_ms * 1e3, STEP_US)
        self.assertAlmostEqual(self.graph.recorded_step_ms * 1e3, STEP_US)

    def test_scale(self):
        self.assertAlmostEqual(self.graph.select(kernel="gemm").scale(0.5).time_ms * 1e3, KERNEL_US / 2)
        self.assertAlmostEqual(self.step_us(), STEP_US - KERNEL_US / 2)

    def test_set_duration(self):
        self.graph.select(kernel="gemm").set_duration(us=250)
        self.assertAlmostEqual(self.step_us(), STEP_US - KERNEL_US + 250)

    def test_remove_takes_the_kernel_and_its_gap(self):
        self.graph.select(kernel="pointwise").remove()
        self.assertAlmostEqual(self.step_us(), STEP_US - KERNEL_US - GAP_US)
        self.assertEqual(self.graph.changed[2], 2 * STEPS)  # Kernels and their launches.

    def test_removing_twice_is_removing_once(self):
        gone = self.graph.select(kernel="pointwise").remove()
        changed = self.graph.changed
        gone.remove()
        self.assertEqual(self.graph.changed, changed)

    def test_a_call_goes_with_the_last_of_its_tasks(self):
        trace = support.two_kernels_a_step()
        for event in trace["traceEvents"]:  # One call launches both kernels of a step.
            if event["name"] == "pointwise":
                event["args"]["correlation"] -= 1
        with support.written(trace) as path:
            graph = headroom.Graph(path)
        removed = []
        for kernel in ("gemm", "pointwise"):
            graph.select(kernel=kernel).remove()
            removed.append(graph.changed[2])
        self.assertEqual(removed, [STEPS, 3 * STEPS])

    def test_insert_before_and_after_are_between_the_same_two(self):
        for edit in (
            lambda: self.graph.select(kernel="pointwise").insert_before(100),
            lambda: self.graph.select(kernel="gemm").insert_after(100),
        ):
            numbers = edit()
            np.testing.assert_array_equal(numbers, np.arange(len(numbers)) + len(self.graph.tasks))
            self.assertEqual(len(numbers), STEPS)
            # The gap after an inserted kernel is 1.5 us.
            self.assertAlmostEqual(self.step_us(), STEP_US + 100 + 1.5)
            replay = self.graph.replay()
            gemms, pointwises = (self.graph.select(kernel=name).indices for name in ("gemm", "pointwise"))
            self.assertTrue((replay.ends_ns[gemms] <= replay.starts_ns[numbers]).all())
            self.assertTrue((replay.ends_ns[numbers] <= replay.starts_ns[pointwises]).all())
            np.testing.assert_array_equal(replay.ends_ns[numbers] - replay.starts_ns[numbers], 100_000)
            self.graph.reset()

    def test_insert_after_the_last_of_all_comes_before_the_next_run(self):
        self.graph.select(kernel="pointwise").insert_after(100)
        self.assertAlmostEqual(self.step_us(), STEP_US + 100 + 1.5)

    def test_host_work_shows_once_the_gpu_does_not_hide_it(self):
        everything = self.graph.select()
        everything.scale(0)
        host_us = self.step_us()
        self.assertLess(host_us, STEP_US)
        everything.scale_host(0.5)
        half_us = self.step_us()
        self.assertLess(half_us, 0.6 * host_us)
        work = self.graph.work_before_ns()
        self.assertEqual(set(work[self.graph.tasks.kind != "call"]), {0})
        everything.scale_host(0)
        self.assertEqual(set(self.graph.work_before_ns()), {0})

    def test_reset_and_copy(self):
        self.graph.select().scale(0.5)
        twin = self.graph.copy()
        self.assertAlmostEqual(twin.replay().step_ms, self.graph.replay().step_ms)
        self.graph.reset()
        self.assertAlmostEqual(self.step_us(), STEP_US)
        self.assertAlmostEqual(twin.replay().step_ms * 1e3, STEP_US - KERNEL_US)
        self.assertEqual(self.graph.changed, (0, 0, 0))

    def test_a_scenario_is_an_edit_like_others(self):
        self.graph.apply("gpu-speed:factor=2")
        self.assertAlmostEqual(self.step_us(), STEP_US - KERNEL_US)
        self.graph.select(kernel="gemm").scale(0)
        self.assertAlmostEqual(self.step_us(), STEP_US - 1.5 * KERNEL_US)

    def test_what_does_not_apply_changes_nothing(self):
        self.graph.select(kernel="gemm").scale(0.5)
        before = self.graph.durations_ns()
        with self.assertRaisesRegex(headroom.DoesNotApply, "no GPU task"):
            self.graph.apply("gpu-speed:factor=2+scale:match=nothing-like-it,factor=2")
        np.testing.assert_array_equal(self.graph.durations_ns(), before)

    def test_waits(self):
        graph = headroom.Graph(support.BERT)
        waits = graph.remove_waits()
        self.assertGreater(waits, 0)
        self.assertEqual(waits, (graph.tasks.kind == "return").sum())
        self.assertLess(graph.replay().step_ms, graph.step_ms)
        graph.reset()
        tasks = graph.tasks
        for phase in ("forward", "backward", "optimizer"):
            self.assertEqual(
                graph.select(phase=phase).remove_waits(), ((tasks.kind == "return") & (tasks.phase == phase)).sum()
            )
        self.assertEqual(graph.select(operator="no such operator").remove_waits(), 0)


class Channels(support.HandMade):
    def setUp(self):
        super().setUp()
        self.gemms, self.pointwises = (self.graph.select(kernel=name).indices for name in ("gemm", "pointwise"))

    def step_us(self):
        return self.graph.replay().step_ms * 1e3

    def test_a_transfer_holds_back_what_waits_for_it(self):
        network = self.graph.channel("network")
        for gemm, pointwise in zip(self.gemms, self.pointwises):
            network.insert(50, after=gemm, before=pointwise)
        self.assertEqual(len(network), STEPS)
        # The transfer fills the gap.
        self.assertAlmostEqual(self.step_us(), STEP_US - GAP_US + 50)
        network.scale(2)
        self.assertAlmostEqual(self.step_us(), STEP_US - GAP_US + 100)
        network.clear()
        self.assertAlmostEqual(self.step_us(), STEP_US)

    def test_what_comes_earlier_is_of_the_next_run(self):
        network = self.graph.channel("network")
        following = list(self.gemms[1:]) + [self.gemms[0]]
        for pointwise, gemm in zip(self.pointwises, following):
            network.insert(500, after=pointwise, before=gemm)
        self.assertAlmostEqual(self.step_us(), STEP_US - GAP_US + 500)

    def test_priority_lets_the_urgent_go_first(self):
        # Both transfers are ready when the gemm ends. pointwise waits for the transfer that was inserted last.
        for policy, late_us in (("fifo", 300 + 50), ("priority", 50)):
            self.graph.reset()
            network = self.graph.channel("network", policy)
            for gemm, pointwise in zip(self.gemms, self.pointwises):
                network.insert(300, after=gemm, priority=2)
                network.insert(50, after=gemm, before=pointwise, priority=1)
            self.assertAlmostEqual(self.step_us(), STEP_US - GAP_US + late_us, msg=policy)
        network.reschedule("fifo")
        self.assertAlmostEqual(self.step_us(), STEP_US - GAP_US + 350)

    def test_transfers_follow_transfers_and_inserted_kernels(self):
        one, two = self.graph.channel("one"), self.graph.channel("two")
        kernel = self.graph.select(kernel="pointwise", step=0).insert_before(10)[0]
        first = one.insert(40, after=int(kernel))
        second = two.insert(60, after=[first, self.gemms[0]], before=self.pointwises[1])
        replay = self.graph.replay()
        self.assertEqual(replay.starts_ns[first], replay.ends_ns[kernel])
        self.assertEqual(replay.starts_ns[second], replay.ends_ns[first])
        with self.assertRaisesRegex(ValueError, "wait for those of this one"):
            one.clear()
        self.assertEqual(len(one), 1)

    def test_no_order_of_transfers_makes_a_circle(self):
        network = self.graph.channel("network")
        chained = network.insert(1, after=int(self.pointwises[0]))
        # The gemm of the same step precedes the task that the chain waits for, so the chain uses the next run's gemm.
        network.insert(1, after=chained, before=int(self.gemms[0]))
        self.assertGreater(self.step_us(), 0)

    def test_reset_ends_a_channel(self):
        network = self.graph.channel("network")
        transfer = network.insert(1, after=int(self.gemms[0]))
        self.graph.reset()
        self.assertEqual(len(network), 0)
        with self.assertRaisesRegex(ValueError, "channel network no longer exists"):
            network.insert(1)
        with self.assertRaisesRegex(ValueError, "nor an inserted task"):
            self.graph.channel("network").insert(1, after=transfer)


class Replaying(support.HandMade):
    def test_times_by_hand(self):
        replay = self.graph.replay()
        self.assertTrue(replay.settled)
        np.testing.assert_allclose(replay.step_walls_ms * 1e3, STEP_US)
        gpu = self.graph.select().indices
        np.testing.assert_array_equal(replay.ends_ns[gpu] - replay.starts_ns[gpu], KERNEL_US * 1000)
        np.testing.assert_array_equal(np.diff(replay.starts_ns[gpu]), (KERNEL_US + GAP_US) * 1000)

    def test_the_critical_path_of_a_gpu_bound_job_is_its_kernels(self):
        path = self.graph.replay().critical_path()
        self.assertEqual({self.graph.tasks.kind[task] for task in path.task}, {"gpu"})
        self.assertLessEqual(set(path.edge), {"stream", None})
        self.assertEqual(path.ran_ns.sum(), STEPS * 2 * KERNEL_US * 1000)

    def test_the_critical_path_takes_as_long_as_the_steps(self):
        for trace in (support.BERT, support.RESNET):
            graph = headroom.Graph(trace)
            graph.select(family="elementwise").insert_before(3)
            replay = graph.replay()
            path = replay.critical_path()
            took_ms = (path.lag_ns.sum() + path.ran_ns.sum()) / 1e6 / graph.steps
            # A path has replayed times; a step has the scale of graph.step_ms.
            self.assertAlmostEqual(took_ms * step_factor(trace) / replay.step_ms, 1, delta=0.01)

    def test_a_replay_does_not_change_with_later_edits(self):
        replay = self.graph.replay()
        starts = replay.starts_ns.copy()
        self.graph.select().scale(0.1)
        self.assertAlmostEqual(replay.step_ms * 1e3, STEP_US)
        np.testing.assert_array_equal(replay.starts_ns, starts)


class Laws(unittest.TestCase):
    """Tests laws on real traces for random edits (with a fixed seed)."""

    graph: "headroom.Graph"

    @classmethod
    def setUpClass(cls):
        cls.graph = headroom.Graph(support.RESNET)

    def setUp(self):
        self.graph.reset()
        self.random = random.Random(20)

    def some(self):
        families = sorted(set(self.graph.tasks.family[self.graph.tasks.kind == "gpu"]))
        return self.graph.select(family=self.random.choice(families), phase=self.random.choice(["forward", "backward"]))

    def test_scaling_by_a_factor_and_back_changes_nothing(self):
        before = self.graph.durations_ns()
        for _ in range(20):
            factor = self.random.uniform(0.2, 5)
            selected = self.some().scale(factor)
            if factor < 0.9 and len(selected):
                self.assertLess(self.graph.durations_ns().sum(), before.sum())
            selected.scale(1 / factor)
            # Each scaling rounds by half a nanosecond.
            self.assertLessEqual(np.abs(self.graph.durations_ns() - before).max(), 0.5 / min(factor, 1) + 0.5)
            self.graph.reset()
        self.assertEqual(self.graph.replay().step_ms, self.graph.step_ms)

    def test_a_whole_factor_and_back_is_exactly_the_identity(self):
        for factor in (2, 3, 7):
            self.graph.select().scale(factor).scale(1 / factor)
            self.assertEqual(self.graph.replay().step_ms, self.graph.step_ms)

    def test_faster_kernels_never_make_a_longer_step(self):
        last = self.graph.step_ms
        for _ in range(10):
            self.some().scale(self.random.uniform(0.5, 1))
            now = self.graph.replay().step_ms
            self.assertLessEqual(now, last * 1.0002)
            last = now

    def test_the_step_is_no_shorter_than_its_work_on_a_stream(self):
        busiest = max(self.graph.select(stream=int(s)).time_ms for s in set(self.graph.tasks.stream) if s >= 0)
        self.assertGreaterEqual(self.graph.step_ms * 1.001, busiest)


if __name__ == "__main__":
    unittest.main()
