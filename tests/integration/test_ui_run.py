"""Tests `headroom ui --run` from the page's side: a program is recorded, changed and recorded again."""
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.parse

from integration import support
from integration.page_server import LOCAL

PYTHON = "/usr/bin/python3"  # Debian's Python, which has PyTorch.
REGIONS = support.BINARY.parent / "tests/recording/regions"
PATIENCE_S = 120

# Reads the sleep time per step from a file. A change of that file acts as a change of the program. Sets its own timers,
# because PyTorch takes longer to import than most tests. Writes whole lines, because two programs may share a pipe.
LOOP = """
import pathlib, sys, time
import headroom

pause = float(pathlib.Path("pause").read_text())
print("begins\\n", end="", flush=True)
for step in range(int(sys.argv[1])):
    with headroom.step(step):
        time.sleep(pause)
print("ends")
sys.exit(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
"""
PYTORCH_LOOP = """
import pathlib, sys, time
import torch

pause = float(pathlib.Path("pause").read_text())
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(int(sys.argv[1])):
    optimizer.zero_grad()
    loss = model(torch.rand(4, 8)).sum()
    time.sleep(pause)
    loss.backward()
    optimizer.step()
print("ends")
"""

# Works for another 3.5 s after the signal to end.
SAVING = """
import signal, time
import headroom

until, signals, step = time.monotonic() + 60, 0, 0

def end(*_):
    global until, signals
    until, signals = time.monotonic() + 3.5, signals + 1

signal.signal(signal.SIGTERM, end)
print("begins\\n", end="", flush=True)
while time.monotonic() < until:
    with headroom.step(step):
        time.sleep(0.02)
    step += 1
print("saved after", signals, "signal")
"""


class Page:
    """Sends the page's requests to `headroom ui ARGS`, with its cookie and its origin."""

    def __init__(self, folder, *args, quiet=True):
        self.process = subprocess.Popen(
            [support.BINARY, "ui", *args, LOCAL, *(["-q"] if quiet else [])],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        link = urllib.parse.urlsplit(self.process.stdout.readline().strip())
        if not link.netloc:
            raise AssertionError(f"no link: {self.process.communicate()[1]}")
        self.host, self.port = link.netloc, link.port
        self.own = {
            "Cookie": f"headroom-{link.port}={urllib.parse.parse_qs(link.query)['token'][0]}",
            "Origin": f"http://{link.netloc}",
        }

    def ask(self, method, path, headers=None):
        """Returns status and text. The request states no length, as `fetch` may do."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, f"/api/v1/{path}")
        for name, value in (self.own if headers is None else headers).items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        status, text = answer.status, answer.read().decode()
        connection.close()
        return status, text

    def get(self, path):
        status, text = self.ask("GET", path)
        assert status == 200, text
        return json.loads(text)

    def paths(self):
        return [(row["path"], row["earlier"]) for row in self.get("traces")["traces"]]

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.communicate(timeout=30)
        self.process.stdout.close()
        self.process.stderr.close()
        return self.process.returncode


class RunTest(support.ProgramTest):
    """Presses the page's button, and waits for the result."""

    def start(self, *args, **kwargs):
        page = Page(self.scratch, *args, **kwargs)
        self.addCleanup(page.end)
        return page

    def press(self, page):
        status, text = page.ask("POST", "run")
        self.assertEqual(status, 202, text)  # A server that waits for a body answers with an error.

    def await_run(self, page, holds):
        until = time.monotonic() + PATIENCE_S
        while True:
            run = page.get("run")
            self.assertEqual(support.answer_violations(run), [])
            if holds(run):
                return run
            self.assertLess(time.monotonic(), until, run)
            time.sleep(0.05)

    def run_again(self, page):
        ended = page.get("run")["ended"]
        self.press(page)
        return self.await_run(page, lambda run: run["ended"] == ended + 1)

    def await_line(self, page, line="begins"):
        return self.await_run(page, lambda run: line in run["lines"])

    def recordings(self):
        return sorted(path.name for path in self.scratch.glob("headroom-ui*"))

    def assert_gone(self, marker):
        """Requires that no process with the marker in its command line remains."""

        def left():
            found = []
            for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    if marker in path.read_bytes().decode(errors="replace"):
                        found.append(path.parent.name)
                except OSError:
                    pass
            return found

        until = time.monotonic() + PATIENCE_S
        while left() and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual(left(), [])


class UiRun(RunTest):
    def setUp(self):
        super().setUp()
        self.write("train.py", LOOP)
        self.pause(0.02)

    def pause(self, seconds):
        self.write("pause", str(seconds))

    def record(self, name):
        outcome = support.headroom("record", "-o", name, "--", PYTHON, "train.py", "10", cwd=self.scratch)
        self.assertEqual(outcome.code, 0, outcome)

    # --- runs ---------------------------------------------------------------------------------------------------

    def test_first_and_again_with_a_faster_program(self):
        if not support.has_module(PYTHON, "torch"):
            self.skipTest(f"{PYTHON} has no torch; tools/setup installs it")
        self.write("train.py", PYTORCH_LOOP)
        page = self.start("--run", f"{PYTHON} train.py 20")
        first = page.get("run")
        self.assertEqual(
            (first["phase"], first["ended"], first["exit_code"], first["problem"], first["stopped"]),
            ("idle", 1, 0, None, False),
        )
        self.assertEqual(first["path"], "headroom-ui-1.pftrace")
        self.assertIn("ends", first["lines"])
        self.assertEqual(page.paths(), [("headroom-ui-1.pftrace", False)])
        self.assertEqual(
            page.get("state"), {"schema": "headroom.state/1", "generation": 0, "problem": None, "can_run": True}
        )
        slow = page.get("report")
        self.assertGreater(slow["steps"]["p50_ms"], 20)

        self.pause(0.001)
        again = self.run_again(page)
        self.assertEqual((again["path"], again["problem"]), ("headroom-ui-2.pftrace", None))
        self.assertEqual(page.get("state")["generation"], 1)
        self.assertEqual(page.paths(), [("headroom-ui-2.pftrace", False), ("headroom-ui-1.pftrace", True)])
        fast = page.get("report")
        self.assertLess(fast["steps"]["p50_ms"], slow["steps"]["p50_ms"] / 2)
        self.assertEqual(page.get("report?trace=2")["steps"], slow["steps"])

        self.run_again(page)
        self.assertEqual(page.paths(), [("headroom-ui-3.pftrace", False), ("headroom-ui-2.pftrace", True)])
        self.assertEqual(page.end(), 0)
        self.assertEqual(self.recordings(), [f"headroom-ui-{n}.pftrace" for n in (1, 2, 3)])  # The user's files.

    def test_a_trace_to_begin_with_stays_to_be_compared_with(self):
        self.record("old.pftrace")
        page = self.start("old.pftrace", "--run", f"{PYTHON} train.py 10")
        self.assertEqual(page.get("run")["ended"], 0)
        self.assertEqual(self.recordings(), [])
        self.run_again(page)
        self.assertEqual(page.paths(), [("headroom-ui-1.pftrace", False), ("old.pftrace", True)])
        self.run_again(page)
        self.assertEqual(
            page.paths(), [("headroom-ui-2.pftrace", False), ("headroom-ui-1.pftrace", True), ("old.pftrace", True)]
        )
        # A removed older run must not prevent a new one.
        (self.scratch / "headroom-ui-2.pftrace").unlink()
        self.assertIsNone(self.run_again(page)["problem"])
        self.assertEqual([path for path, _ in page.paths()][-1], "old.pftrace")

    def test_nothing_is_overwritten(self):
        self.write("headroom-ui-7.pftrace", "mine")
        self.write("headroom-ui-8.pftrace.123", "mine, too")
        page = self.start("--run", f"{PYTHON} train.py 5")
        self.assertEqual(page.get("run")["path"], "headroom-ui-9.pftrace")
        self.assertEqual((self.scratch / "headroom-ui-7.pftrace").read_text(), "mine")

    def test_a_command_line_of_a_shell(self):
        page = self.start("--run", f"cd . && STEPS=5; {PYTHON} train.py $STEPS | cat")
        self.assertEqual(page.get("report")["steps"]["count"], 5)

    # --- what goes wrong ----------------------------------------------------------------------------------------

    def test_a_program_that_fails_keeps_what_was(self):
        page = self.start("--run", f"{PYTHON} train.py 5")
        before = page.get("report")
        self.write("train.py", "import torch\nraise ValueError('<b>no \\x1b[31mdata</b>')")
        run = self.run_again(page)
        self.assertEqual((run["exit_code"], run["path"]), (1, None))
        self.assertIn("the recording is empty", run["problem"])
        self.assertIn("ValueError: <b>no data</b>", run["lines"])
        self.assertEqual(page.get("state")["generation"], 0)
        self.assertEqual(page.get("report"), before)
        self.assertEqual(self.recordings(), ["headroom-ui-1.pftrace"])
        self.write("train.py", LOOP)
        self.assertIsNone(self.run_again(page)["problem"])

    def test_a_program_that_fails_late_is_shown(self):
        page = self.start("--run", f"{PYTHON} train.py 5 3")
        run = page.get("run")
        self.assertEqual((run["exit_code"], run["problem"]), (3, None))
        self.assertEqual(page.get("report")["steps"]["count"], 5)

    def test_a_first_run_that_fails(self):
        for command, fragment in {
            "exit 7": "exit code 7",
            "no-such-program": "no-such-program",
            "true": "the recording is empty",
        }.items():
            with self.subTest(command):
                outcome = support.headroom("ui", "--run", command, LOCAL, "-q", cwd=self.scratch)
                self.assert_refused(outcome, 3, fragment)
                self.assertEqual(self.recordings(), [])

    def test_usage(self):
        for args in (("--run", ""), ("--run", " "), (), ("--run",)):
            with self.subTest(args):
                self.assert_refused(support.headroom("ui", *args, cwd=self.scratch), 2)

    def test_what_is_refused_is_refused_before_the_run(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            for code, fragment, args in (
                (2, "port", ["--port", str(taken.getsockname()[1])]),
                (2, "--steps", ["--steps", "x:y"]),
                (2, "no such file", ["--calibration", "missing.toml"]),
            ):
                with self.subTest(args):
                    outcome = support.headroom("ui", "--run", "touch started", *args, LOCAL, cwd=self.scratch)
                    self.assert_refused(outcome, code, fragment)
                    self.assertFalse((self.scratch / "started").exists())

    @support.unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_where_nothing_can_be_written(self):
        folder = self.scratch / "locked"
        folder.mkdir(mode=0o500)
        self.assert_refused(support.headroom("ui", "--run", "true", cwd=folder), 4, "working directory")

    # --- while it runs ------------------------------------------------------------------------------------------

    def test_stop_shows_what_there_is(self):
        self.record("old.pftrace")
        page = self.start("old.pftrace", "--run", f"{PYTHON} train.py 100000")
        self.assertEqual(page.ask("POST", "run/stop")[0], 409)
        self.press(page)
        running = self.await_line(page)
        self.assertEqual(running["phase"], "running")
        self.assertEqual(running["path"], "headroom-ui-1.pftrace")
        time.sleep(0.5)
        self.assertGreater(page.get("run")["time_s"], running["time_s"])
        status, text = page.ask("POST", "run")
        self.assertEqual(status, 409, text)
        self.assertEqual(page.ask("POST", "run/stop")[0], 202)
        run = self.await_run(page, lambda run: run["phase"] == "idle")
        self.assertTrue(run["stopped"])
        self.assertEqual((run["exit_code"], run["problem"]), (143, None))
        self.assertGreater(page.get("report")["steps"]["count"], 3)
        self.assertEqual(page.paths()[0], ("headroom-ui-1.pftrace", False))
        self.assert_gone("train.py\x00100000")

    def test_what_is_stopped_has_the_time_to_save_also_behind_a_shell(self):
        self.record("old.pftrace")
        self.write("train.py", SAVING)
        commands = ("{} train.py", "cd . && {} train.py", "exec {} train.py")
        pages = {command: self.start("old.pftrace", "--run", command.format(PYTHON)) for command in commands}
        for page in pages.values():
            self.press(page)
            self.await_line(page)
            self.assertEqual(page.ask("POST", "run/stop")[0], 202)
        for command, page in pages.items():
            with self.subTest(command):
                run = self.await_run(page, lambda run: run["phase"] == "idle")
                self.assertIsNone(run["problem"])
                self.assertIn("saved after 1 signal", run["lines"])
                self.assertGreater(page.get("report")["steps"]["count"], 50)  # Includes the steps after the signal.

    def test_the_end_of_the_server_is_the_programs(self):
        self.record("old.pftrace")
        commands = {
            "alone": f"{PYTHON} train.py 100001",
            "beside another": f"{PYTHON} train.py 100001 & {PYTHON} train.py 100001; wait",
        }
        for name, command in commands.items():
            with self.subTest(name):
                page = self.start("old.pftrace", "--run", command)
                self.press(page)
                self.await_line(page)
                self.assertEqual(page.end(), 0)
                self.assert_gone("train.py\x00100001")
                self.assertEqual(self.recordings(), [])

    def test_the_end_comes_before_the_first_recording(self):
        process = subprocess.Popen(
            [support.BINARY, "ui", "--run", f"{PYTHON} train.py 100002", LOCAL],
            cwd=self.scratch,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in process.stderr:
            if line.strip() == "begins":
                break
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out), (0, ""))
        self.assert_gone("train.py\x00100002")
        self.assertEqual(self.recordings(), [])

    # --- permission to start it --------------------------------------------------------------------------------------

    def test_only_the_page_starts_it(self):
        self.record("old.pftrace")
        page = self.start("old.pftrace", "--run", f"touch started; {PYTHON} train.py 5")
        cookie = {"Cookie": page.own["Cookie"]}
        token = page.own["Cookie"].split("=")[1]
        for name, headers in {
            "no origin": cookie,
            "foreign": {**cookie, "Origin": "http://evil.example"},
            "another port": {**cookie, "Origin": "http://127.0.0.1:1"},
            "opaque": {**cookie, "Origin": "null"},
            "no cookie": {"Origin": page.own["Origin"]},
            "nothing": {},
        }.items():
            for path in ("run", "run/stop"):
                with self.subTest(name, path=path):
                    status, text = page.ask("POST", path, headers)
                    self.assertEqual(status, 403, text)
        self.assertEqual(page.ask("POST", f"run?token={token}", {})[0], 403)
        for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"):
            with self.subTest(method):
                self.assertIn(page.ask(method, "run", {**page.own, "Content-Length": "0"})[0], (200, 404))
        self.assertEqual(page.ask("GET", "run/stop")[0], 404)
        # The page never sends a body.
        self.assertNotEqual(page.ask("POST", "run", {**page.own, "Content-Length": "1000000"})[0], 202)
        self.assertEqual(page.get("run")["ended"], 0)
        self.assertFalse((self.scratch / "started").exists())
        self.run_again(page)
        self.assertTrue((self.scratch / "started").exists())

    def test_without_the_flag_there_is_nothing_to_start(self):
        self.record("old.pftrace")
        page = self.start("old.pftrace")
        self.assertIs(page.get("state")["can_run"], False)
        self.assertEqual(page.ask("GET", "run")[0], 404)
        for path in ("run", "run/stop"):
            self.assertEqual(page.ask("POST", path, {**page.own, "Content-Length": "0"})[0], 404)


class WithTimers(RunTest):
    """Returns programs in C, which start at once."""

    def test_several_in_one_folder_leave_each_other_alone(self):
        processes = [
            subprocess.Popen(
                [support.BINARY, "ui", "--run", f"{REGIONS} 0.5 loop", LOCAL, "-q"],
                cwd=self.scratch,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(8)
        ]
        links = [process.stdout.readline() for process in processes]
        for process in processes:
            process.send_signal(signal.SIGINT)
        outcomes = [(*process.communicate(timeout=30), process.returncode) for process in processes]
        self.assertTrue(all(links), outcomes)
        self.assertEqual([code for _, _, code in outcomes], [0] * len(processes), outcomes)
        self.assertEqual(self.recordings(), [f"headroom-ui-{n}.pftrace" for n in range(1, len(processes) + 1)])
        for name in self.recordings():
            self.assertGreater(self.report(self.scratch / name)["steps"]["count"], 0)

    def test_a_mark_or_a_counter_alone_is_kept(self):
        for number, mode in enumerate(("mark", "counter"), 1):
            with self.subTest(mode):
                page = self.start("--run", f"{REGIONS} 0 {mode}")
                self.assertEqual(page.get("run")["path"], f"headroom-ui-{number}.pftrace")
                self.assertEqual(page.end(), 0)
                self.assertIn(f"headroom-ui-{number}.pftrace", self.recordings())

    def test_who_prints_faster_than_it_is_taken_can_be_ended(self):
        process = subprocess.Popen(
            [support.BINARY, "ui", "--run", "yes 100003", LOCAL],
            cwd=self.scratch,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        process.stderr.read(1)  # The remaining output is not read.
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        try:
            self.assertEqual(process.wait(timeout=30), 0)
        finally:
            process.kill()
        self.assert_gone("yes\x00100003")
        self.assertEqual(self.recordings(), [])
