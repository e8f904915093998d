"""Tests regions: counting, in blocks, functions, coroutines, generators, threads and child processes; in all installed
Pythons.
"""
import asyncio
import glob
import inspect
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

import headroom
from recorder import record, record_python

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
_names = iter(range(10**6))


def fresh(what="key"):
    """Returns an unused key."""
    return f"{what} {next(_names)}"


def count(key):
    return headroom.stats(key).count


class Blocks(unittest.TestCase):
    def test_a_region_is_timed_and_the_scope_can_be_used_again(self):
        key = fresh()
        scope = headroom.scope(key)
        for _ in range(3):
            with scope as entered:
                self.assertIs(entered, scope)
                time.sleep(0.002)
        stats = headroom.stats(key)
        self.assertEqual(stats.count, 3)
        self.assertGreaterEqual(stats.min_s, 0.002)
        self.assertLessEqual(stats.min_s, stats.mean_s)
        self.assertLessEqual(stats.p50_s, stats.max_s)
        self.assertAlmostEqual(stats.total_s, 3 * stats.mean_s)

    def test_an_exception_inside_closes_the_region(self):
        """MAELSTROM and NVTX for Python leave it open."""
        key, dropped = fresh(), headroom.drops()
        with self.assertRaisesRegex(KeyError, "mine"):
            with headroom.scope(key):
                raise KeyError("mine")
        self.assertEqual(count(key), 1)
        with headroom.scope(key):
            pass
        self.assertEqual((count(key), headroom.drops()), (2, dropped))

    def test_regions_of_one_key_nest_and_time_is_counted_once(self):
        """Lightning's shares add up to more than 100 %."""
        key = fresh()
        scope = headroom.scope(key)

        def recurse(depth):
            with scope:
                time.sleep(0.002)
                if depth:
                    recurse(depth - 1)

        begun = time.perf_counter()
        recurse(3)
        wall = time.perf_counter() - begun
        stats = headroom.stats(key)
        self.assertEqual(stats.count, 4)
        self.assertLessEqual(stats.total_s, wall * 1.001)
        self.assertAlmostEqual(stats.self_s, stats.total_s, delta=wall * 0.05)

    def test_two_levels_of_one_scope_in_one_frame(self):
        key = fresh()
        scope = headroom.scope(key)
        with scope, scope:
            pass
        self.assertEqual(count(key), 2)
        self.assertFalse(scope.is_open())

    def test_regions_overlap_by_token(self):
        first, second = fresh(), fresh()
        a = headroom.begin(first)
        b = headroom.begin(second)
        headroom.end(a)
        time.sleep(0.005)
        headroom.end(b)
        self.assertEqual((count(first), count(second)), (1, 1))
        self.assertGreater(headroom.stats(second).max_s, headroom.stats(first).max_s)

    def test_ends_of_nothing_are_counted_and_do_no_harm(self):
        before = headroom.drops().unmatched
        token = headroom.begin(fresh())
        headroom.end(token)
        headroom.end(token)
        headroom.end(2**64 - 1)
        headroom.scope(fresh()).__exit__(None, None, None)
        headroom.end(0)
        self.assertEqual(headroom.drops().unmatched, before + 3)

    def test_more_open_regions_than_there_is_room_for(self):
        key, before = fresh(), headroom.drops()
        scope = headroom.scope(key)

        def recurse(depth):
            with scope:
                if depth:
                    recurse(depth - 1)

        recurse(299)
        after = headroom.drops()
        self.assertEqual(count(key), 256)
        self.assertEqual((after.depth - before.depth, after.unmatched - before.unmatched), (44, 0))
        with scope:
            pass
        self.assertEqual((count(key), headroom.drops()), (257, after))

    def test_exit_stack_leaves_from_another_frame(self):
        import contextlib

        outer, inner, before = fresh(), fresh(), headroom.drops()
        with contextlib.ExitStack() as stack:
            stack.enter_context(headroom.scope(outer))
            stack.enter_context(headroom.scope(inner))
        self.assertEqual((count(outer), count(inner), headroom.drops()), (1, 1, before))

    def test_keys(self):
        for good in ("x", "Größe", "層", "", "a" * 100000, "\udcff"):
            with headroom.scope(good):
                pass
        self.assertIn("Größe", headroom.keys())
        self.assertIn("\\udcff", headroom.keys())
        for bad, error in (
            (3, TypeError),
            (None, TypeError),
            (b"x", TypeError),
            ("a\0b", ValueError),
            ("ALL", ValueError),
        ):
            for function in (headroom.scope, headroom.begin):
                with self.subTest(bad=bad, function=function), self.assertRaises(error):
                    function(bad)  # type: ignore[arg-type]

    def test_statistics_of_what_never_began_are_zero_and_all_is_all(self):
        self.assertEqual(headroom.stats(fresh()), (0,) * 10)
        before = headroom.stats().count
        with headroom.scope(fresh()), headroom.scope(fresh()):
            pass
        self.assertEqual(headroom.stats("ALL").count, before + 2)
        self.assertEqual(headroom.stats().count, before + 2)

    def test_steps_number_themselves_unless_told(self):
        before = count("STEP")
        with headroom.step(7):
            pass
        step = headroom.step()
        for _ in range(2):
            with step:
                pass
        self.assertEqual(count("STEP"), before + 3)
        for bad in (-1, 1.5, "x", 2**63):
            with self.assertRaises((TypeError, ValueError, OverflowError)):
                headroom.step(bad)  # type: ignore[arg-type]

    def test_disable_and_enable(self):
        key = fresh()
        scope = headroom.scope(key)  # Only the name is known until data is collected.
        headroom.enable(False)
        try:
            self.assertFalse(headroom.enabled())
            with scope, headroom.scope(key):
                pass
            self.assertEqual(headroom.begin(key), 0)
        finally:
            headroom.enable()
        self.assertEqual(count(key), 0)
        with scope:
            pass
        self.assertEqual(count(key), 1)

    def test_the_environment_switches_it_off_for_good(self):
        script = """
            import headroom
            with headroom.scope("x"), headroom.step(1):
                headroom.mark("m"), headroom.counter("c", 1.0), headroom.gradient("g", 4)
            headroom.enable()
            with headroom.scope("x"):
                pass
            assert headroom.stats("x").count == 0 and not headroom.enabled() and headroom.keys() == []
        """
        processes, _ = record_python(script, HEADROOM="0")
        self.assertEqual(processes, [])


class Functions(unittest.TestCase):
    def test_a_function_keeps_its_result_name_and_signature(self):
        """Composer's profiling decorator loses what the function returns."""
        key = fresh()

        @headroom.scope(key)
        def add(a, b=2):
            "Adds."
            return a + b

        self.assertEqual((add(1), add(1, b=5)), (3, 6))
        self.assertEqual((add.__name__, add.__doc__, str(inspect.signature(add))), ("add", "Adds.", "(a, b=2)"))
        self.assertEqual(count(key), 2)

    def test_a_method_and_an_exception(self):
        key = fresh()

        class Model:
            @headroom.scope(key)
            def fail(self):
                raise ValueError(self)

        with self.assertRaises(ValueError):
            Model().fail()
        self.assertEqual(count(key), 1)

    def test_steps_as_functions(self):
        before = count("STEP")

        @headroom.step()
        def train_step():
            return 5

        self.assertEqual([train_step(), train_step()], [5, 5])
        self.assertEqual(count("STEP"), before + 2)

    def test_what_is_no_function_is_refused(self):
        with self.assertRaisesRegex(TypeError, "with headroom.scope"):
            headroom.scope(fresh())(3)  # type: ignore[type-var]

    def test_a_coroutine_function(self):
        key = fresh()

        @headroom.scope(key)
        async def fetch(value):
            await asyncio.sleep(0.01)
            if value is None:
                raise LookupError
            return value

        self.assertTrue(inspect.iscoroutinefunction(fetch))

        async def both():
            return await asyncio.gather(fetch(1), fetch(2), fetch(None), return_exceptions=True)

        results = asyncio.run(both())
        self.assertEqual(results[:2], [1, 2])
        self.assertIsInstance(results[2], LookupError)
        self.assertEqual(count(key), 3)
        self.assertGreaterEqual(headroom.stats(key).min_s, 0.0099)

    def test_a_generator_is_timed_while_it_runs_only(self):
        key = fresh()

        @headroom.scope(key)
        def count_to(n):
            got = []
            for i in range(n):
                got.append((yield i))
            return got

        self.assertTrue(inspect.isgeneratorfunction(count_to))
        for _ in count_to(3):
            time.sleep(0.003)  # The consumer's time.
        self.assertEqual(count(key), 4)  # Three values, and the end.
        self.assertLess(headroom.stats(key).max_s, 0.003)

        def outer():
            return (yield from count_to(2))

        generator = outer()
        next(generator)
        generator.send("a")
        with self.assertRaises(StopIteration) as stop:
            generator.send("b")
        self.assertEqual(stop.exception.value, ["a", "b"])

    def test_a_generator_gets_what_is_thrown_and_is_closed(self):
        key, closed = fresh(), []

        @headroom.scope(key)
        def careful():
            try:
                while True:
                    try:
                        yield "value"
                    except KeyError:
                        yield "caught"
            finally:
                closed.append(headroom.scope(key).is_open())

        generator = careful()
        self.assertEqual(
            [next(generator), generator.throw(KeyError("x")), next(generator)], ["value", "caught", "value"]
        )
        generator.close()
        self.assertEqual(closed, [True])
        generator = careful()
        next(generator)
        with self.assertRaises(ZeroDivisionError):
            generator.throw(ZeroDivisionError())
        self.assertFalse(headroom.scope(key).is_open())

    def test_an_asynchronous_generator(self):
        key, closed = fresh(), []

        @headroom.scope(key)
        async def ticks(n):
            try:
                for i in range(n):
                    await asyncio.sleep(0)
                    yield i
            finally:
                closed.append(n)

        async def consume():
            all_of_them = [i async for i in ticks(3)]
            some = ticks(9)
            await some.__anext__()
            await some.aclose()
            return all_of_them

        self.assertTrue(inspect.isasyncgenfunction(ticks))
        self.assertEqual((asyncio.run(consume()), closed), ([0, 1, 2], [3, 9]))
        self.assertFalse(headroom.scope(key).is_open())
        self.assertEqual(count(key), 4 + 2)


class Concurrency(unittest.TestCase):
    def test_coroutines_that_take_turns_end_their_own_region(self):
        """Opens one scope in two coroutines of one thread. The coroutine that begins first does not end last."""
        key, before = fresh(), headroom.drops()
        scope = headroom.scope(key)

        async def hold(before_s, inside_s):
            await asyncio.sleep(before_s)
            with scope:
                await asyncio.sleep(inside_s)

        async def both():
            await asyncio.gather(hold(0, 0.06), hold(0.02, 0.2))

        asyncio.run(both())
        stats = headroom.stats(key)
        self.assertEqual((stats.count, headroom.drops()), (2, before))
        self.assertLess(stats.min_s, 0.12)  # With swapped ends the times would be 0.02 s or 0.22 s.
        self.assertGreater(stats.min_s, 0.055)
        self.assertGreater(stats.max_s, 0.195)
        self.assertLess(stats.max_s, 0.22 + 0.1)

    def test_threads_share_a_scope(self):
        key, before = fresh(), headroom.drops()
        scope = headroom.scope(key)

        def work():
            for _ in range(1000):
                with scope:
                    with scope:
                        pass

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((count(key), headroom.drops()), (16000, before))

    def test_a_child_process_starts_from_nothing_and_leaves_no_region_of_its_parents(self):
        key = fresh()
        with headroom.scope(key):
            pass
        with headroom.scope(key):
            pipe, child = multiprocessing.get_context("fork").Pipe(False)
            pid = os.fork()
            if pid == 0:
                try:
                    report = []
                    with headroom.scope(fresh()):
                        pass
                    report = [count(key), headroom.stats().count]
                finally:
                    child.send(report)
                    os._exit(0)
            self.assertEqual(pipe.recv(), [0, 1])
            os.waitpid(pid, 0)
        self.assertEqual(count(key), 2)

    def test_a_fork_inside_a_region_ends_it_in_the_parent_only(self):
        processes, _ = record_python(
            """
            import os, headroom
            with headroom.scope("both"):
                pid = os.fork()
                with headroom.scope("inside"):
                    pass
            if pid:
                os.waitpid(pid, 0)
            assert headroom.drops().unmatched == 0
            os._exit(0)
        """
        )
        self.assertEqual(sorted(process.tree() for process in processes), ["both(inside)", "inside"])

    def test_workers_of_multiprocessing_are_recorded_each(self):
        processes, _ = record_python(
            """
            import multiprocessing, sys, headroom

            @headroom.scope("work")
            def work(i):
                return i

            if __name__ == "__main__":
                for method in ("fork", "spawn"):
                    with multiprocessing.get_context(method).Pool(2) as pool:
                        assert pool.map(work, range(8), chunksize=1) == list(range(8))
                        pool.close()
                        pool.join()
        """
        )
        self.assertEqual(sum(len(process.regions("work")) for process in processes), 16)
        self.assertEqual(len({process.pid for process in processes}), len(processes))


class Recorded(unittest.TestCase):
    SCRIPT = """
        import headroom
        with headroom.step(3):
            first = headroom.begin("FORWARD")
            second = headroom.begin("IO")
            headroom.end(first)
            headroom.mark("here")
            headroom.end(second)
            headroom.counter("loss", 0.25)
            headroom.gradient("layer.weight", 4096)
            with headroom.scope("Größe"):
                pass
    """
    PROGRAM = """
        #include <headroom/timer.h>
        int main(void) {
          const headroom_token step = headroom_begin_step(3);
          const headroom_token first = headroom_begin("FORWARD");
          const headroom_token second = headroom_begin("IO");
          headroom_end(first);
          headroom_mark("here");
          headroom_end(second);
          headroom_counter("loss", 0.25);
          headroom_gradient("layer.weight", 4096);
          headroom_end(headroom_begin("Größe"));
          headroom_end(step);
          return 0;
        }
    """

    def test_c_and_python_write_the_same(self):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            self.skipTest("no C compiler")
        with tempfile.TemporaryDirectory(prefix="headroom-test-") as folder:
            source, program = pathlib.Path(folder) / "p.c", pathlib.Path(folder) / "p"
            source.write_text(textwrap.dedent(self.PROGRAM))
            subprocess.run([compiler, "-O1", f"-I{ROOT}/include", source, "-o", program, "-pthread", "-lm"], check=True)
            (of_c,), _ = record(program)
        (of_python,), _ = record_python(self.SCRIPT)
        told = [
            [(event.kind, event.name, event.serial, event.value) for event in process.events()]
            for process in (of_c, of_python)
        ]
        self.assertEqual(*told)
        self.assertEqual(
            told[0],
            [
                ("step", "STEP", 1, 3),
                ("begin", "FORWARD", 2, None),
                ("begin", "IO", 3, None),
                ("end", "FORWARD", 2, None),
                ("mark", "here", 0, None),
                ("end", "IO", 3, None),
                ("counter", "loss", 0, 0.25),
                ("gradient", "layer.weight", 0, 4096),
                ("begin", "Größe", 4, None),
                ("end", "Größe", 4, None),
                ("end", "STEP", 1, None),
            ],
        )

    def test_a_program_that_is_killed_leaves_what_it_wrote(self):
        (process,), done = record_python(
            """
            import os, signal, headroom
            with headroom.scope("done"):
                pass
            with headroom.scope("open"):
                os.kill(os.getpid(), signal.SIGKILL)
        """,
            check=False,
        )
        self.assertEqual(done.returncode, -9)
        self.assertEqual([(r.name, r.end is not None) for r in process.regions()], [("done", True), ("open", False)])

    def test_a_recorder_that_is_not_there_changes_nothing(self):
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "import headroom\nwith headroom.scope('x'): pass\n"
                "assert headroom.stats('x').count == 1 and not headroom.recorded()",
            ],
            env={**os.environ, "HEADROOM_SOCKET": "/nonexistent/socket"},
            capture_output=True,
            text=True,
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


class EveryPython(unittest.TestCase):
    SCRIPT = """
        import asyncio, sys, threading
        sys.path.insert(0, sys.argv[1])
        import headroom, headroom.timer, headroom.callbacks
        scope = headroom.scope("x")
        for _ in range(20000):
            with scope:
                pass
        def generate():
            yield 1
        async def wait():
            return 2
        assert list(scope(generate)()) == [1] and asyncio.run(scope(wait)()) == 2 and scope(lambda: 3)() == 3
        thread = threading.Thread(target=scope(lambda: None))
        thread.start(), thread.join()
        stats, drops = headroom.stats("x"), headroom.drops()
        assert stats.count == 20005 and sum(drops) == 0, (stats, drops)
        timer = headroom.Timer()
        timer.start("K"), timer.end("K")
        assert len(timer.get_time("K")) == 1 and headroom.__version__
        try:
            headroom.Graph
        except ImportError as error:
            assert "engine" in str(error) or "numpy" in str(error), error
    """

    def test_the_timer_loads_where_the_engine_does_not(self):
        pythons = {
            os.path.realpath(path)
            for pattern in (
                "/usr/bin/python3.*",
                os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"),
                "/opt/python*/bin/python3",
            )
            for path in glob.glob(pattern)
            if "-" not in os.path.basename(path)
        } | {os.path.realpath(sys.executable)}
        package = str(pathlib.Path(headroom.__file__).parent.parent)
        tried = 0
        for python in sorted(pythons):
            version = subprocess.run(
                [python, "-c", "import sys; print(sys.version_info[:2] >= (3, 9))"], capture_output=True, text=True
            )
            if version.stdout.strip() != "True":
                continue
            with self.subTest(python=python):
                done = subprocess.run(
                    [python, "-B", "-c", textwrap.dedent(self.SCRIPT), package],
                    capture_output=True,
                    text=True,
                    env={key: value for key, value in os.environ.items() if not key.startswith("PYTHON")},
                )
                self.assertEqual((done.returncode, done.stderr), (0, ""))
            tried += 1
        self.assertGreater(tried, 0)

    def test_measuring_loads_neither_numpy_nor_the_engine(self):
        code = (
            "import sys, headroom, headroom.timer, headroom.callbacks; headroom.scope; "
            "assert not {'numpy', 'torch', 'headroom._engine'} & set(sys.modules)"
        )
        self.assertEqual(subprocess.run([sys.executable, "-c", code]).returncode, 0)


if __name__ == "__main__":
    unittest.main()
