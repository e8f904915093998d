"""Tests the shell of `headroom query` on a pseudo terminal, with typed input and its display."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from integration import support

SAMPLE = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"
ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n;"
PROMPT, MORE = "headroom> ", "     ...> "
UP, LEFT, CTRL_A, CTRL_C, CTRL_D, CTRL_E, BACKSPACE = "\x1b[A", "\x1b[D", "\x01", "\x03", "\x04", "\x05", "\x7f"
PATIENCE_S = 60


class Terminal:
    """A shell on a terminal of 200 columns."""

    def __init__(self, test, trace=SAMPLE, *options, state):
        self.test = test
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        self.before = termios.tcgetattr(self.ours)
        environment = {**os.environ, "XDG_STATE_HOME": str(state), "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        # Makes the terminal the session's controlling terminal. Otherwise Ctrl-C would have no effect.
        self.process = subprocess.Popen(
            [support.BINARY, "query", trace, *map(str, options)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        test.addCleanup(self.close)
        self.greeting = self.until(PROMPT)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.ours)

    def type(self, keys):
        os.write(self.ours, keys.encode())

    def until(self, end):
        """Returns the next output, up to this text at its end."""
        shown, ends = b"", time.monotonic() + PATIENCE_S
        while not shown.endswith(end.encode()):
            if not select.select([self.ours], [], [], max(0, ends - time.monotonic()))[0]:
                self.test.fail(f"waited for {end!r} at the end of {shown.decode(errors='replace')!r}")
            shown += self.read()
        while end in (PROMPT, MORE) and termios.tcgetattr(self.ours)[3] & termios.ICANON and time.monotonic() < ends:
            time.sleep(0.001)  # The editor has not taken control of the terminal yet.
        return shown.decode().removesuffix(end).replace("\r\n", "\n")

    def read(self):
        try:
            chunk = os.read(self.ours, 65536)
        except OSError:  # The other end is closed.
            chunk = b""
        if not chunk:
            self.test.fail(f"the shell has ended: {self.process.wait()}")
        return chunk

    def answer(self, line):
        """Returns the output of a whole statement or command, without its echo."""
        self.type(line + "\n")
        return self.until(PROMPT).partition("\n")[2]

    def leave(self, keys):
        """Returns its exit code."""
        self.type(keys)
        while True:
            try:
                if not os.read(self.ours, 65536):
                    break
            except OSError:
                break
        return self.process.wait(PATIENCE_S)


class Shell(support.ProgramTest):
    def terminal(self, *arguments):
        return Terminal(self, *arguments, state=self.scratch / "state")

    def history(self):
        return self.scratch / "state/headroom/query_history"

    def test_statements_and_commands(self):
        shell = self.terminal()
        self.assertIn(".help", shell.greeting)
        self.assertEqual(shell.answer("select 1 as a, 'x' as b;"), "a  b\n-  -\n1  x\n")
        self.assertEqual(shell.answer("select 1 as a; select 2 as b;").split(), ["a", "-", "1", "b", "-", "2"])
        for name in ("gpu_tasks", "step_times", "kernels"):
            self.assertRegex(shell.answer(".tables"), rf"(?m)^{name} ")
        self.assertIn("start_ns", shell.answer(".schema gpu_tasks"))
        self.assertIn("SELECT", shell.answer(".schema kernels"))
        everything = shell.answer(".schema")
        self.assertTrue("host_events" in everything and "gpu_gaps" in everything)
        for command in (".tables", ".schema", ".mode", ".quit", "Ctrl-C"):
            self.assertIn(command, shell.answer(".help"))
        self.assertEqual(shell.answer(".mode json"), "")
        self.assertEqual(json.loads(shell.answer("select 3 as x;"))["rows"], [[3]])
        self.assertEqual(shell.answer(".mode csv"), "")
        self.assertEqual(shell.answer("select 3 as x, 'a,b' as y;"), 'x,y\n3,"a,b"\n')
        self.assertEqual(shell.answer(".mode table;"), "")  # Entered like a statement.
        self.assertEqual(shell.answer("select 3 as x;"), "x\n-\n3\n")
        self.assertEqual(shell.answer(""), "")
        self.assertNotIn("SQL", shell.answer("-- a remark;\n;"))
        self.assertEqual(shell.leave(".quit\n"), 0)

    def test_what_is_wrong_is_told_and_the_shell_stays(self):
        shell = self.terminal()
        for line, said in (
            ("selct 1;", "line 1, column 1"),
            ("select dur from kernels;", "duration_ns"),
            ("delete from steps;", "read-only"),
            (".nosuch", ".help"),
            (".mode nosuch", "csv"),
            (".schema nosuch", ".tables"),
            ("select 'a\x16\x1b[2Jb' from nosuch;", "no such table"),
        ):
            with self.subTest(line):
                self.assertIn(said, shell.answer(line))
        self.assertEqual(shell.answer("select 1 as a;"), "a\n-\n1\n")
        self.assertEqual(shell.leave(CTRL_D), 0)

    def test_a_statement_of_several_lines(self):
        shell = self.terminal()
        shell.type("select name, count(*) as n\n")
        shell.until(MORE)
        shell.type("from gpu_tasks where kind = 'memcpy'\n")
        shell.until(MORE)
        self.assertIn("Memcpy HtoD", shell.answer("group by name;"))
        shell.type("select ';\n")  # The statement does not end yet.
        shell.until(MORE)
        self.assertEqual(shell.answer("' as a;"), "a\n---\n;\\n\n")

    def test_a_line_is_edited(self):
        shell = self.terminal()
        shell.type("elect 13 as x;" + CTRL_A + "s" + CTRL_E + LEFT * 6 + BACKSPACE + "2")
        shell.type("\n")
        self.assertTrue(shell.until(PROMPT).endswith("\n x\n--\n12\n"))

    def test_history_is_kept_for_its_owner_alone(self):
        self.assertFalse(self.history().exists())
        shell = self.terminal()
        shell.answer("select 41 as before;")
        shell.answer("select 42 as last;")
        self.assertEqual(shell.leave(CTRL_D), 0)
        self.assertEqual(self.history().stat().st_mode & 0o777, 0o600)
        again = self.terminal()
        again.type(UP + UP + "\n")
        self.assertTrue(again.until(PROMPT).endswith("before\n------\n    41\n"))
        again.type("select\n2 as of_two_lines;\n")
        self.assertIn("of_two_lines\n------------\n           2\n", again.until(PROMPT))
        again.type(UP + "\n")  # A statement is one history entry.
        self.assertTrue(again.until(PROMPT).endswith("of_two_lines\n------------\n           2\n"))

    def test_without_a_place_for_history(self):
        (self.scratch / "state").write_text("a file where the folder would be")
        shell = self.terminal()
        self.assertEqual(shell.answer("select 1 as a;"), "a\n-\n1\n")
        self.assertEqual(shell.leave(CTRL_D), 0)

    def test_ctrl_c_ends_a_statement_and_not_the_shell(self):
        shell = self.terminal()
        for _ in range(2):
            shell.type(ENDLESS + "\n")
            shell.until(ENDLESS + "\r\n")  # The statement is entered, and now runs.
            time.sleep(0.3)
            shell.type(CTRL_C)
            self.assertEqual(shell.until(PROMPT), "^C\ninterrupted\n")
        self.assertEqual(shell.answer("select 7 as after;"), "after\n-----\n    7\n")

    def test_ctrl_c_empties_the_line_and_what_is_above(self):
        shell = self.terminal()
        shell.type("select nosuch")
        shell.until("nosuch")
        shell.type(CTRL_C)
        self.assertEqual(shell.until(PROMPT), "^C\n")
        shell.type("select 5\n")
        shell.until(MORE)
        shell.type(CTRL_C)
        shell.until(PROMPT)
        self.assertEqual(shell.answer("select 6 as a;"), "a\n-\n6\n")
        self.assertFalse("nosuch" in self.history().read_text())

    def test_a_limit_ends_a_statement_and_not_the_shell(self):
        shell = self.terminal(SAMPLE, "--timeout-s", 1)
        self.assertIn("--timeout-s", shell.answer(ENDLESS))
        self.assertEqual(shell.answer("select 1 as a;"), "a\n-\n1\n")

    def test_the_terminal_is_as_before(self):
        shell = self.terminal()
        shell.answer("select 1;")
        self.assertEqual(shell.leave(CTRL_D), 0)
        self.assertEqual(termios.tcgetattr(shell.ours)[:4], shell.before[:4])

    def test_a_signal_ends_it(self):
        shell = self.terminal()
        shell.process.send_signal(signal.SIGTERM)
        self.assertEqual(shell.process.wait(PATIENCE_S), -signal.SIGTERM)

    def test_a_terminal_that_goes_ends_it(self):
        shell = self.terminal()
        os.close(shell.ours)
        shell.ours = os.open(os.devnull, os.O_RDONLY)
        self.assertIn(shell.process.wait(PATIENCE_S), (0, -signal.SIGHUP))

    def test_names_of_a_trace_do_not_reach_the_terminal_as_commands(self):
        kernel = {
            "ph": "X",
            "cat": "kernel",
            "name": "evil\x1b]0;title\x07\x1b[2J\u202e\nname",
            "pid": 0,
            "tid": 7,
            "ts": 1,
            "dur": 5,
            "args": {"device": 0, "stream": 7, "correlation": 1},
        }
        shell = self.terminal(self.write("hostile.json", json.dumps({"schemaVersion": 1, "traceEvents": [kernel]})))
        for mode in ("table", "json", "csv"):
            shell.answer(f".mode {mode}")
            said = shell.answer("select name from gpu_tasks;")
            self.assertIn("evil", said)
            self.assertIsNone(re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", said), (mode, said))

    def test_forms_for_files_need_a_statement(self):
        for flags in (("--csv",), ("--json",), ("-o", self.scratch / "out")):
            ours, theirs = pty.openpty()
            self.addCleanup(os.close, ours)
            done = subprocess.run(
                [support.BINARY, "query", SAMPLE, *map(str, flags)],
                stdin=theirs,
                capture_output=True,
                timeout=PATIENCE_S,
            )
            os.close(theirs)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertIn(b"require a statement", done.stderr)
