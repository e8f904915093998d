"""Shared by the contract tests: paths, running the program, comparing results."""
import dataclasses
import functools
import json
import math
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import unittest

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = pathlib.Path(os.environ.get("HEADROOM_BINARY") or ROOT / "build/release/headroom").absolute()
DATA = pathlib.Path(os.environ.get("HEADROOM_DATA") or ROOT.parent / "shared").absolute()
FULL = os.environ.get("HEADROOM_TEST_FULL") == "1"
GOLDEN = ROOT / "tests/golden"
SCHEMA = ROOT / "docs/schema/report-1.json"
# A full disk. If the path does not exist, programs would create a file.
FULL_DEVICE = "/dev/full"
NEEDS_FULL_DEVICE = unittest.skipUnless(pathlib.Path(FULL_DEVICE).is_char_device(), f"no {FULL_DEVICE} on this machine")
DEFINITIONS = ROOT / "docs/report.md"


def real_traces():
    """Returns all PyTorch-profiler traces of the data folder, in a fixed order; [] without traces."""
    return sorted((DATA / "h200/traces").glob("*.json.gz")) + sorted((DATA / "public-traces").glob("*.json.gz"))


def some(items, every):
    """Returns one in `every` items, always the same ones; all of them with --full. Tests of a rule over many cases take
    this share in the gate."""
    items = list(items)
    chosen = random.Random(1).sample(range(len(items)), -(-len(items) // (1 if FULL else every)))
    return [items[i] for i in sorted(chosen)]


def warn_about_missing_data():
    if not real_traces():
        line = "!" * 100
        print(
            f"{line}\n!! NO REAL TRACES: {DATA} holds none. Every test on them is SKIPPED; set HEADROOM_DATA.\n{line}",
            file=sys.stderr,
        )


def data_file(name):
    """Returns the path of a file of the data folder. Skips the test, with the reason, if it is missing."""
    path = DATA / name
    if not path.exists():
        raise unittest.SkipTest(f"real traces are missing (HEADROOM_DATA={DATA})")
    return path


# --- running the program -------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Outcome:
    command: list
    code: int  # Negative: killed by that signal.
    out: bytes
    err: bytes
    seconds: float

    @property
    def text(self):
        return self.out.decode("utf-8")  # Strict: invalid UTF-8 on stdout is a failure.

    @property
    def message(self):
        return self.err.decode("utf-8", "replace")

    def json(self):
        return json.loads(self.text, parse_constant=_no_constant)

    def __str__(self):
        shown = " ".join(str(c) for c in self.command)
        return (
            f"{shown}\n"
            f"exit {self.code} after {self.seconds:.2f} s\n"
            f"stdout: {self.out[:600]!r}\n"
            f"stderr: {self.err[:1500]!r}"
        )


def _no_constant(name):
    raise ValueError(f"{name} is not JSON")


@functools.cache
def has_module(python, module):
    """Returns whether a Python finds a module. Does not import it, because PyTorch takes seconds to import."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", code], capture_output=True).returncode == 0


@functools.cache
def sanitized():
    """True if the program has a sanitizer, which needs additional address space and time."""
    data = BINARY.read_bytes()
    return b"__asan_init" in data or b"__tsan_init" in data


def headroom(*args, cwd=None, seconds=240, processor_s=None, address_space=None, environment=None, launcher=()):
    """Runs the program without its local state on this machine.

    seconds        Time limit: only a program that hangs reaches it, even on a busy machine.
    processor_s    Limit of the CPU time of all threads (10 times as much with a sanitizer).
    address_space  Limit of the address space in bytes (none with a sanitizer).
    launcher       Command that starts the program, with its flags.
    """
    return run([*launcher, BINARY, *args], cwd, seconds, address_space, environment, processor_s)


@functools.cache
def answer(*args, **environment):
    """Returns the outcome of headroom(*args) and caches it in this process. Requires a command that writes nothing and
    reads only files that no test changes."""
    return headroom(*args, environment=environment)


def run(command, cwd=None, seconds=240, address_space=None, environment=None, processor_s=None):
    """Runs a command, as headroom() does."""
    command = [str(part) for part in command]
    limits = {}
    if address_space and not sanitized():
        limits[resource.RLIMIT_AS] = address_space
    if processor_s:
        limits[resource.RLIMIT_CPU] = processor_s * (10 if sanitized() else 1)
    if sanitized():
        seconds *= 10

    def set_limits():
        for what, limit in limits.items():
            resource.setrlimit(what, (limit, limit))

    began = time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            preexec_fn=set_limits if limits else None,
            env={**os.environ, "XDG_STATE_HOME": "/nonexistent", **(environment or {})},
        )
    except subprocess.TimeoutExpired as e:
        raise AssertionError(f"still running after {seconds} s: {' '.join(command)}") from e
    return Outcome(command, done.returncode, done.stdout, done.stderr, time.monotonic() - began)


class ProgramTest(unittest.TestCase):
    """A test of the program. Gives each test a scratch folder and the common checks."""

    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        if not os.access(BINARY, os.X_OK):
            raise AssertionError(
                f"no program at {BINARY}: build it (cmake --preset release && cmake --build --preset release)"
                " or set HEADROOM_BINARY"
            )

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="headroom-test-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def write(self, name, data):
        path = self.scratch / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def report(self, *args, **kwargs):
        """Runs `headroom report --json ARGS`, which must succeed and obey the contract. Returns the parsed object."""
        outcome = headroom("report", "--json", *args, **kwargs)
        self.assertEqual(outcome.code, 0, outcome)
        report = outcome.json()
        self.assertEqual(violations(report), [], outcome)
        return report

    def assert_refused(self, outcome, code, *fragments):
        """Requires the exit code, nothing on stdout, and one message on stderr with each fragment (case ignored)."""
        self.assertEqual(outcome.code, code, outcome)
        self.assertEqual(outcome.out, b"", outcome)
        self.assertTrue(outcome.message.strip(), f"no message: {outcome}")
        for fragment in fragments:
            self.assertIn(str(fragment).lower(), outcome.message.lower(), outcome)

    def assert_printable(self, text, context):
        """Requires a text without control characters except the newline, and without characters that reverse or hide
        text."""
        for number, line in enumerate(text.split("\n"), 1):
            bad = [c for c in line if unprintable(c)]
            self.assertFalse(bad, f"{context}: line {number} holds {bad!r}: {line!r}")

    def assert_readable_text(self, text, context):
        """Requires a printable text with at most 100 columns per line."""
        self.assert_printable(text, context)
        for number, line in enumerate(text.split("\n"), 1):
            self.assertLessEqual(len(line), 100, f"{context}: line {number} is too long: {line!r}")

    def assert_whole_tables(self, markdown, context):
        """Requires as many cells in every row of a table as in its header: no name may split a cell."""
        self.assert_printable(markdown, context)
        cells = None
        for line in markdown.split("\n"):
            here = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
            if here is not None and cells is not None:
                self.assertEqual(here, cells, f"{context}: {line!r}")
            cells = here


def unprintable(c):
    point = ord(c)
    return (
        point < 0x20
        or 0x7F <= point < 0xA0
        or 0x200B <= point <= 0x200F
        or 0x2028 <= point <= 0x202E
        or 0x2066 <= point <= 0x2069
        or point == 0xFEFF
    )


# --- the contract of report/1 --------------------------------------------------------------------------------------

PARTS = (
    "data_wait_ms",
    "host_to_device_ms",
    "forward_ms",
    "backward_ms",
    "optimizer_ms",
    "communication_ms",
    "callback_ms",
    "other_ms",
)


@functools.cache
def schema():
    return json.loads(SCHEMA.read_text())


@functools.cache
def validator():
    return jsonschema.Draft202012Validator(schema())


@functools.cache
def known_codes():
    """Returns the codes of `health.issues[]` that docs/report.md explains."""
    table = DEFINITIONS.read_text().split("## health")[1].split("\n## ")[0]
    return frozenset(re.findall(r"^\| `([a-z0-9-]+)` \|", table, re.MULTILINE))


def violations(report):
    """Returns all faults of a report, against its schema and against itself, as sentences; [] if there are none."""
    found = [f"schema: {e.json_path}: {e.message[:300]}" for e in validator().iter_errors(report)]
    if found:
        return found  # The following checks assume a valid schema.
    return [
        *_health(report),
        *_gpu(report),
        *_steps(report),
        *_run(report),
        *_breakdown(report),
        *_tables(report),
        *_forecasts(report),
        *_invariants(report),
    ]


@functools.cache
def forecast_validator():
    return jsonschema.Draft202012Validator(json.loads((ROOT / "docs/schema/whatif-1.json").read_text()))


@functools.cache
def scores_validator():
    return jsonschema.Draft202012Validator(json.loads((ROOT / "docs/schema/whatif-scores-1.json").read_text()))


def forecast_violations(forecast):
    """Returns all ways in which the output of whatif breaks its schema; [] if there are none."""
    return [f"schema: {e.json_path}: {e.message[:300]}" for e in forecast_validator().iter_errors(forecast)]


@functools.cache
def _schema_of(name):
    return jsonschema.Draft202012Validator(json.loads((ROOT / "docs/schema" / name).read_text()))


def answer_violations(answer):
    """Returns all ways in which an answer of `headroom ui` breaks the schema that it names; [] if there are none."""
    name = answer["schema"].removeprefix("headroom.").replace("/", "-") + ".json"
    return [f"schema: {e.json_path}: {e.message[:300]}" for e in _schema_of(name).iter_errors(answer)]


def data_violations(report):
    """Returns all ways in which the output of `data` or `data bench` breaks its schema; [] if there are none."""
    name = "data-bench-1.json" if report["schema"] == "headroom.data-bench/1" else "data-1.json"
    return [f"schema: {e.json_path}: {e.message[:300]}" for e in _schema_of(name).iter_errors(report)]


def _health(report):
    for issue in report["health"]["issues"]:
        if issue["code"] not in known_codes():
            yield f"health code {issue['code']} is not in docs/report.md"
    if report["health"]["grade"] == "A" and any(i["severity"] != "info" for i in report["health"]["issues"]):
        yield "grade A in spite of a warning or an error"


def _gpu(report):
    for r in report["gpu_time"]:
        where = f"gpu_time of rank {r['rank']} device {r['device']}"
        if not close(r["busy_ms"], r["compute_ms"] + r["exposed_communication_ms"] + r["exposed_memory_ms"]):
            yield f"{where}: busy is not compute + exposed communication + exposed memory"
        if not close(r["span_ms"], r["busy_ms"] + r["idle_ms"]):
            yield f"{where}: span is not busy + idle"
        if (r["overlap_communication_pct"] is None) != (r["communication_ms"] == 0):
            yield f"{where}: overlap_communication_pct must be null without communication, and only then"
    for table in ("gpu_time", "idle"):
        keys = [(r["rank"], r["device"], r.get("stream")) for r in report[table]]
        if len(set(keys)) != len(keys):
            yield f"{table} has two rows for one key"


def _steps(report):
    steps = report["steps"]
    walls = sorted(r["wall_ms"] for r in steps["list"])
    if steps["count"] != len(walls):
        yield f"steps.count is {steps['count']}, list has {len(walls)} rows"
    if not walls:
        return
    if steps["kinds"]:
        whole = [row for row in steps["list"] if row["whole"]]
        if len(report["inputs"]) == 1 and sum(kind["count"] for kind in steps["kinds"]) != len(whole):
            yield "steps.kinds does not hold each whole step once"
        if not close(sum(kind["share_pct"] for kind in steps["kinds"]), 100):
            yield "the shares of steps.kinds do not sum to 100 %"
    for row in steps["list"]:
        if row["counted"] and not row["whole"]:
            yield f"step {row['index']}: counted, but not whole"
        if row["gpu_busy_ms"] is not None and row["gpu_busy_ms"] > row["wall_ms"] + 1e-6:
            yield f"step {row['index']}: busier than it is long"
    walls = sorted(r["wall_ms"] for r in steps["list"] if r["counted"])
    if not walls:
        if any(steps[key] is not None for key in ("min_ms", "p50_ms", "max_ms", "mean_ms")) or report["ceiling"]:
            yield "no step is whole, and there are step times or a ceiling"
        return
    if steps["p50_ms"] is None:
        yield "a step is whole, and there is no median"
        return
    for key, want in (("min_ms", walls[0]), ("max_ms", walls[-1]), ("mean_ms", sum(walls) / len(walls))):
        if not close(steps[key], want):
            yield f"steps.{key} is {steps[key]}, the list says {want}"
    if len(report["inputs"]) == 1 and not close(steps["p50_ms"], walls[(len(walls) - 1) // 2]):
        yield f"steps.p50_ms is {steps['p50_ms']}, the lower median of the list is {walls[(len(walls) - 1) // 2]}"


def _run(report):
    run = report["run"]
    if run is None:
        return
    total = math.fsum(part["time_ms"] for part in run["parts"])
    if not close(total, run["wall_ms"]):
        yield f"run.parts sum to {total}, not to wall_ms {run['wall_ms']}"
    if len({part["name"] for part in run["parts"]}) < len(run["parts"]):
        yield "run.parts has a name twice"
    if not close(math.fsum(part["share_pct"] for part in run["parts"]), 100):
        yield "the shares of run.parts do not sum to 100 %"


def _breakdown(report):
    split = report["step_breakdown"]
    if split is None:
        return
    total = math.fsum(split[k] for k in PARTS)
    half_a_nanosecond = 5e-7
    if abs(total - split["of_ms"]) > half_a_nanosecond or split["wall_ms"] != split["of_ms"]:
        yield f"step_breakdown sums to {total}, not to its of_ms {split['of_ms']}"
    for k in PARTS:
        if split["gpu"][k] > split[k] + half_a_nanosecond:
            yield f"step_breakdown.gpu.{k} is larger than its whole"
        if split["median"][k] > split["p90"][k]:
            yield f"step_breakdown.median.{k} is larger than the 90th percentile"
    busy = math.fsum(split["gpu"][k] for k in PARTS)
    if stretch := report["stretch"]:
        yield from _mean_of("stretch", split, busy, [stretch])
        return
    if len(report["inputs"]) > 1:
        return
    whole = [r for r in report["steps"]["list"] if r["counted"]]
    if not any(r["index"] == split["step_index"] and r["wall_ms"] == report["steps"]["p50_ms"] for r in whole):
        yield f"step_breakdown.step_index {split['step_index']} is not the median step"
    if split["steps"] == len(whole):  # Otherwise some steps overlap.
        yield from _mean_of("whole steps", split, busy, whole)


def _mean_of(what, split, busy, rows):
    # Parts are rounded down to a nanosecond.
    rounding = 1e-6 * len(PARTS)
    if abs(split["of_ms"] - math.fsum(r["wall_ms"] for r in rows) / len(rows)) > rounding:
        yield f"step_breakdown.of_ms {split['of_ms']} is not the mean of the {what}"
    if abs(busy - math.fsum(r["gpu_busy_ms"] or 0 for r in rows) / len(rows)) > rounding:
        yield f"step_breakdown.gpu sums to {busy}, not to the mean gpu_busy_ms of the {what}"


def _tables(report):
    for table in ("kernels", "operators", "layers"):
        totals = [r["total_us"] for r in report[table] if r["total_us"] is not None]
        if totals != sorted(totals, reverse=True):
            yield f"{table} is not in descending order of total_us"
        own = [r["self_host_us"] for r in report[table] if r["total_us"] is None]
        if own != sorted(own, reverse=True):
            yield f"{table} is not in descending order of self_host_us where no GPU work was recorded"
        for r in report[table]:
            if r["total_us"] is not None and not close(r["mean_us"] * r["count"], r["total_us"], 1e-3):
                yield f"{table}: {r['name'][:60]!r}: mean times count is not the total"


# Causes that findings act on, by the verdict's name.
ACTS_ON = {
    "host": ("late-launches", "costly-region", "costly-line", "unmarked-time"),
    "input": ("data-wait", "exposed-copies"),
    "communication": ("exposed-communication", "straggler", "pipeline-bubble"),
    "callback": ("callbacks",),
    "synchronization": ("costly-syncs", "stalled-copy"),
    "gpu-compute": ("unfused-optimizer", "idle-tensor-cores", "unfused-elementwise", "device-copies"),
    "gpu-memory": ("unfused-optimizer", "idle-tensor-cores", "unfused-elementwise", "device-copies"),
}


def _invariants(report):
    """Facts that hold for any trace."""
    steps, split = report["steps"], report["step_breakdown"]
    corrected = steps["corrected_step_ms"]
    if corrected and not 0 <= corrected["low"] <= corrected["mid"] <= corrected["high"]:
        yield f"corrected_step_ms is no interval: {corrected}"
    if corrected and steps["step_time_ms"] is None:
        yield "a step is known without the profiler and not as recorded"
    elif corrected and corrected["mid"] > steps["step_time_ms"] * (1 + 1e-9):
        yield f"without the profiler {corrected['mid']} ms, recorded {steps['step_time_ms']} ms"
    if corrected and len(report["inputs"]) == 1 and corrected != report["engine_window"]["corrected_step_ms"]:
        yield f"two steps without the profiler: {corrected}, {report['engine_window']['corrected_step_ms']}"
    about = ACTS_ON.get(report["bottleneck"]["verdict"], ())
    slows = [bool(finding["saves_ms"] and finding["saves_ms"]["mid"] < 0) for finding in report["findings"]]
    acts = [f["id"] in about and not of_it for f, of_it in zip(report["findings"], slows)]
    if any(acts) and not acts[0]:
        yield f"the verdict is {report['bottleneck']['verdict']}, the first finding {report['findings'][0]['id']}"
    for finding in report["findings"]:
        if finding["share_pct"] is not None and not 0 <= finding["share_pct"] <= 100:
            yield f"{finding['id']} holds {finding['share_pct']} %"
        if finding["saves_ms"] and split and finding["saves_ms"]["mid"] > split["of_ms"] * 1.01:
            yield f"{finding['id']} saves {finding['saves_ms']['mid']} ms of {split['of_ms']}"


def _forecasts(report):
    saves = [f["saves_ms"] for f in report["findings"]]
    # The first finding acts on the verdict's cause.
    known = [s for s in saves[1:] if s is not None]
    if saves[1 : len(known) + 1] != known or known != sorted(known, key=lambda s: -s["mid"]):
        yield "findings are not ranked by what they save"
    unknown = [f["share_pct"] for f in report["findings"][1:] if f["saves_ms"] is None and f["share_pct"] is not None]
    if unknown != sorted(unknown, reverse=True):
        yield "findings of which no savings are known are not ranked by the share that they hold"
    for finding, interval in zip(report["findings"], saves):
        if interval and not interval["low"] <= interval["mid"] <= interval["high"]:
            yield f"{finding['id']}: saves_ms is no interval: {interval}"
        if finding["whatif"] and not interval:
            yield f"{finding['id']}: a forecast is shown by whatif, and there is none"
    window, steps = report["engine_window"], report["steps"]
    replayed = window is not None and window["error"] is None
    tells = replayed and report["stretch"] is None
    if tells != (steps["corrected_p50_ms"] is not None) or tells != (steps["profiler_overhead_pct"] is not None):
        yield "the corrected step is known where the engine tells, and only there"
    if replayed and window["corrected_step_ms"] is None:
        yield "the engine tells nothing and does not say why"
    if known and len(report["inputs"]) == 1 and not replayed:
        yield "savings are known without a replay"


# --- comparing -----------------------------------------------------------------------------------------------------


def close(a, b, tolerance=1e-6):
    """True if equal to 1e-6, relative or absolute, as the contract requires."""
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def is_number(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool)


def mismatches(want, got, where="$"):
    """Returns the ways in which `got` differs from `want`, as a list of sentences; [] if it matches.

    Objects: compares only the keys of `want`. Lists: same length, row by row. Numbers: to half a nanosecond in ms.
    Three words make goldens weaker than equality (several in one object must all hold):
      {"$in": [a, b]}     one of these
      {"$has": [a, b]}    a list in which each of these matches some row
      {"$none": [a, b]}   a list in which no row matches any of these
    """
    if isinstance(want, dict) and len(want) > 1 and all(key.startswith("$") for key in want):
        return [m for word, rows in want.items() for m in mismatches({word: rows}, got, where)]
    if isinstance(want, dict) and len(want) == 1 and next(iter(want)).startswith("$"):
        word, rows = next(iter(want.items()))
        if word == "$in":
            return [] if any(not mismatches(w, got) for w in rows) else [f"{where}: {got!r} is none of {rows!r}"]
        if not isinstance(got, list):
            return [f"{where}: not a list: {got!r}"]
        found = [any(not mismatches(w, g) for g in got) for w in rows]
        if word == "$has":
            return [f"{where}: no row like {w!r} in {shorten(got)}" for w, f in zip(rows, found) if not f]
        if word == "$none":
            return [f"{where}: a row like {w!r} in {shorten(got)}" for w, f in zip(rows, found) if f]
        raise ValueError(f"unknown word {word} in an expectation")
    if isinstance(want, dict):
        if not isinstance(got, dict):
            return [f"{where}: not an object: {got!r}"]
        return [
            m
            for k, w in want.items()
            for m in (mismatches(w, got[k], f"{where}.{k}") if k in got else [f"{where}.{k}: missing"])
        ]
    if isinstance(want, list):
        if not isinstance(got, list) or len(want) != len(got):
            return [f"{where}: want {len(want)} rows: {shorten(got)}"]
        return [m for i, (w, g) in enumerate(zip(want, got)) for m in mismatches(w, g, f"{where}[{i}]")]
    if is_number(want) and is_number(got):
        return [] if math.isclose(want, got, rel_tol=1e-9, abs_tol=5e-7) else [f"{where}: want {want}, got {got}"]
    return [] if type(want) is type(got) and want == got else [f"{where}: want {want!r}, got {got!r}"]


def shorten(value, room=700):
    text = json.dumps(value)
    return text if len(text) <= room else text[:room] + " ..."
