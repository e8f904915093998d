"""Tests hostile names, paths and values of a trace. They must have no effect in any output."""
import contextlib
import json
import os
import pty
import re
import shlex
import subprocess

from integration import support

TRACE = support.GOLDEN / "hostile-names-text/trace.json"


class Names(support.ProgramTest):
    def test_json_keeps_the_name_as_it_is(self):
        names = {e["name"] for e in json.loads(TRACE.read_text())["traceEvents"] if e["cat"] == "kernel"}
        self.assertEqual({r["name"] for r in self.report(TRACE, "--top", 100)["kernels"]}, names)

    def test_markdown_is_inert(self):
        text = support.headroom("report", TRACE, "--md", "--top", 100).text
        self.assert_whole_tables(text, "hostile names")
        for harmless in ("crimson", "conduit", "linefeed"):
            self.assertIn(harmless, text)
        outside_of_code = re.sub(r"(?<!\\)`[^`\n]*`", "", text)
        for live in ("<script", "<img", "](javascript"):
            self.assertNotIn(live, outside_of_code.lower())

    def test_device_and_rank_names(self):
        trace = json.loads(TRACE.read_text())
        trace["deviceProperties"][0]["name"] = "GPU\x1b[2J | <script>alert(1)</script>"
        trace["distributedInfo"] = {"rank": "\x1b[31m0", "world_size": "many"}
        path = self.write("device.json", json.dumps(trace))
        self.assert_readable_text(support.headroom("report", path).text, "device name")
        self.assert_whole_tables(support.headroom("report", path, "--md").text, "device name")
        self.report(path)


class Terminals(support.ProgramTest):
    """No command prints characters that control a terminal or reverse text."""

    NAME = "k\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202egnp.exe\u2066\u200b\U000e0041,=1+1"
    COMMANDS = (
        ("report", "{}"),
        ("report", "{}", "--json"),
        ("report", "{}", "--md"),
        ("whatif", "{}"),
        ("whatif", "{}", "--json"),
        ("predict", "{}", "--from", "A100-80", "--gpu", "V100", "--json"),
        ("predict", "{}", "--from", "A100-80", "--gpu", "V100"),
        ("scale", "{}", "--json"),
        ("diff", "{}", "{}"),
        ("diff", "{}", "{}", "--json"),
        ("data", "{}", "--json"),
        ("query", "{}", "select name from host_events"),
        ("query", "{}", "select name from host_events", "--csv"),
        ("query", "{}", "select name from host_events", "--json"),
        ("export", "{}", "--to", "csv", "--table", "host_events", "-o", "-"),
        ("export", "{}", "--to", "csv", "--table", "processes", "-o", "-"),
        ("export", "{}", "--to", "folded", "-o", "-"),
        ("export", "{}", "--to", "folded", "--folded", "gpu", "-o", "-"),
        ("export", "{}", "--to", "openmetrics", "-o", "-"),
        ("repair", "{}", "-o", "{out}"),
        ("redact", "{}", "-o", "{out}"),
    )

    def trace(self):
        events = []
        for i in range(8):
            events += [
                {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1}
                | {"ts": 100 * i, "dur": 100},
                {"ph": "X", "cat": "cpu_op", "name": "aten::" + self.NAME, "pid": 1, "tid": 1, "ts": 100 * i, "dur": 50}
                | {"args": {self.NAME: self.NAME}},
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 100 * i + 1}
                | {"dur": 5, "args": {"correlation": i + 1}},
                {"ph": "X", "cat": "kernel", "name": self.NAME, "pid": 0, "tid": 7, "ts": 100 * i + 10, "dur": 80}
                | {"args": {"correlation": i + 1, "device": 0, "stream": 7}},
            ]
        names = [("process_name", 1), ("thread_name", 1), ("process_name", 0), ("process_labels", 0)]
        key = {"process_labels": "labels"}
        events += [
            {"ph": "M", "name": what, "pid": pid, "tid": 1, "args": {key.get(what, "name"): self.NAME}}
            for what, pid in names
        ]
        device = {"id": 0, "name": self.NAME, "totalGlobalMem": 1 << 36}
        trace = {"schemaVersion": 1, "deviceProperties": [device], "traceEvents": events}
        return self.write("t.json", json.dumps(trace))

    def shown(self, command):
        """Returns the text that a terminal gets from both outputs."""
        ours, theirs = pty.openpty()
        environment = {**os.environ, "NO_COLOR": "1", "XDG_STATE_HOME": "/nonexistent"}
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        data = b""
        with contextlib.suppress(OSError):  # The other end is closed.
            while piece := os.read(ours, 1 << 16):
                data += piece
        os.close(ours)
        self.assertIn(process.wait(), (0, 3))
        return data.decode().replace("\r\n", "\n")

    def test_nothing_of_a_trace_acts_on_a_terminal(self):
        trace = self.trace()
        for command in self.COMMANDS:
            with self.subTest(" ".join(command)):
                out = self.scratch / "out.json"
                out.unlink(missing_ok=True)
                words = [part.format(trace, out=out) for part in command]
                text = self.shown([support.BINARY, *words])
                self.assert_printable(text.replace("\t", " "), command)
                self.assertNotIn("\U000e0041", text)

    def test_json_is_printable_wherever_it_goes_and_the_same_value(self):
        outcome = support.headroom("report", self.trace(), "--json")
        self.assert_printable(outcome.text, "report --json")
        self.assertIn(self.NAME, {row["name"] for row in outcome.json()["kernels"]})

    def test_a_pipe_gets_names_as_they_are(self):
        outcome = support.headroom("query", self.trace(), "select distinct name from gpu_tasks", "--csv")
        self.assertIn(self.NAME.encode(), outcome.out)


class Paths(support.ProgramTest):
    NAME = 'it\'s $(touch pwned) `touch pwned`; touch pwned | & "x" #.json'

    def test_a_hostile_path_does_not_act_in_a_check_command(self):
        path = self.write(self.NAME, (support.GOLDEN / "host-bound-two-steps/trace.json").read_bytes())
        report = self.report(path.name, cwd=self.scratch)
        self.assertEqual(report["inputs"][0]["path"], path.name)
        self.assertTrue(report["findings"], "a host-bound trace without a finding")
        (self.scratch / "headroom").symlink_to(support.BINARY)
        for finding in report["findings"]:
            done = subprocess.run(
                ["sh", "-c", finding["check"]],
                cwd=self.scratch,
                capture_output=True,
                timeout=60,
                env={**support.os.environ, "PATH": f"{self.scratch}:{support.os.environ['PATH']}"},
            )
            self.assertEqual(done.returncode, 0, (finding["check"], done.stderr))
            self.assertIn(path.name, shlex.split(finding["check"]))
        self.assertFalse((self.scratch / "pwned").exists(), "the path of a trace ran a command")

    def test_a_path_that_looks_like_a_flag(self):
        self.write("--json", (support.GOLDEN / "host-bound-two-steps/trace.json").read_bytes())
        outcome = support.headroom("report", "--", "--json", cwd=self.scratch)
        self.assertEqual(outcome.code, 0, outcome)
        self.assertFalse(outcome.out.startswith(b"{"), "the path was taken for the flag")

    def test_control_characters_in_a_path(self):
        path = self.write("a\x1b[31m\tb\n.json", (support.GOLDEN / "host-bound-two-steps/trace.json").read_bytes())
        self.assert_readable_text(support.headroom("report", path.name, cwd=self.scratch).text, "path")
