"""Tests that no command takes quadratic time or unbounded memory if events in a trace overlap, nest or repeat.

The tests compare CPU time, which hardly depends on other load. For four times the input, linear work takes four times
as long, and quadratic work sixteen times. docs/performance.md has the measured times (bench/growth).
"""
import os
import resource
import shutil
import subprocess

from integration import growing_traces, support

SMALL, TIMES = 3000, 4
SQUARE = 9  # Maximum ratio of CPU times, for four times the input.
ANY_S = 0.25  # Shorter times are mostly the program's start.
BASE_MB, TIMES_INPUT = 100, 20  # Memory without many names: docs/security.md.

COMMANDS = {
    "report": ("report", "{}", "--html", "{out}.html", "-q"),
    "whatif": ("whatif", "{}", "--json", "-q"),
    "predict": ("predict", "{}", "--gpu", "A100-SXM4-80GB", "--json", "-q"),
    "scale": ("scale", "{}", "--json", "-q"),
    "diff": ("diff", "{}", "{}", "--json", "-q"),
    "redact": ("redact", "{}", "-o", "{out}.json", "-q"),
    "merge": ("merge", "{}", "{other}", "-o", "{out}.json", "-q"),
    "slice": ("slice", "{}", "--time", "0:1", "-o", "{out}.json", "-q"),
    "data": ("data", "{}", "--json", "-q"),
    "folded": ("export", "{}", "--to", "folded", "-o", "{out}", "-q"),
    "folded gpu": ("export", "{}", "--to", "folded", "--folded", "gpu", "-o", "{out}", "-q"),
    **{
        kind: ("export", "{}", "--to", kind, "-o", "{out}." + kind, "-q")
        for kind in ("perfetto", "chrome", "csv", "openmetrics", "chakra")
    },
}
# Other commands share their engines and writers with these.
SAMPLED = ("report", "scale", "perfetto", "folded gpu", "chakra")
# The replay of some shapes is refused (3: no launches, no steps, an unknown GPU). All other commands must work.
MAY_REFUSE = {"whatif", "predict", "scale", "diff", "chakra", "slice", "data", "merge"}
# The output of these shapes grows with the square of the input, because each stack contains the outer stacks. The
# program may refuse to write it.
WRITES_THE_SQUARE = {("operators in operators", "folded"), ("all of one span", "folded gpu")}


def usage(command):
    """Returns CPU seconds, peak memory in MB, and the exit code."""
    limit = 100 if support.sanitized() else 20

    def end_in_time():
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))

    with open(os.devnull, "wb") as nothing:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=nothing,
            stderr=nothing,
            preexec_fn=end_in_time,
            env={**os.environ, "XDG_STATE_HOME": "/nonexistent"},
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, process.returncode


class Growth(support.ProgramTest):
    def command(self, name, n):
        folder = self.scratch
        places = {"out": folder / "out", "other": folder / f"{n}.other.json"}
        for old in folder.glob("out*"):
            if old.is_dir():
                shutil.rmtree(old)
            else:
                old.unlink()
        trace = folder / f"{n}.json"
        return [support.BINARY, *(str(part).format(trace, trace, **places) for part in COMMANDS[name])]

    def assert_linear(self, shape, name):
        if (shape, name) in WRITES_THE_SQUARE:
            return
        for attempt in range(4):
            small, _, _ = usage(self.command(name, SMALL))
            large, memory, code = usage(self.command(name, TIMES * SMALL))
            self.assertIn(code, (0, 2, 3) if name in MAY_REFUSE else (0,), "below 0: out of time, or a crash")
            if large < max(ANY_S, SQUARE * small):
                break
        else:
            self.fail(f"{small:.2f} s, and {large:.2f} s for {TIMES} times the input")
        if not support.sanitized():
            input_mb = (self.scratch / f"{TIMES * SMALL}.json").stat().st_size / 1e6
            self.assertLess(memory, BASE_MB + TIMES_INPUT * input_mb, f"MB, of {input_mb:.1f} MB")

    def test_no_shape_takes_the_square(self):
        for i, shape in enumerate(growing_traces.SHAPES):
            for n in (SMALL, TIMES * SMALL):
                growing_traces.write(self.scratch / f"{n}.json", shape, n)
                growing_traces.write(self.scratch / f"{n}.other.json", shape, n, rank=1)
            for name in COMMANDS if support.FULL else (SAMPLED[i % 5], SAMPLED[(i + 2) % 5]):
                with self.subTest(shape=shape, command=name):
                    self.assert_linear(shape, name)

    def test_stacks_that_hold_each_other_are_refused_before_they_are_written(self):
        growing_traces.write(self.scratch / "deep.json", "operators in operators", 20_000)
        outcome = support.headroom(
            "export", self.scratch / "deep.json", "--to", "folded", "-o", self.scratch / "out", processor_s=5
        )
        self.assert_refused(outcome, 3, "--max-expansion", "200 times")
        self.assertFalse((self.scratch / "out").exists())
