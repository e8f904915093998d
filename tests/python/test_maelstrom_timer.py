"""Tests headroom.timer: the behaviour that users of the MAELSTROM Timer rely on, and its repaired defects (reference:
docs/python.md, "Measuring").
"""
import ctypes
import io
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import types
import unittest
import unittest.mock
import warnings

import headroom
from headroom import _gpu_events, _rank_files, timer as timer_module
from headroom.timer import CPUGPUTimer, Timer, TimeStats, TimeType, merge
from recorder import record_python


class Clock:
    """A host clock that the test sets."""

    now = 0.0

    def start(self):
        return self.now

    end = start

    def get_time(self, start, end):
        return end - start


class Event:
    """A CUDA event on a GPU that the test completes."""

    made = 0
    done_until = 0.0
    now = 0.0
    synchronized = 0

    def __init__(self, enable_timing):
        assert enable_timing
        type(self).made += 1

    def record(self):
        self.at = Event.now

    def query(self):
        return self.at <= Event.done_until

    def synchronize(self):
        Event.synchronized += 1
        Event.done_until = max(Event.done_until, self.at)

    def elapsed_time(self, end):
        return (end.at - self.at) * 1e3


def fake_torch(capturing=False, devices=lambda: 0):
    Event.made, Event.done_until, Event.now, Event.synchronized = 0, 0.0, 0.0, 0
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        is_available=lambda: True, Event=Event, is_current_stream_capturing=lambda: capturing, current_device=devices
    )
    return unittest.mock.patch.dict(sys.modules, {"torch": torch})


def timed(timer, key, *seconds, **flags):
    for each in seconds:
        timer.start(key, **flags)
        Clock.now += each
        timer.end(key, **flags)


class Base(unittest.TestCase):
    def setUp(self):
        timer_module._told.clear()
        Clock.now = 0.0
        folder = tempfile.TemporaryDirectory(prefix="headroom-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class AsItWas(Base):
    def test_keys(self):
        self.assertEqual(
            [key.name for key in TimeType], ["EPOCH", "BATCH", "FORWARD", "BACKWARD", "COMM", "IO", "OTHER", "ALL"]
        )
        timer = Timer()
        for call in (timer.start, timer.end):
            for key in (TimeType.ALL, "ALL"):
                self.assertRaises(ValueError, call, key)

    def test_times_and_statistics(self):
        timer = Timer(Clock)
        timed(timer, TimeType.BATCH, 1, 3, 2)
        self.assertEqual(timer.get_time(TimeType.BATCH), [1, 3, 2])
        self.assertEqual(timer.get_time_stats(TimeType.BATCH), TimeStats(min=1, mean=2, median=2, max=3, stdev=1))
        timed(timer, TimeType.IO, 5)
        self.assertEqual(timer.get_time_stats(TimeType.IO).stdev, 0)

    def test_different_keys_nest_and_overlap(self):
        timer = Timer(Clock)
        timer.start(TimeType.BATCH)
        timed(timer, TimeType.FORWARD, 1)
        timer.start(TimeType.IO)
        timer.end(TimeType.BATCH)
        Clock.now += 1
        timer.end(TimeType.IO)
        self.assertEqual(
            [timer.get_time(key) for key in (TimeType.BATCH, TimeType.FORWARD, TimeType.IO)], [[1], [1], [1]]
        )

    def test_text(self):
        timer = Timer(Clock)
        timed(timer, TimeType.BATCH, 1, 2)
        out = io.StringIO()
        timer.print_all_time_stats(file=out)
        self.assertEqual(
            out.getvalue(), "BATCH\nmin: 1.00000 mean: 1.50000 median: 1.50000 max: 2.00000 stdev: 0.70711\n---\n"
        )

    def test_text_of_two_clocks(self):
        timer = timer_module.CPUGPUTimerBase(Clock, Clock)
        timed(timer, TimeType.BATCH, 1, gpu=True)
        timed(timer, TimeType.IO, 1)
        out = io.StringIO()
        timer.print_all_time_stats(file=out)
        line = "min: 1.00000 mean: 1.00000 median: 1.00000 max: 1.00000 stdev: 0.00000\n"
        self.assertEqual(out.getvalue(), f"CPU\nBATCH\n{line}IO\n{line}---\nGPU\nBATCH\n{line}---\n")

    def test_a_file_is_never_written_over(self):
        timer = Timer()
        timer.save_all_time_stats(self.folder / "t.txt")
        self.assertRaises(FileExistsError, timer.save_all_time_stats, self.folder / "t.txt")
        timer.save_json(self.folder / "t.json")
        self.assertRaises(FileExistsError, timer.save_json, self.folder / "t.json")
        self.assertEqual(sorted(os.listdir(self.folder)), ["t.json", "t.txt"])

    def test_means_go_to_wandb_and_mlflow(self):
        logged = []
        modules = {
            "wandb": types.SimpleNamespace(log=logged.append),
            "mlflow": types.SimpleNamespace(log_metrics=logged.append),
        }
        with unittest.mock.patch.dict(sys.modules, modules), unittest.mock.patch("sys.stdout", io.StringIO()) as out:
            timer = Timer(Clock)
            timed(timer, TimeType.BATCH, 1, 2)
            timer.log_wb_all()
            timer.log_mlflow_all("run")
            both = timer_module.CPUGPUTimerBase(Clock, Clock)
            timed(both, TimeType.BATCH, 4, gpu=True)
            both.log_wb_all("run/")
        self.assertEqual(logged, [{"BATCH": 1.5}, {"run/BATCH": 1.5}, {"run/CPU/BATCH": 4, "run/GPU/BATCH": 4}])
        self.assertIn("{'BATCH': 1.5}", out.getvalue())
        with unittest.mock.patch.dict(sys.modules, {"wandb": None, "mlflow": None}):
            self.assertRaisesRegex(RuntimeError, "wandb", timer.log_wb_all)
            self.assertRaisesRegex(RuntimeError, "mlflow", timer.log_mlflow_all)

    def test_the_loop_idiom(self):
        timer, loader = Timer(), range(4)
        timer.start(TimeType.BATCH)
        timer.start(TimeType.IO)
        for i in loader:
            timer.end(TimeType.IO)
            timer.end(TimeType.BATCH)
            if i != len(loader) - 1:
                timer.start(TimeType.BATCH)
                timer.start(TimeType.IO)
        self.assertEqual((len(timer.get_time(TimeType.BATCH)), len(timer.get_time(TimeType.IO))), (4, 4))

    def test_star_import_and_the_names_of_its_modules(self):
        names = {}
        exec("from headroom.timer import *", names)
        for name in ("Timer", "TimeType", "TimeStats", "CPUGPUTimer", "CPUGPUTimerBase", "TimerCallback"):
            self.assertIn(name, names)
        self.assertIs(headroom.Timer, Timer)

    def test_the_keras_callback(self):
        timer = Timer(Clock)
        callback = timer_module.TimerCallback(timer)
        callback.on_epoch_begin(0)
        for batch in range(3):
            callback.on_train_batch_begin(batch)
            Clock.now += 1
            callback.on_train_batch_end(batch)
        callback.on_epoch_end(0)
        self.assertEqual((timer.get_time("BATCH"), timer.get_time("EPOCH")), ([1, 1, 1], [3]))

    def test_regions_reach_the_recording(self):
        (process,), _ = record_python(
            """
            from headroom.timer import Timer, TimeType
            timer = Timer()
            timer.start(TimeType.BATCH)
            with timer.scope("mine"):
                pass
            timer.end(TimeType.BATCH)
        """
        )
        self.assertEqual(process.tree(), "BATCH(mine)")


class Mended(Base):
    def test_an_exception_inside_a_region_harms_no_later_read(self):
        """MAELSTROM left the region open. Every later print, log and get_time raised."""
        timer = Timer(Clock)
        timed(timer, "BATCH", 1)
        timer.start("BATCH")
        timed(timer, "BATCH", 2)
        timer.print_all_time_stats(file=io.StringIO())
        self.assertEqual(timer.get_time("BATCH"), [1, 2])
        with self.assertRaises(KeyError), timer.scope("IO"):
            raise KeyError
        self.assertEqual(len(timer.get_time("IO")), 1)

    def test_regions_that_never_end_do_not_pile_up(self):
        timer, depth = Timer(Clock), headroom.drops().depth
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for _ in range(1000):
                timer.start("left open by an exception")
        self.assertEqual(headroom.drops().depth, depth)
        self.assertEqual(len(told), 1)
        for _ in range(1000 % timer_module.MOST_NESTED):
            timer.end("left open by an exception")
        self.assertFalse(headroom.scope("left open by an exception").is_open())

    def test_what_was_left_open_costs_its_key_nothing_else(self):
        timer = Timer()
        for _ in range(timer_module.MOST_NESTED + 3):
            timer.start("left open")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                timer.start("left open")
                timer.end("left open")
        stats = headroom.stats("left open")
        self.assertEqual(stats.count, timer_module.MOST_NESTED + 3)
        self.assertAlmostEqual(stats.total_s, stats.count * stats.mean_s, delta=1e-9)

    def test_asking_for_an_unused_key_changes_nothing(self):
        """MAELSTROM added an empty list, on which the next print raised."""
        timer = Timer(Clock)
        self.assertEqual(timer.get_time(TimeType.COMM), [])
        self.assertRaisesRegex(ValueError, "COMM", timer.get_time_stats, TimeType.COMM)
        out = io.StringIO()
        timer.print_all_time_stats(file=out)
        self.assertEqual(out.getvalue(), "---\n")

    def test_a_key_may_nest(self):
        timer = Timer(Clock)
        timer.start("A")
        timed(timer, "A", 1)
        Clock.now += 1
        timer.end("A")
        self.assertEqual(timer.get_time("A"), [1, 2])

    def test_an_end_without_start_is_said_once_and_stops_no_training(self):
        timer = Timer()
        with self.assertWarnsRegex(RuntimeWarning, "'IO'"):
            timer.end(TimeType.IO)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            timer.end(TimeType.IO)
        self.assertEqual(timer.get_time(TimeType.IO), [])

    def test_start_and_end_that_differ_in_gpu(self):
        """MAELSTROM unbalanced one clock silently, until a read raised."""
        timer = timer_module.CPUGPUTimerBase(Clock, Clock)
        timer.start("A", gpu=True)
        with self.assertWarnsRegex(RuntimeWarning, "differ"):
            timer.end("A")
        timer.start("A")
        timer.end("A", gpu=True)
        self.assertEqual((len(timer.get_time("A")), len(timer.get_time("A", gpu=True))), (2, 1))

    def test_threads(self):
        """MAELSTROM's lists paired starts and ends of all threads by position."""
        timer = Timer()

        def work():
            for _ in range(200):
                timer.start("T")
                timer.end("T")

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(timer.get_time_stats("T").min >= 0 and len(timer.get_time("T")), 1600)

    def test_memory_is_bounded_and_statistics_stay_exact(self):
        with unittest.mock.patch.object(timer_module, "KEPT", 100):
            timer = Timer(Clock)
            timed(timer, "A", *range(1000))
        stats = timer.get_time_stats("A")
        self.assertEqual(timer.get_time("A"), list(range(900, 1000)))
        self.assertEqual((stats.min, stats.max), (0, 999))
        self.assertTrue(math.isclose(stats.mean, 499.5) and math.isclose(stats.stdev, statistics.stdev(range(1000))))

    def test_percentiles_and_all(self):
        timer = Timer(Clock)
        timed(timer, "A", *range(1, 101))
        self.assertEqual([timer.get_percentile("A", p) for p in (0, 50, 90, 99, 100)], [1, 50, 90, 99, 100])
        timed(timer, "B", 1000)
        self.assertEqual(timer.get_time_stats(TimeType.ALL).max, 1000)
        self.assertEqual(len(timer.get_time("ALL")), 101)

    def test_names_of_determined_find_the_same(self):
        timer = Timer(Clock)
        timed(timer, TimeType.IO, 1)
        timed(timer, "train_batch", 2)
        self.assertEqual((timer.get_time("dataloader_next"), timer.get_time(TimeType.BATCH)), ([1], [2]))


class OnTheGpu(Base):
    def test_nothing_waits_until_one_reads(self):
        with fake_torch():
            timer = CPUGPUTimer()
            for i in range(10):
                timer.start(TimeType.FORWARD, gpu=True)
                Event.now += i
                timer.end(TimeType.FORWARD, gpu=True)
            self.assertEqual(Event.synchronized, 0)
            self.assertEqual(timer.get_time(TimeType.FORWARD, gpu=True), [float(i) for i in range(10)])
            self.assertGreater(Event.synchronized, 0)
            self.assertEqual(len(timer.get_time(TimeType.FORWARD)), 10)

    def test_a_recording_has_the_gpu_times_as_a_counter(self):
        (process,), _ = record_python(
            """
            import sys, types
            from headroom.timer import Timer

            class OnGpu:  # A clock whose times are known one region later, as those of events.
                now = 0
                def start(self): return OnGpu.now
                def end(self): return OnGpu.now
                def get_time(self, start, end): return (end - start) / 1e3
                def ready(self, end): return end < OnGpu.now
                def wait(self, end): pass

            timer = Timer(gpu_impl=OnGpu)
            for ms in (2, 3):
                with timer.scope("FORWARD", gpu=True):
                    OnGpu.now += ms
            timer.complete_all()
            host = Timer()  # No GPU: the region is all there is.
            with host.scope("BACKWARD", gpu=True):
                pass
            """
        )
        counted = [(event.name, event.value) for event in process.events("counter")]
        self.assertEqual(counted, [("FORWARD_gpu_ms", 2.0), ("FORWARD_gpu_ms", 3.0)])
        self.assertEqual(process.names_of_regions(), ["FORWARD", "FORWARD", "BACKWARD"])

    def test_events_are_used_again_and_logging_waits_for_nothing(self):
        with fake_torch(), unittest.mock.patch.dict(
            sys.modules, {"mlflow": types.SimpleNamespace(log_metrics=lambda means: None)}
        ):
            timer = Timer()
            for _ in range(500):
                timer.start("A", gpu=True)
                Event.now += 1
                timer.end("A", gpu=True)
                Event.done_until = Event.now - 3
                timer.log_mlflow_all()
            self.assertLess(Event.made, 20)
            self.assertEqual(Event.synchronized, 0)
            timer.complete_all()
            self.assertEqual(timer.get_time("A", gpu=True), [1.0] * 500)

    def test_the_gpus_errors_stop_no_training(self):
        with fake_torch():
            timer = Timer()
            timed(timer, "A", 1, gpu=True)
            with unittest.mock.patch.object(
                Event, "query", side_effect=RuntimeError("CUDA error: an illegal memory access")
            ), unittest.mock.patch.object(Event, "synchronize", side_effect=RuntimeError), unittest.mock.patch.object(
                Event, "elapsed_time", side_effect=RuntimeError
            ):
                timed(timer, "A", 1, 1, gpu=True)
                timer.complete_all()
            self.assertEqual((len(timer.get_time("A")), timer.dropped), (3, 2))
            made = Event.made
            with unittest.mock.patch.object(Event, "record", side_effect=RuntimeError):
                timed(timer, "A", *[1] * 20, gpu=True)
            self.assertEqual((len(timer.get_time("A")), timer.dropped), (23, 22))
            self.assertLessEqual(Event.made, made + 2, "events that could not be recorded are used again")

    def test_who_reads_waits_for_what_has_ended_only(self):
        with fake_torch():
            timer = Timer()
            Event.done_until = -1
            timed(timer, "A", 1, gpu=True)

            def synchronize(event):  # The GPU is behind: another region always ends in the meantime.
                Event.now += 1
                timed(timer, "A", 1, gpu=True)
                Event.done_until = event.at

            with unittest.mock.patch.object(Event, "synchronize", synchronize):
                timer.complete_all()
            self.assertGreaterEqual(len(timer._gpu.pending), 1)

    def test_who_reads_waits_alone(self):
        with fake_torch():
            timer = Timer()
            reading, finished = threading.Event(), threading.Event()

            def synchronize(event):
                reading.set()
                finished.wait(30)
                Event.done_until = event.at

            Event.done_until = -1
            timed(timer, "A", 1, gpu=True)
            with unittest.mock.patch.object(Event, "synchronize", synchronize):
                reader = threading.Thread(target=timer.complete_all)
                reader.start()
                self.assertTrue(reading.wait(30))
                timed(timer, "A", 1, gpu=True)  # end() used to wait for the reader, which waits for the GPU.
                self.assertTrue(reader.is_alive())
                finished.set()
                reader.join(30)
            self.assertEqual(len(timer.get_time("A", gpu=True)), 2)

    def test_a_capture_of_another_thread_goes_on(self):
        """CUDA ends a capture when a thread that is not in relaxed mode queries an event."""
        library = pathlib.Path(headroom.__file__).parents[2] / "tests/timer/libfake_gpu.so"
        if not library.exists():
            self.skipTest("the GPU for tests is built with the tests")
        exchange = ctypes.CDLL(str(library)).cuThreadExchangeStreamCaptureMode

        def mode():
            now = ctypes.c_int(0)
            exchange(ctypes.byref(now))
            exchange(ctypes.byref(ctypes.c_int(now.value)))
            return now.value

        asked = []
        query, elapsed = Event.query, Event.elapsed_time

        def asked_query(event):
            asked.append(mode())
            return query(event)

        def asked_elapsed(event, end):
            asked.append(mode())
            return elapsed(event, end)

        with unittest.mock.patch.dict(
            os.environ, {"HEADROOM_CUDA_LIBRARY": str(library)}
        ), fake_torch(), unittest.mock.patch.object(
            _gpu_events, "capture_goes_on", _gpu_events.CaptureGoesOn()
        ), unittest.mock.patch.object(
            Event, "query", asked_query
        ), unittest.mock.patch.object(
            Event, "elapsed_time", asked_elapsed
        ):
            timer = Timer()
            timed(timer, "A", 1, gpu=True)
            timer.complete_all()
        self.assertGreaterEqual(len(asked), 2)
        self.assertEqual(set(asked), {2})
        self.assertEqual(mode(), 0, "as it was")

    def test_an_exhausted_pool_drops_and_counts(self):
        """MAELSTROM raised after 100 regions."""
        with fake_torch(), unittest.mock.patch.object(_gpu_events, "MOST_EVENTS", 200):
            timer = Timer()
            Event.done_until = -1
            for _ in range(150):
                timer.start("A", gpu=True)
                timer.end("A", gpu=True)
            self.assertEqual((Event.made, timer.dropped), (200, 50))
            self.assertEqual((len(timer.get_time("A", gpu=True)), len(timer.get_time("A"))), (100, 150))
            timer.start("A", gpu=True)  # There is room again.
            timer.end("A", gpu=True)
            self.assertEqual((len(timer.get_time("A", gpu=True)), timer.dropped), (101, 50))

    def test_a_stream_that_is_captured_is_left_alone(self):
        with fake_torch(capturing=True):
            timer = Timer()
            timer.start("A", gpu=True)
            timer.end("A", gpu=True)
            self.assertEqual(
                (Event.made, timer.dropped, timer.get_time("A", gpu=True), len(timer.get_time("A"))), (0, 1, [], 1)
            )

    def test_events_stay_on_their_device(self):
        devices = iter([0, 0, 1, 1, 0, 0])
        with fake_torch(devices=lambda: next(devices)):
            timer = Timer()
            for _ in range(3):
                timer.start("A", gpu=True)
                timer.end("A", gpu=True)
                timer.complete_all()
            self.assertEqual(Event.made, 4)

    def test_without_a_gpu_the_hosts_time_said_once(self):
        with unittest.mock.patch.dict(sys.modules, {"torch": None}), warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for timer in (Timer(), CPUGPUTimer()):
                timer.start("A", gpu=True)
                timer.end("A", gpu=True)
                self.assertEqual(len(timer.get_time("A", gpu=True)), 1)
        self.assertEqual(
            [str(warning.message) for warning in told],
            ["headroom.timer: PyTorch finds no usable GPU; gpu=True measures host time instead"],
        )


class Ranks(Base):
    def saved(self, rank, **seconds):
        timer = Timer(Clock)
        for key, all_of_them in seconds.items():
            timed(timer, key, *all_of_them)
        return timer.save_json(self.folder / "times-{rank}.json", rank=rank)

    def test_ranks_merge(self):
        files = [self.saved(0, BATCH=[10, 10], COMM=[2, 2]), self.saved(1, BATCH=[10, 10], COMM=[5, 5], IO=[1])]
        self.assertTrue(files[1].endswith("times-1.json"))
        merged = merge(files)
        self.assertEqual(merged["ranks"], [0, 1])
        self.assertEqual(merged["keys"]["COMM"]["total_s"], {"min": 4, "mean": 7, "max": 10})
        self.assertEqual(merged["keys"]["COMM"]["mean_s"], {"min": 2, "mean": 3.5, "max": 5})
        self.assertEqual((merged["keys"]["COMM"]["slowest_rank"], merged["keys"]["IO"]["ranks"]), (1, 1))
        self.assertEqual(merged["communication_share"], {"min": 0.2, "mean": 0.35, "max": 0.5, "of": "BATCH"})
        self.assertEqual(merged["gpu_keys"], {})

    def test_without_communication_its_share_is_unknown(self):
        self.assertIsNone(merge([self.saved(0, BATCH=[1])])["communication_share"])

    def test_two_of_one_rank_and_what_is_no_such_file(self):
        first = self.saved(0, BATCH=[1])
        second = pathlib.Path(first).rename(self.folder / "other.json")
        self.assertRaisesRegex(ValueError, "both belong to rank 0", merge, [self.saved(0, BATCH=[1]), second])
        for text, error in (
            ("", "not JSON"),
            ("{", "not JSON"),
            ("[]", "not a file of"),
            ('{"schema": "x"}', "not a file of"),
        ):
            bad = self.folder / "bad.json"
            bad.write_text(text)
            self.assertRaisesRegex(ValueError, error, merge, [bad])
        self.assertRaisesRegex(ValueError, "no files", merge, [])

    def test_the_nearest_launcher_tells_the_rank(self):
        slurm = {"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}
        mpi = {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"}
        for environment, rank in (
            (slurm, (0, 1)),
            ({**slurm, **mpi}, (3, 4)),
            ({**slurm, "PMI_RANK": "2"}, (2, None)),
            ({**slurm, **mpi, "RANK": "1", "WORLD_SIZE": "2"}, (1, 2)),
            ({}, (0, None)),
        ):
            with unittest.mock.patch.dict(os.environ, environment, clear=True), unittest.mock.patch.dict(
                sys.modules, {"torch": None}
            ):
                self.assertEqual(_rank_files.rank_of(None), rank, environment)

    def test_each_process_saves_all_of_its_regions(self):
        script = (
            "import headroom, headroom.timer, sys\n"
            "with headroom.step(0):\n  headroom.end(headroom.begin('COMM'))\n"
            "print(headroom.timer.save(sys.argv[1]))"
        )
        files = []
        for rank in range(2):
            done = subprocess.run(
                [sys.executable, "-c", script, str(self.folder / "r{rank}.json")],
                check=True,
                capture_output=True,
                text=True,
                env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2"},
            )
            files.append(done.stdout.strip())
        content = json.loads(pathlib.Path(files[1]).read_text())
        self.assertEqual((content["rank"], content["world_size"], sorted(content["keys"])), (1, 2, ["COMM", "STEP"]))
        self.assertEqual(
            content["drops"], {"ring": 0, "threads": 0, "depth": 0, "names": 0, "unmatched": 0, "statistics": 0}
        )
        merged = merge(files)
        self.assertEqual(merged["communication_share"]["of"], "STEP")
        self.assertGreater(merged["communication_share"]["min"], 0)


if __name__ == "__main__":
    unittest.main()
