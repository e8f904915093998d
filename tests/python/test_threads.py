"""Tests that other threads can run during reading and replaying."""
import concurrent.futures
import copy
import pickle
import threading
import time
import unittest

import headroom
import support


class Gil(unittest.TestCase):
    def ticks_during(self, work):
        """Returns how often another thread ran while the engine worked, minus possible runs before and after."""
        ticks, stop = [], threading.Event()

        def tick():
            while not stop.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.0005)

        thread = threading.Thread(target=tick)
        thread.start()
        begin = time.monotonic()
        work()
        end = time.monotonic()
        stop.set()
        thread.join()
        margin = 0.2 * (end - begin)
        return sum(begin + margin < t < end - margin for t in ticks)

    def test_reading_releases_it(self):
        # A busy machine may not let the other thread run. One successful try is enough.
        self.assertTrue(any(self.ticks_during(lambda: headroom.load(support.BERT)) for _ in range(10)))

    def test_forecasting_releases_it(self):
        trace = headroom.load(support.BERT)
        self.assertTrue(any(self.ticks_during(trace.whatif) for _ in range(10)))


class Together(unittest.TestCase):
    def test_copies_replay_side_by_side_as_they_do_alone(self):
        graph = headroom.Graph(support.RESNET)
        factors = [1 + i / 8 for i in range(8)]

        def step_ms(factor):
            twin = graph.copy()
            twin.select(family="convolution").scale(factor)
            return twin.replay().step_ms

        alone = [step_ms(factor) for factor in factors]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertEqual(list(pool.map(step_ms, factors)), alone)

    def test_edits_of_one_graph_at_once_damage_nothing(self):
        graph = headroom.Graph(support.RESNET)
        everything = graph.select(family="matmul")

        def edit(number):
            for _ in range(20):
                everything.scale(0.5)
                graph.copy()
                graph.durations_ns()
                if number == 0:
                    graph.reset()

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(edit, range(4)))
        graph.reset()
        self.assertAlmostEqual(graph.replay().step_ms, graph.step_ms, delta=1e-3)

    def test_what_the_engine_holds_is_not_copied(self):
        trace = headroom.load(support.RESNET)
        for thing in (trace, trace.Graph(), trace.query("select 1"), trace.tables):
            with self.assertRaisesRegex(TypeError, "cannot be copied or pickled|cannot pickle"):
                copy.deepcopy(thing)
            with self.assertRaisesRegex(TypeError, "cannot be copied or pickled|cannot pickle"):
                pickle.dumps(thing)
        self.assertEqual(len(trace.query("select 1")), 1)

    def test_forecasts_of_one_job_from_several_threads(self):
        graph = headroom.Graph(support.RESNET)
        names = ["amp", "tf32", "gpu-speed:factor=2", "host-speed:factor=2"] * 3
        alone = [graph.whatif(name) for name in names]
        fresh = headroom.Graph(support.RESNET)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            columns = [pool.submit(lambda: list(fresh.tasks.family)) for _ in range(2)]
            self.assertEqual(list(pool.map(fresh.whatif, names)), alone)
            self.assertEqual(columns[0].result(), columns[1].result())


if __name__ == "__main__":
    unittest.main()
