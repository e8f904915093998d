"""Tests that the first answer of a command is one screen: 24 lines, as wide as the terminal. --full is as wide, and
paged."""
import fcntl
import os
import pty
import re
import shlex
import struct
import termios
import unicodedata

from integration import support

LINES = 24
WIDTHS = (60, 80, 200)
SAMPLES = sorted((support.ROOT / "data/samples").glob("*.*z"))
HOST_BOUND = support.ROOT / "data/samples/bert_base_amp_fp16_h200.json.gz"
GPU_BOUND = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"


def width_of(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def traces():
    made = sorted(path for path in support.GOLDEN.glob("*/trace.json"))
    return [*SAMPLES, *made, *support.real_traces()]


class Screens(support.ProgramTest):
    def text(self, width, *args):
        outcome = support.headroom(*args, environment={"LC_ALL": "C.UTF-8", "COLUMNS": str(width)})
        if outcome.code == 3:  # A golden that is refused.
            return ""
        self.assertEqual(outcome.code, 0, outcome)
        return outcome.text

    def assert_fits(self, text, width, context, lines=LINES):
        self.assert_printable(text, context)
        self.assertLessEqual(len(text.splitlines()), lines, f"{context}:\n{text}")
        for line in text.splitlines():
            self.assertLessEqual(width_of(line), width, f"{context}: {line!r}")

    def test_a_report_of_any_trace(self):
        for i, trace in enumerate(traces()):
            with self.subTest(trace.name):
                for width in WIDTHS if support.FULL else (WIDTHS[i % 3],):
                    self.assert_fits(self.text(width, "report", trace), width, (trace, width))

    def test_parts_of_the_step_sum_to_it(self):
        compared = 0
        for trace in traces():
            text = self.text(80, "report", trace)
            shares = [int(share) for share in re.findall(r"^  .{1,24}? +(\d+) %  ", text, re.MULTILINE)]
            if not shares:
                continue
            with self.subTest(trace.name):
                self.assertAlmostEqual(sum(shares), 100, delta=4, msg=text)  # Rows are rounded; none is below 1 %.
                compared += 1
        self.assertGreater(compared, 20)

    def test_a_stall_that_nothing_explains_is_no_advice_to_remove_the_call(self):
        trace = support.data_file("public-traces/tracelens__inference__sglang_decode__sglang_Qwen3-8B_decode.json.gz")
        report = self.report(trace)
        self.assertEqual(
            (report["bottleneck"]["verdict"], report["bottleneck"]["confidence"]), ("synchronization", "low")
        )
        self.assertIn("hipMemcpyWithStream", report["bottleneck"]["confidence_reason"])
        finding = report["findings"][0]
        self.assertEqual((finding["id"], finding["saves_ms"], finding["whatif"]), ("stalled-copy", None, None))
        text = self.text(80, "report", trace)
        self.assertIn("Record several steps", text)
        self.assertIn("Low confidence: hipMemcpyWithStream blocks for", text)
        text = self.text(80, "whatif", trace)
        self.assertIn("No forecast: a replay of the unchanged step takes", text)
        self.assertLess(len(text.splitlines()), 12)
        # The self-check says which of its parts fail.
        outcome = support.headroom("whatif", trace, "--self-check")
        self.assertEqual(outcome.code, 1, outcome)
        self.assertRegex(outcome.text, r"identity")

    def test_changes_to_make_together_are_a_command(self):
        commands = 0
        for trace in (*SAMPLES, support.GOLDEN / "host-bound-two-steps/trace.json"):
            text = self.text(200, "whatif", trace) if ".pftrace" not in trace.name else ""
            for command in re.findall(r"^Together: headroom (.*)$", text, re.MULTILINE):
                commands += 1
                with self.subTest(command):
                    outcome = support.headroom(*shlex.split(command))
                    self.assertEqual(outcome.code, 0, outcome)
        self.assertGreater(commands, 0)

    def test_facts_of_a_file_without_steps(self):
        snapshot = support.data_file("cases/09-snapshot-without-time/snapshot.pickle")
        self.assertIn("21.0 MB peak memory.", self.text(80, "report", snapshot))

    def test_a_report_of_several_ranks(self):
        folder = support.data_file("cases/41-pass-pipeline-bubble/pipe")
        text = self.text(80, "report", folder)
        self.assert_fits(text, 80, folder)
        self.assertIn("2 ranks", text)

    def test_forecasts_and_other_gpus(self):
        for trace in (HOST_BOUND, GPU_BOUND):
            for command in ("whatif", "predict"):
                with self.subTest(trace.name, command=command):
                    self.assert_fits(self.text(80, command, trace), 80, (command, trace))

    def test_differences_the_loader_and_the_machine(self):
        for args in (
            ("diff", GPU_BOUND, HOST_BOUND),
            ("data", support.ROOT / "data/samples/loader_one_worker.pftrace.gz"),
            ("doctor",),
            ("scale", GPU_BOUND),
        ):
            with self.subTest(args[0]):
                self.assert_fits(self.text(80, *args), 80, args)

    def test_all_sections_are_as_wide(self):
        for width in (80, 200):
            for args in (("report", HOST_BOUND), ("report", GPU_BOUND), ("diff", GPU_BOUND, HOST_BOUND)):
                with self.subTest(args[0], width=width):
                    text = self.text(width, *args, "--full")
                    self.assert_fits(text, width, args, lines=400)
                    self.assertGreater(len(text.splitlines()), LINES)
                    self.assertGreater(max(map(width_of, text.splitlines())), width - 2)

    def test_zeros_and_small_things_are_not_shown(self):
        breakdown = self.text(100, "report", GPU_BOUND, "--only", "breakdown")
        self.assertNotIn(" 0 ms      0 %", breakdown)
        report = support.headroom("report", HOST_BOUND, "--json").json()
        step = report["steps"]["corrected_step_ms"]["mid"]
        shown = self.text(100, "report", HOST_BOUND, "--full")
        small = [f for f in report["findings"] if f["saves_ms"] and f["saves_ms"]["mid"] < 0.01 * step]
        self.assertEqual(shown.count("     do     "), len(report["findings"]) - len(small))
        self.assertIn(" min ", self.text(100, "report", GPU_BOUND, "--only", "kernels").splitlines()[2])

    def test_what_a_screen_does_not_hold_goes_through_a_pager(self):
        paged = self.scratch / "paged"
        for rows, expected in ((10, True), (1000, False)):
            with self.subTest(rows):
                paged.unlink(missing_ok=True)
                shown = self.on_terminal(rows, 90, f"cat >{paged}", "report", HOST_BOUND, "--full")
                text = paged.read_text() if expected else shown.replace("\r\n", "\n")
                self.assertIn("Step breakdown", text)
                self.assertEqual(paged.exists(), expected)
                self.assertLessEqual(max(map(width_of, text.splitlines())), 90)
        self.assertIn("Step breakdown", self.on_terminal(10, 90, "no-such-pager", "report", HOST_BOUND, "--full"))

    def on_terminal(self, rows, columns, pager, *args):
        """Returns the output on a terminal of that size."""
        reader, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = dict(os.environ, HEADROOM_PAGER=pager, LC_ALL="C.UTF-8", NO_COLOR="1", TERM="xterm")
        child = os.fork()
        if child == 0:
            os.dup2(terminal, 1)
            os.execve(support.BINARY, [str(support.BINARY), *map(str, args)], environment)
        os.close(terminal)
        shown = b""
        while True:
            try:
                piece = os.read(reader, 65536)
            except OSError:  # The other end is closed.
                break
            if not piece:
                break
            shown += piece
        os.close(reader)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        return shown.decode()
