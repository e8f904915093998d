"""Tests the names of the frames that `headroom record` samples."""

import os
import sys
import unittest

from recorder import record_python

from headroom import _stacks


def code_in(path):
    return compile("def f(): pass", path, "exec")


class Names(unittest.TestCase):
    def test_paths_keep_what_tells_a_library(self):
        self.assertEqual(
            _stacks.short_path("/opt/v/lib/python3.11/site-packages/torch/x.py"), "site-packages/torch/x.py"
        )
        self.assertEqual(_stacks.short_path("/usr/lib/python3/dist-packages/numpy/x.py"), "dist-packages/numpy/x.py")
        version = f"python3.{sys.version_info.minor}"
        self.assertEqual(_stacks.short_path(os.__file__), f"{version}/os.py")
        self.assertEqual(_stacks.short_path(os.path.abspath("train.py")), "train.py")
        self.assertEqual(_stacks.short_path("/home/somebody/job/train.py"), "job/train.py")

    def test_frames(self):
        name = _stacks.name_of(code_in("/home/somebody/job/a;b.py"), 12)
        self.assertEqual(name, "job/a,b.py(12): <module>")
        self.assertEqual(_stacks.name_of(code_in("<frozen importlib._bootstrap>"), 1), "import")
        self.assertEqual(_stacks.name_of(code_in("<string>"), 3), "<string>(3): <module>")
        self.assertIsNone(_stacks.name_of(_stacks.name_of.__code__, 1))


class Sampling(unittest.TestCase):
    def test_refusals(self):
        from headroom import _timer

        self.assertFalse(_timer.sample_stacks(25, _stacks.name_of, 0))  # Nothing is recorded here.
        for hz in (0, -1, 1e6, float("nan")):
            with self.assertRaises(ValueError):
                _timer.sample_stacks(hz, _stacks.name_of, 0)
        _timer.stop_stacks()

    def test_a_name_that_fails_stops_nothing(self):
        (process,), _ = record_python(
            """
            import operator, signal, time
            from headroom import _timer
            def name(code, line):
                if code.co_name == "secret":
                    raise RuntimeError("no name")
                return code.co_name
            def secret():
                end = time.time() + 0.3
                while time.time() < end:
                    pass
            signal.signal(signal.SIGRTMAX, operator.is_)  # It has no frame.
            for _ in range(2):
                assert _timer.sample_stacks(200, name, signal.SIGRTMAX)
                assert not _timer.sample_stacks(200, name, signal.SIGRTMAX)
                secret()
                _timer.stop_stacks()
            """
        )
        self.assertGreater(sum(samples for _, samples in process.stacks), 60)
        self.assertEqual({tuple(frames) for frames, _ in process.stacks}, {("<module>",)})

    def test_running_and_waiting_code_have_their_shares(self):
        """Fails where a request does not reach a thread that executes bytecodes: they count for the next wait."""
        (process,), result = record_python(
            """
            import time
            from headroom import _stacks, _timer
            def spin():
                end = time.perf_counter() + 0.004
                while time.perf_counter() < end:
                    pass
            _timer.sample_stacks(200, lambda code, line: code.co_name, _stacks._free_signal())
            spent = {"spin": 0.0, "wait": 0.0}
            for _ in range(400):
                began = time.perf_counter()
                spin()
                spun = time.perf_counter()
                time.sleep(0.002)
                spent["spin"] += spun - began
                spent["wait"] += time.perf_counter() - spun
            _timer.stop_stacks()
            print(spent["spin"] / sum(spent.values()))
            """
        )
        share = float(result.stdout)
        samples = sum(count for _, count in process.stacks)
        spin = sum(count for frames, count in process.stacks if "spin" in frames)
        self.assertGreater(samples, 300)
        # Four standard errors, and 3 % for the lines between.
        self.assertAlmostEqual(spin / samples, share, delta=4 * (share * (1 - share) / samples) ** 0.5 + 0.03)

    def test_exec_and_reset_handlers_end_no_program(self):
        """A pending signal would end the program that exec starts, a signal without a handler this one."""
        processes, result = record_python(
            """
            import os, signal, sys, time
            from headroom import _stacks
            _stacks.start()
            if len(sys.argv) < 20:
                os.execv(sys.executable, [sys.executable, *sys.argv, "again"])
            for number in range(signal.SIGRTMIN, signal.SIGRTMAX + 1):
                signal.signal(number, signal.SIG_DFL)
            end = time.time() + 0.3
            while time.time() < end:
                pass
            print("done")
            """,
            HEADROOM_STACK_HZ="1000",
        )
        self.assertEqual(result.stdout, "done\n")

    def test_the_innermost_frames_of_a_deep_stack(self):
        (process,), _ = record_python(
            """
            import operator, signal, sys, time
            from headroom import _timer
            sys.setrecursionlimit(5000)
            def deep(n):
                if n > 0:
                    return deep(n - 1)
                end = time.time() + 0.2
                while time.time() < end:
                    pass
            signal.signal(signal.SIGRTMAX, operator.is_)  # It has no frame.
            _timer.sample_stacks(200, lambda code, line: f"{code.co_name} {line}", signal.SIGRTMAX)
            deep(1000)
            _timer.stop_stacks()
            """
        )
        deepest = max((frames for frames, _ in process.stacks), key=len)
        self.assertEqual(len(deepest), 256)
        self.assertTrue(deepest[0].startswith("deep"), deepest[0])

    def test_generated_code_may_be_freed(self):
        """The table keeps the code objects that it names, so that no other code gets their address."""
        (process,), _ = record_python(
            """
            import operator, signal, time
            from headroom import _timer
            signal.signal(signal.SIGRTMAX, operator.is_)  # It has no frame.
            _timer.sample_stacks(1000, lambda code, line: code.co_filename, signal.SIGRTMAX)
            end, n = time.time() + 1, 0
            while time.time() < end:
                n += 1
                scope = {"name": f"made {n}", "seen": []}
                exec(compile("for i in range(2000): seen.append(i)", f"made {n}", "exec"), scope)
                del scope
            _timer.stop_stacks()
            """
        )
        made = [frames[-1] for frames, _ in process.stacks if frames[-1].startswith("made")]
        numbers = [int(name.split()[1]) for name in made]
        self.assertGreater(len(set(numbers)), 20)
        self.assertEqual(numbers, sorted(numbers))


if __name__ == "__main__":
    unittest.main()
