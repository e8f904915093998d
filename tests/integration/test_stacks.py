"""Tests the sampled stacks of `headroom record`: real programs, with stopwatches of their own."""
import json
import textwrap

from integration import support

# Every step: an operator's Python code (named), own code without a region, and a little training.
LOOP = """
    import json, sys, time
    import torch

    def spin(seconds):
        "Pure Python: never gives up the interpreter's lock by itself."
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass

    def augment():
        spin(0.006)

    def log():
        time.sleep(0.003)

    def main(steps):
        torch.set_num_threads(1)
        model = torch.nn.Linear(64, 64)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        batch = torch.randn(8, 64)
        spent = {"augment": 0.0, "log": 0.0}
        for _ in range(steps):
            t0 = time.perf_counter()
            augment()
            t1 = time.perf_counter()
            log()
            spent["augment"] += t1 - t0
            spent["log"] += time.perf_counter() - t1
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
        json.dump(spent, open(sys.argv[2], "w"))

    main(int(sys.argv[1]))
    """


class Stacks(support.ProgramTest):
    def setUp(self):
        super().setUp()
        self.file = self.scratch / "r.pftrace"

    def python(self, module="torch"):
        """Returns Debian's Python with the framework. Skips the test if it is missing."""
        if not support.has_module("/usr/bin/python3", module):
            self.skipTest(f"/usr/bin/python3 has no {module}; tools/setup installs it")
        return "/usr/bin/python3"

    def program(self, name, text):
        return self.write(name, textwrap.dedent(text))

    def run_recorded(self, program, *args, flags=(), code=0):
        outcome = support.headroom(
            "record",
            "-q",
            *flags,
            "-o",
            self.file,
            "--",
            self.python(),
            program,
            *args,
            environment={"PYTHONPATH": str(support.BINARY.parent / "python")},
        )
        self.assertEqual(outcome.code, code, outcome)

    def record(self, program, *args, flags=()):
        self.run_recorded(program, *args, flags=flags)
        outcome = support.headroom("report", "--json", self.file)
        self.assertEqual(outcome.code, 0, outcome)
        return outcome.json()

    def test_time_without_regions_has_the_lines_that_a_stopwatch_says(self):
        loop = self.program("loop.py", LOOP)
        report = self.record(loop, "400", self.scratch / "spent.json", flags=("--stack-hz", "200"))
        spent = json.loads((self.scratch / "spent.json").read_text())
        in_steps = [row for row in report["stacks"] if row["part"] == "other"]
        samples = sum(row["samples"] for row in in_steps)
        self.assertGreater(samples, 300)
        for function, seconds in spent.items():
            found = sum(row["samples"] for row in in_steps if function in row["stack"])
            share = seconds / sum(spent.values())
            # Four standard errors of a share of that many samples, and 2 % for the loop's own lines.
            bound = 4 * (share * (1 - share) / samples) ** 0.5 + 0.02
            self.assertAlmostEqual(found / samples, share, delta=bound, msg=function)
        finding = next(row for row in report["findings"] if row["id"] == "costly-line")
        self.assertRegex(finding["title"], r"mostly in loop\.py\(\d+\): spin")

    def test_the_ledger_explains_the_run(self):
        loop = self.program("loop.py", LOOP)
        report = self.record(loop, "100", self.scratch / "spent.json")
        parts = {part["name"]: part for part in report["run"]["parts"]}
        self.assertAlmostEqual(sum(part["share_pct"] for part in parts.values()), 100, delta=1e-6)
        self.assertGreater(parts["imports"]["time_ms"], 200)  # Importing PyTorch.
        self.assertGreater(parts["start-up"]["time_ms"], 5)
        unnamed = sum(
            part["share_pct"] for part in parts.values() if part["name"].endswith(" steps") and not part["longest"]
        )
        self.assertLess(unnamed, 5)

    def test_a_wait_in_a_call_counts_for_its_line(self):
        """The main thread takes the sample after the call, for all the moments that it missed."""
        program = self.program(
            "wait.py",
            """
            import time, torch
            import headroom

            def wait():
                time.sleep(1)

            for _ in range(3):
                with headroom.step():
                    wait()
            """,
        )
        report = self.record(program)
        waits = sum(row["total_ms"] for row in report["stacks"] if row["stack"].endswith(": wait"))
        self.assertAlmostEqual(waits, 3000, delta=300)

    def test_forked_workers_have_stacks_too(self):
        program = self.program(
            "loader.py",
            """
            import time, torch

            class Images(torch.utils.data.Dataset):
                def __len__(self):
                    return 200
                def __getitem__(self, index):
                    return self.decode()
                def decode(self):
                    time.sleep(0.01)
                    return torch.zeros(4)

            if __name__ == "__main__":
                model = torch.nn.Linear(4, 4)
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                for batch in torch.utils.data.DataLoader(Images(), batch_size=4, num_workers=1):
                    model(batch).sum().backward()
                    optimizer.step()
            """,
        )
        report = self.record(program)
        workers = [row for row in report["stacks"] if row["part"] == "loader workers"]
        decode = sum(row["total_ms"] for row in workers if "decode" in row["stack"])
        self.assertAlmostEqual(decode, 2000, delta=400)

    def test_no_stacks_on_request(self):
        loop = self.program("loop.py", LOOP)
        report = self.record(loop, "20", self.scratch / "spent.json", flags=("--stack-hz", "0"))
        self.assertEqual(report["stacks"], [])

    def test_signals_threads_and_forks_of_the_program_are_its_own(self):
        """Signals reach the main thread, threading sees no further thread, forked children end, exit codes stay."""
        program = self.program(
            "own.py",
            """
            import os, signal, sys, threading, time, torch

            seen = []
            signal.signal(signal.SIGALRM, lambda *_: seen.append(threading.current_thread()))
            signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
            time.sleep(0.5)
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert len(seen) > 5 and set(seen) == {threading.main_thread()}, seen
            assert threading.enumerate() == [threading.main_thread()]
            for _ in range(5):
                child = os.fork()
                if child == 0:
                    time.sleep(0.05)
                    sys.exit(3)
                assert os.waitpid(child, 0)[1] == 3 << 8
            sys.exit(5)
            """,
        )
        self.run_recorded(program, code=5)

    def test_a_launcher_has_no_recording_of_its_own(self):
        """A process that imports PyTorch but trains nothing has stacks alone."""
        program = self.program(
            "launch.py",
            """
            import subprocess, sys, torch
            subprocess.run([sys.executable, *sys.argv[1:]], check=True)
            """,
        )
        loop = self.program("loop.py", LOOP)
        report = self.record(program, loop, "50", self.scratch / "spent.json")
        self.assertGreater(report["steps"]["count"], 40)
        self.assertEqual([path.name for path in self.scratch.glob("r.pftrace*")], ["r.pftrace"])

    def test_a_program_without_timers_has_its_lines(self):
        """scikit-learn's fit() is one call of the program."""
        program = self.program(
            "fit.py",
            """
            import numpy
            from sklearn.ensemble import RandomForestClassifier

            def train(x, y):
                for _ in range(4):
                    RandomForestClassifier(n_estimators=60).fit(x, y)

            x = numpy.random.rand(2000, 20)
            train(x, x[:, 0] > 0.5)
            """,
        )
        report = self.record(program)
        train = sum(row["share_pct"] for row in report["stacks"] if "train" in row["stack"])
        self.assertGreater(train, 30)
        outcome = support.headroom("report", self.file, "--only", "stacks")
        self.assertIn("fit.py(7): train", outcome.text)
