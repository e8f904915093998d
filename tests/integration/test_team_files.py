"""Tests the files for teams in examples/ and packaging/: the gate as CI systems run it, dashboard, pod, skill."""
import gzip
import json
import os
import re
import shutil
import subprocess
import time
import unittest
import urllib.request

import yaml

from integration import support

EXAMPLES, PACKAGING = support.ROOT / "examples", support.ROOT / "packaging"
RESNET = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"
VERSION = re.search(r"project\(headroom VERSION ([\d.]+)", (support.ROOT / "CMakeLists.txt").read_text()).group(1)
FAKES = support.BINARY.parent / "src/capture/metrics/fake"


def stretched(factor):
    """Returns the sample with all times multiplied, as a trace."""
    trace = json.loads(gzip.decompress(RESNET.read_bytes()))
    for event in trace["traceEvents"]:
        for key in ("ts", "dur"):
            if key in event:
                event[key] *= factor
    return json.dumps(trace)


class Gate(support.ProgramTest):
    """Runs the steps of the Action and the script of the template as their systems do."""

    def setUp(self):
        super().setUp()
        self.assertEqual(support.headroom("baseline", "save", "main", RESNET, "-q", cwd=self.scratch).code, 0)
        shutil.copy(RESNET, self.scratch / "same.json.gz")
        self.write("slow.json", stretched(1.1))
        # Within the noise of three steps, and beyond the limit of the rule below.
        self.write("near.json", stretched(1.004))
        self.write("rules.toml", '[[rule]]\nmetric = "step_ms"\nlimit = "<=+0.3%"\n')
        self.environment = {"PATH": f"{support.BINARY.parent}:{os.environ['PATH']}"}

    def evaluated(self, text, inputs):
        """Returns a value of action.yml with its expressions evaluated."""

        def value(match):
            expression = match[1].strip()
            if expression == "github.action_path":
                return str(EXAMPLES / "ci")
            if expression.startswith("inputs.rules ||"):
                return inputs["rules"] or str(EXAMPLES / "ci/rules.toml")
            return inputs[re.fullmatch(r"inputs\.(\w+)", expression)[1]]

        return re.sub(r"\$\{\{(.*?)\}\}", value, text)

    def act(self, given):
        action = yaml.safe_load((EXAMPLES / "ci/action.yml").read_text())
        inputs = {name: one.get("default") for name, one in action["inputs"].items()} | given
        self.assertNotIn(None, inputs.values())
        (step,) = [step for step in action["runs"]["steps"] if step.get("id") == "gate"]
        self.assertNotIn("${{", step["run"])  # Text of a pull request inside a script would be run.
        outcome = support.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.scratch,
            environment={
                **self.environment,
                **{name: self.evaluated(text, inputs) for name, text in step["env"].items()},
                "GITHUB_OUTPUT": str(self.scratch / "output"),
                "GITHUB_STEP_SUMMARY": str(self.scratch / "summary.md"),
            },
        )
        verdict = (self.scratch / "output").read_text().splitlines()[-1]
        return outcome, verdict

    def test_the_action_passes_fails_and_cannot_tell(self):
        rules = str(self.scratch / "rules.toml")
        cases: tuple[tuple[str, dict[str, str], int, str], ...] = (
            ("same.json.gz", {}, 0, "pass"),
            ("slow.json", {}, 1, "fail"),
            ("near.json", {"rules": rules}, 1, "inconclusive"),
            ("near.json", {"rules": rules, "inconclusive": "pass"}, 0, "inconclusive"),
            ("nowhere.json", {}, 3, "error"),
        )
        for traces, more, code, verdict in cases:
            with self.subTest(traces=traces, more=more):
                outcome, said = self.act({"baseline": "main", "traces": traces, **more})
                self.assertEqual((outcome.code, said), (code, f"verdict={verdict}"), outcome)
                if code != 3:
                    self.assertIn(f"Gate: {verdict}", outcome.text)
                    self.assertIn(f"Gate: {verdict}", (self.scratch / "summary.md").read_text())

    def test_the_template_of_gitlab(self):
        job = yaml.safe_load((EXAMPLES / "ci/gitlab.yml").read_text())[".headroom-gate"]
        (self.scratch / "ci").mkdir()
        for name in ("gate.sh", "rules.toml"):
            shutil.copy(EXAMPLES / "ci" / name, self.scratch / "ci" / name)
        for traces, code in (("same.json.gz", 0), ("slow.json", 1)):
            outcome = support.run(
                ["sh", "-ec", "\n".join([*job["before_script"], *job["script"]])],
                cwd=self.scratch,
                environment={**self.environment, **job["variables"], "HEADROOM_TRACES": traces},
            )
            self.assertEqual(outcome.code, code, outcome)
            for name in job["artifacts"]["paths"]:
                self.assertTrue((self.scratch / name).exists(), name)


class Dashboard(support.ProgramTest):
    dashboard = json.loads((EXAMPLES / "grafana/headroom.json").read_text())

    def expressions(self):
        return [target["expr"] for panel in self.dashboard["panels"] for target in panel.get("targets", [])]

    def test_its_metrics_exist(self):
        if not (FAKES / "libnvidia-ml.so.1").exists():
            self.skipTest("no fake NVML")
        # Gauges by the table of metrics, counters as the server writes them.
        known = set()
        for name, unit in re.findall(
            r"^\| `(\w+)` \| (\S+) \|", (support.ROOT / "docs/metrics.md").read_text(), re.MULTILINE
        ):
            ending, base = {"%": ("_pct", "_ratio"), "MHz": ("_mhz", "_hertz"), "W": ("_w", "_watts")}.get(
                unit, {"C": ("_c", "_celsius"), "bytes": ("_bytes", "_bytes")}.get(unit, ("", ""))
            )
            known.add(f"headroom_{name.removesuffix(ending)}{base}")
        process = subprocess.Popen(
            [support.BINARY, "monitor", "--interval", "0.1", "--prometheus", "0", "--pid", str(os.getpid())],
            env={**os.environ, "LD_LIBRARY_PATH": str(FAKES)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            address = process.stderr.readline().strip()
            names = {name for text in self.expressions() for name in re.findall(r"headroom_\w+", text)}
            end = time.monotonic() + 20
            while names - known and time.monotonic() < end:  # Rates require two samples.
                with urllib.request.urlopen(address) as answer:
                    known |= set(re.findall(r"^# TYPE (\w+)", answer.read().decode(), re.MULTILINE))
                time.sleep(0.1)
        finally:
            process.terminate()
            process.wait(30)
            process.stderr.close()
        self.assertGreater(len(names), 20)
        optional = {name for name in names if "_pressure_" in name or "nvlink" in name}  # Not on every machine.
        self.assertEqual(names - known - optional, set())

    def test_panels_do_not_overlap(self):
        cells = set()
        for panel in self.dashboard["panels"]:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
            taken = {(at["x"] + i, at["y"] + j) for i in range(at["w"]) for j in range(at["h"])}
            self.assertFalse(cells & taken, panel["title"])
            cells |= taken
            self.assertTrue(panel["type"] == "row" or panel["description"], panel["title"])
        self.assertEqual(len({panel["id"] for panel in self.dashboard["panels"]}), len(self.dashboard["panels"]))

    def test_prometheus_parses_its_queries(self):
        if shutil.which("promtool") is None:
            self.skipTest("no promtool (package prometheus)")
        words = {"$instance": ".*", "$device": ".*", "[$__rate_interval]": "[1m]", "[$__range]": "[1h]"}
        rules = []
        for i, text in enumerate(self.expressions()):
            for name, word in words.items():
                text = text.replace(name, word)
            rules.append({"record": f"test:{i}", "expr": text})
        file = self.write("rules.yml", yaml.safe_dump({"groups": [{"name": "headroom", "rules": rules}]}))
        done = subprocess.run(["promtool", "check", "rules", file], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Files(support.ProgramTest):
    def test_the_pod(self):
        (job,) = yaml.safe_load_all((EXAMPLES / "kubernetes/job.yaml").read_text())
        pod = job["spec"]["template"]["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        containers = {one["name"]: one for one in pod["initContainers"] + pod["containers"]}
        for one in containers.values():
            self.assertLessEqual({mount["name"] for mount in one["volumeMounts"]}, volumes)
        self.assertEqual(containers["monitor"]["restartPolicy"], "Always")
        # The commands are accepted: the monitor's here, with a token and on a free port.
        token = self.write("token", "0123456789abcdef")
        args = [str(token) if word == "/etc/headroom/token" else word for word in containers["monitor"]["args"]]
        args[args.index("9464")] = "0"
        self.assertEqual(support.headroom(*args, "--count", 1).code, 0)
        command = containers["train"]["command"]
        out = self.scratch / "train.pftrace"
        command = [str(support.BINARY), *(str(out) if word.endswith(".pftrace") else word for word in command[1:])]
        self.assertEqual(support.run([*command, "true"]).code, 0)

    def test_the_skill(self):
        text = (EXAMPLES / "agents/headroom/SKILL.md").read_text()
        head = yaml.safe_load(text.split("---\n")[1])
        self.assertEqual(head["name"], "headroom")
        self.assertLessEqual(len(head["description"]), 1024)  # The limit of the format.
        commands = set(re.findall(r"`headroom (\w+)", text))
        self.assertGreater(len(commands), 7)
        for name in commands:
            self.assertEqual(support.headroom(name, "--help").code, 0, name)
        for name in re.findall(r"(--[a-z][\w-]+)", text):
            self.assertTrue(any(name in support.headroom(one, "--help").text for one in commands), name)

    def test_recipes_have_this_version(self):
        for file in ("conda/meta.yaml", "homebrew/headroom.rb"):
            self.assertIn(f'"{VERSION}"', (PACKAGING / file).read_text(), file)
        self.assertIn(f"@v{VERSION}", (EXAMPLES / "ci/performance.yml").read_text())

    def test_scripts_parse(self):
        for file in (
            PACKAGING / "build",
            PACKAGING / "portable/libraries",
            PACKAGING / "portable/tool",
            EXAMPLES / "slurm/record.sbatch",
        ):
            self.assertEqual(subprocess.run(["bash", "-n", file], check=False).returncode, 0, file)


if __name__ == "__main__":
    unittest.main()
