"""Tests that secrets in traces never appear in output: unknown metadata, environment variables and arguments without a
column. This includes messages about damage next to a secret."""
import gzip
import json

from integration import support

SECRET = "hunter2"
BASE = json.loads((support.GOLDEN / "host-bound-two-steps/trace.json").read_text())


def with_secrets():
    """Returns the trace, with secrets in every place that has no meaning for a report."""
    events = [dict(e) for e in BASE["traceEvents"]]
    for e in events:
        e["args"] = {**e.get("args", {}), "api_key": f"{SECRET}-args", "env": {"HF_TOKEN": f"{SECRET}-args"}}
        e[f"{SECRET}-key"] = f"{SECRET}-field"
    events.insert(
        0,
        {"ph": "M", "name": "environment", "pid": 100, "tid": 0, "args": {"AWS_SECRET_ACCESS_KEY": f"{SECRET}-event"}},
    )
    events.append(
        {"ph": "i", "s": "g", "name": "mark", "pid": 100, "tid": 100, "ts": 1500, "args": {"token": f"{SECRET}-mark"}}
    )
    events.append({"ph": "C", "name": "counter", "pid": 100, "ts": 1500, "args": {"password": f"{SECRET}-counter"}})
    return {
        "metadata": {"env": {"HF_TOKEN": f"{SECRET}-env"}},
        f"{SECRET}_KEY": 1,
        "username": f"{SECRET}-user",
        "schemaVersion": 1,
        "deviceProperties": BASE["deviceProperties"],
        "trace_id": f"{SECRET}-id",
        "traceEvents": events,
        "hostname": f"{SECRET}-host",
        "after": [[{"password": f"{SECRET}-after"}]],
    }


class Secrets(support.ProgramTest):
    OUTPUTS = ([], ["--json"], ["--md"], ["--json", "--time"], ["--top", "1000"], ["--steps", "1:2"])

    def outputs_of(self, path):
        for flags in self.OUTPUTS:
            outcome = support.headroom("report", path, *flags)
            self.assertIn(outcome.code, (0, 3), outcome)
            yield flags, outcome.out + outcome.err
        folder = self.scratch / f"csv-{path.name}"
        outcome = support.headroom("report", path, "--csv", folder)
        yield "--csv", outcome.out + outcome.err + b"".join(p.read_bytes() for p in folder.glob("**/*") if p.is_file())

    def assert_kept(self, name, data):
        for flags, output in self.outputs_of(self.write(name, data)):
            for word in (SECRET, "HF_TOKEN", "AWS_SECRET", "api_key"):
                self.assertNotIn(word.encode(), output, f"{name} {flags}")

    def test_in_a_sound_trace(self):
        text = json.dumps(with_secrets())
        self.assert_kept("sound.json", text)
        self.assert_kept("sound.json.gz", gzip.compress(text.encode()))

    def test_cut_inside_each_secret(self):
        text = json.dumps(with_secrets())
        at = [i for i in range(len(text)) if text.startswith(SECRET, i)]
        for position in (at[0], at[1], at[2], at[len(at) // 2], at[-2], at[-1]):
            self.assert_kept("cut.json", text[: position + len(SECRET)])

    def test_damaged_beside_each_secret(self):
        text = json.dumps(with_secrets())
        for old, new in (
            (f'"{SECRET}-env"', f'"{SECRET}-env" "'),
            (f'"{SECRET}-args"', f'"{SECRET}"-args" x"'),
            (f'"{SECRET}-args"', f'"{SECRET}\x01\n-args"'),
            (f'"{SECRET}-env"', f"{SECRET}-env"),
            (f'"{SECRET}-after"', f'"{SECRET}-after'),
            (f'"{SECRET}-field"', f"\udcff{SECRET}"),
        ):
            self.assert_kept("damaged.json", text.replace(old, new, 3).encode("utf-8", "surrogateescape"))

    def test_in_a_file_that_is_no_trace(self):
        self.assert_kept("settings.json", json.dumps({"env": {"HF_TOKEN": SECRET}, "learning_rate": 1}))
        self.assert_kept("environment", f"HF_TOKEN={SECRET}\nAWS_SECRET_ACCESS_KEY={SECRET}\n")
