"""Tests columns: read-only, without copies if the graph has them, and valid as long as any object refers to them."""
import gc
import unittest

import numpy as np

import headroom
import support

TASK_COLUMNS = headroom.Task._fields[1:]
EDGE_COLUMNS = ("from_task", "to_task", "from_end", "cycles_back", "kind", "lag_ns", "provenance")


class Columns(support.HandMade):
    def all_columns(self):
        replay = self.graph.replay()
        tables = [
            (self.graph.tasks, TASK_COLUMNS),
            (self.graph.edges, EDGE_COLUMNS),
            (self.graph.gradients, ("step", "ready", "forward", "bytes")),
            (replay, ("starts_ns", "ends_ns")),
            (replay.critical_path(), headroom.CriticalPath._fields),
            (self.graph.select(), ("indices",)),
        ]
        return {f"{type(table).__name__}.{name}": getattr(table, name) for table, names in tables for name in names}

    def test_nobody_can_write_into_them(self):
        for name, column in self.all_columns().items():
            with self.subTest(name):
                self.assertFalse(column.flags.writeable)
                if len(column):
                    with self.assertRaises(ValueError):
                        column[0] = column[0]

    def test_views_cannot_be_made_writable(self):
        for column in (self.graph.tasks.start_ns, self.graph.edges.lag_ns, self.graph.replay().starts_ns):
            with self.assertRaises(ValueError):
                column.setflags(write=True)

    def test_one_length(self):
        self.assertEqual({len(getattr(self.graph.tasks, name)) for name in TASK_COLUMNS}, {len(self.graph.tasks)})
        self.assertEqual({len(getattr(self.graph.edges, name)) for name in EDGE_COLUMNS}, {len(self.graph.edges)})

    def test_views_share_the_graphs_memory(self):
        for table, name in (
            (self.graph.tasks, "start_ns"),
            (self.graph.tasks, "duration_ns"),
            (self.graph.tasks, "step"),
            (self.graph.edges, "from_task"),
            (self.graph.edges, "lag_ns"),
        ):
            again = getattr(type(table)(self.graph._recording), name)  # type: ignore[call-arg]
            self.assertTrue(np.shares_memory(getattr(table, name), again), name)

    def test_a_column_outlives_its_graph(self):
        with support.written(support.two_kernels_a_step()) as path:
            graph = headroom.Graph(path)
        columns = {name: getattr(graph.tasks, name) for name in TASK_COLUMNS}
        lags, starts = graph.edges.lag_ns, graph.replay().starts_ns
        copies = {name: column.copy() for name, column in columns.items()}
        more = lags.copy(), starts.copy()
        del graph
        gc.collect()
        np.zeros(1_000_000)  # Freed memory would be overwritten.
        for name, column in columns.items():
            np.testing.assert_array_equal(column, copies[name], name)
        np.testing.assert_array_equal(lags, more[0])
        np.testing.assert_array_equal(starts, more[1])

    def test_copies_of_edited_times_are_the_users(self):
        durations = self.graph.durations_ns()
        self.graph.select().scale(2)
        self.assertEqual(
            durations.sum() * 2,
            self.graph.durations_ns()[self.graph.select().indices].sum()
            + 2 * durations[self.graph.tasks.kind != "gpu"].sum(),
        )

    def test_a_task_is_a_row(self):
        tasks = self.graph.tasks
        at = int(self.graph.select(kernel="gemm").indices[1])
        task = tasks[at]
        self.assertEqual(
            (task.index, task.kind, task.name, task.operator, task.step, task.stream, task.device, task.thread),
            (at, "gpu", "gemm", "aten::mm", 1, 7, 0, None),
        )
        self.assertEqual(task.duration_ns, support.KERNEL_US * 1000)
        self.assertEqual(
            task.start_ns - tasks[int(self.graph.select(kernel="gemm").indices[0])].start_ns, support.STEP_US * 1000
        )
        self.assertEqual(tasks[task.launch].name, "cudaLaunchKernel")
        self.assertEqual(
            (tasks[task.launch].kind, tasks[task.launch].thread, tasks[task.launch].family), ("call", "1", None)
        )
        self.assertEqual(tasks[-1].index, len(tasks) - 1)
        for outside in (len(tasks), -len(tasks) - 1):
            with self.assertRaises(IndexError):
                tasks[outside]

    def test_edges_go_from_earlier_to_later(self):
        edges, tasks = self.graph.edges, self.graph.tasks
        within = edges.cycles_back == 0
        self.assertTrue((edges.from_task[within] < edges.to_task[within]).all())
        self.assertTrue((np.diff(edges.to_task.astype(np.int64)) >= 0).all())
        launches = edges.kind == "launch"
        np.testing.assert_array_equal(edges.from_task[launches], tasks.launch[edges.to_task[launches]])
        self.assertLessEqual(set(edges.provenance), {"recorded", "resolved", "inferred"})

    def test_steps_of_a_part_of_a_trace_keep_their_numbers(self):
        last = headroom.report(support.RESNET)["steps"]["list"][-1]["index"]
        graph = headroom.Graph(support.RESNET, steps=(last, last))
        self.assertEqual(set(graph.tasks.step) - {-1}, {last})

    def test_gradients_of_a_real_job(self):
        graph = headroom.Graph(support.RESNET)
        gradients = graph.gradients
        numbers = [step["index"] for step in headroom.report(support.RESNET)["steps"]["list"]]
        self.assertEqual(sorted(set(gradients.step)), numbers)
        self.assertGreater(numbers[0], 0)  # The trace's own step; a schedule waits and warms up before it.
        self.assertEqual(sorted(set(graph.tasks.step) - {-1}), numbers)
        np.testing.assert_array_equal(gradients.step, graph.tasks.step[gradients.ready])
        self.assertEqual(len(graph.select(step=0)), 0)
        self.assertGreater(len(graph.select(step=numbers[-1])), 0)
        # ResNet-50 has 25.6 million parameters of four bytes.
        self.assertAlmostEqual(gradients.bytes.sum() / graph.steps / (4 * 25.557e6), 1, delta=0.01)
        known = gradients.forward >= 0
        self.assertTrue((gradients.forward[known] < gradients.ready[known]).all())
        self.assertEqual(set(graph.tasks.phase[gradients.ready]), {"backward"})


class HostileNames(unittest.TestCase):
    def test_names_that_are_no_text(self):
        trace = support.two_kernels_a_step()
        for event in trace["traceEvents"]:
            if event["name"] == "gemm":
                event["name"] = "gemm\ud800\x00<b>"
        with support.written(trace) as path:
            graph = headroom.Graph(path)
        names = set(graph.tasks.name[graph.tasks.kind == "gpu"])
        self.assertEqual(len(names), 2)
        self.assertTrue(all(isinstance(name, str) for name in names))
        self.assertEqual(len(graph.select(kernel="^gemm")), support.STEPS)


if __name__ == "__main__":
    unittest.main()
