"""Names, paths and values of a trace are hostile: they never act, in any output."""
import json
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
