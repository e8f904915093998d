"""Tests `headroom export`: each format has the trace's contents, and exported traces read back as the same rows."""
import csv
import gzip
import io
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

import memory_snapshot
from integration import stores, support

sys.path += [str(support.ROOT / "tests/nsight"), str(support.ROOT / "tests/rocprof")]
import export as nsight_export  # noqa: E402
import output as rocprof_output  # noqa: E402

SAMPLE = support.ROOT / "data/samples/resnet50_fp32_h200.json.gz"
RECORDING = support.ROOT / "data/samples/loader_one_worker.pftrace.gz"
EXTENSION = {"chrome": "json", "perfetto": "pftrace"}
OF_THE_FILE = {"inputs", "ranks", "health"}  # Paths and sizes; order and damage of a file.


def same_value(text, value):
    """True if a field of a CSV file equals a value of SQL. Texts that a spreadsheet would read as a formula start with
    a '.
    """
    if value is None:
        return text == ""
    if isinstance(value, str):
        return text in (value, f"'{value}")
    return text != "" and float(text) == value


class Export(support.ProgramTest):
    def export(self, trace, to, *more, name="out"):
        path = self.scratch / f"{name}.{EXTENSION.get(to, to)}"
        outcome = support.headroom("export", trace, "--to", to, "-o", path, *more)
        self.assertEqual(outcome.code, 0, outcome)
        return path

    def stdout_of(self, *arguments):
        outcome = support.headroom("export", *arguments, "-o", "-", "-q")
        self.assertEqual(outcome.code, 0, outcome)
        return outcome.out.decode()

    def assert_reads_back(self, trace, to):
        found = stores.compare(trace, self.export(trace, to), self.scratch)
        self.assertEqual(found, [], f"{trace} as {to}")

    def assert_says_the_same(self, trace):
        """Compares the copies' reports and what-ifs, including remedies for the tool that recorded them."""
        for to in EXTENSION:
            copy = self.export(trace, to)
            for command in (("report", "--no-local-state"), ("whatif", "no-idle")):
                said = [support.headroom(command[0], path, *command[1:], "--json") for path in (trace, copy)]
                self.assertEqual(said[0].code, said[1].code, said)
                want, got = (json.loads(outcome.out or b"{}") for outcome in said)
                if command[0] == "whatif" and said[0].code != 0:
                    want, got = ({"why": outcome.message} for outcome in said)
                for section in want.keys() - OF_THE_FILE:
                    self.assertEqual(
                        json.dumps(want[section]).replace(str(trace), "TRACE"),
                        json.dumps(got[section]).replace(str(copy), "TRACE"),
                        (to, command[0], section),
                    )
                if "health" in want:
                    self.assertEqual(
                        [(issue["code"], issue["count"]) for issue in want["health"]["issues"]],
                        [(issue["code"], issue["count"]) for issue in got["health"]["issues"]],
                    )

    def test_xplane_profiles_read_back(self):
        trace = support.data_file("public-traces/tracelens__mi300__jax_conv_minimal.xplane.pb")
        for to in EXTENSION:
            with self.subTest(to):
                self.assert_reads_back(trace, to)
        self.assert_says_the_same(trace)
        for to in EXTENSION:  # Texts also name the profiler that recorded them.
            outcome = support.headroom("report", self.export(trace, to), "--full")
            self.assertIn(b"StepTraceAnnotation", outcome.out)
            self.assertNotIn(b"prof.step()", outcome.out)

    def test_nsight_databases_read_back(self):
        for form in ("2020.3", "2024.5"):
            with self.subTest(form):
                trace = nsight_export.drawn(4).write(self.scratch / "made.sqlite", form)
                for to in EXTENSION:
                    self.assert_reads_back(trace, to)
                self.assert_says_the_same(trace)

    def test_rocprof_traces_read_back(self):
        for trace in (
            rocprof_output.write_json(self.scratch / "made.json", rocprof_output.drawn()),
            rocprof_output.write_pftrace(self.scratch / "made.pftrace", rocprof_output.drawn()),
        ):
            with self.subTest(trace.name):
                for to in EXTENSION:
                    self.assert_reads_back(trace, to)
                self.assert_says_the_same(trace)

    def test_memory_snapshots_read_back(self):
        trace = self.write("made.pickle", memory_snapshot.dump(memory_snapshot.Loop().run(3).snapshot()))
        for to in EXTENSION:
            with self.subTest(to):
                self.assert_reads_back(trace, to)
        self.assert_says_the_same(trace)

    def test_samples_read_back(self):
        for to in EXTENSION:
            for sample in (SAMPLE, RECORDING):
                with self.subTest(to=to, sample=sample.name):
                    self.assert_reads_back(sample, to)

    def test_traces_without_kineto_say_the_same(self):
        golden = support.ROOT / "tests/golden"
        own = [
            {
                "ph": "X",
                "pid": 1,
                "tid": 2,
                "ts": 1.5 + i,
                "dur": 1,
                "name": f"step {i}",
                "cat": "mine",
                "args": {"cat": "of its own", "n": i},
            }
            for i in range(3)
        ]
        for trace in (
            golden / "bare-array-of-pytorch-1.13/trace.json",
            golden / "plain-chrome-spans/trace.json",
            self.write("own.json", json.dumps(own)),
        ):
            for to in EXTENSION:
                with self.subTest(to=to, trace=trace):
                    self.assert_reads_back(trace, to)
            self.assert_says_the_same(trace)
        args = self.query_args(self.scratch / "own.json")
        self.assertEqual(args, [{"cat_": "mine", "cat": "of its own", "n": i} for i in range(3)])

    def query_args(self, trace):
        answer = support.headroom("query", trace, "select args from host_events order by start_ns", "--json").json()
        return [json.loads("{%s}" % row[0]) for row in answer["rows"]]

    def test_real_traces_read_back(self):
        traces = [t for t in support.real_traces() if t.parent.name == "public-traces" or support.FULL]
        if not traces:
            self.skipTest("no real traces")
        for to in EXTENSION:
            for trace in traces:
                with self.subTest(to=to, trace=trace.name):
                    self.assert_reads_back(trace, to)

    def test_reports_agree(self):
        want = self.report(SAMPLE, "--no-local-state")
        for to in EXTENSION:
            got = self.report(self.export(SAMPLE, to), "--no-local-state")
            for section in want.keys() - OF_THE_FILE:
                self.assertEqual(
                    json.dumps(want[section]).replace(str(SAMPLE), "TRACE"),
                    json.dumps(got[section]).replace(str(self.scratch / f"out.{EXTENSION[to]}"), "TRACE"),
                    section,
                )

    def test_the_comparison_sees_a_difference(self):
        with gzip.open(SAMPLE) as file:
            trace = json.load(file)
        kernel = next(e for e in trace["traceEvents"] if e.get("cat") == "kernel")
        kernel["args"]["registers per thread"] += 1
        changed = self.scratch / "changed.json"
        changed.write_text(json.dumps(trace))
        found = stores.compare(SAMPLE, changed, self.scratch)
        self.assertTrue(any("registers" in line for line in found), found)

    def odd_trace(self):
        """Tests overlaps on one thread and one stream, ids of every form, and texts that need escapes."""
        events = [
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": 'a;b"\\\n',
                "pid": "host \u00e9",
                "tid": 2**40,
                "ts": 10,
                "dur": 10,
                "args": {"note": "[1, 2]", "x": None},
            },
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": "late",
                "pid": "host \u00e9",
                "tid": 2**40,
                "ts": 15.5,
                "dur": 10,
                "args": {"f": 1.0, "g": {"h": []}},
            },
            {
                "ph": "X",
                "cat": "cuda_runtime",
                "name": "launch",
                "pid": 5,
                "tid": 5,
                "ts": 12,
                "dur": 1,
                "args": {"correlation": 2**62},
            },
            {
                "ph": "X",
                "cat": "kernel",
                "name": "k",
                "pid": 0,
                "tid": 7,
                "ts": 14,
                "dur": 9,
                "args": {"device": 0, "stream": 7, "correlation": 2**62, "kind": "x"},
            },
            {
                "ph": "X",
                "cat": "kernel",
                "name": "l",
                "pid": 0,
                "tid": 7,
                "ts": 16,
                "dur": 9.001,
                "args": {"device": 0, "stream": 7, "Collective name": ""},
            },
            {
                "ph": "X",
                "cat": "cuda_sync",
                "name": "Stream Sync",
                "pid": 0,
                "tid": 7,
                "ts": 16,
                "dur": 3,
                "args": {"device": 0, "stream": 7},
            },
            {"ph": "C", "name": "load", "pid": 5, "tid": 1, "ts": 11, "args": {"a": 0.1, "b": 1e300}},
            {
                "ph": "i",
                "s": "t",
                "name": "[memory]",
                "pid": 5,
                "tid": 5,
                "ts": 13,
                "args": {"Bytes": -512, "Addr": 2**40, "Device Id": 0},
            },
            {"ph": "i", "s": "t", "name": "mark", "cat": "headroom", "pid": 5, "tid": 5, "ts": 13, "args": {"q": True}},
            {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 7, "pid": 5, "tid": 5, "ts": 12},
            {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 7, "pid": 0, "tid": 7, "ts": 14, "bp": "e"},
            {"ph": "t", "cat": "other", "name": "other", "pid": 5, "tid": 6, "ts": 14},
        ]
        path = self.scratch / "odd.json"
        path.write_text(
            json.dumps(
                {
                    "distributedInfo": {"rank": 3, "world_size": 8},
                    "baseTimeNanoseconds": 10**18,
                    "traceEvents": events,
                }
            )
        )
        return path

    def test_odd_events_read_back(self):
        for to in EXTENSION:
            self.assert_reads_back(self.odd_trace(), to)
            told = self.report(self.export(self.odd_trace(), to))["inputs"][0]
            self.assertEqual((told["rank"], told["world_size"]), (3, 8))

    @unittest.skipUnless(shutil.which("protoc"), "protoc is not installed")
    def test_packets_are_perfettos(self):
        """Tests that another decoder reads the packets. Spans nest on each track, so that the viewer draws all of
        them."""
        data = self.export(self.odd_trace(), "perfetto").read_bytes()
        text = subprocess.run(
            ["protoc", "--decode=perfetto.protos.Trace", "-I", support.ROOT / "src/base", "perfetto_trace.proto"],
            input=data,
            capture_output=True,
            check=True,
        ).stdout.decode()
        self.assertNotRegex(text, r"(?m)^\s+\d+: ")  # Fields that the declarations do not define.
        described, open_spans, stamp = set(), {}, None
        for packet in text.split("packet {")[1:]:
            fields = [line.strip() for line in packet.splitlines()]
            value = {line.split(": ")[0]: line.split(": ", 1)[1] for line in fields if ": " in line}
            if "uuid" in value:
                described.add(value["uuid"])
            if value.get("type") in ("TYPE_SLICE_BEGIN", "TYPE_SLICE_END"):
                self.assertIn(value["track_uuid"], described)
                stack = open_spans.setdefault(value["track_uuid"], [0, 0])
                stamp = int(value["timestamp"])
                self.assertGreaterEqual(stamp, stack[1])
                stack[0] += 1 if value["type"] == "TYPE_SLICE_BEGIN" else -1
                stack[1] = stamp
                self.assertGreaterEqual(stack[0], 0)
        self.assertEqual({depth for depth, _ in open_spans.values()}, {0})
        self.assertEqual(len(open_spans), 6)  # Two threads and an overlap; a stream and an overlap; waits.

    def test_tables(self):
        folder = self.export(SAMPLE, "csv")
        self.assertEqual(len(list(folder.iterdir())), 13)
        with open(folder / "gpu_tasks.csv", newline="", encoding="utf-8") as file:
            tasks = list(csv.DictReader(file))
        with gzip.open(SAMPLE) as file:
            kernels = [
                e for e in json.load(file)["traceEvents"] if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
            ]
        self.assertEqual(len(tasks), len(kernels))
        self.assertEqual(sum(int(t["duration_ns"]) for t in tasks), sum(round(e["dur"] * 1000) for e in kernels))
        alone = self.stdout_of(SAMPLE, "--to", "csv", "--table", "gpu_tasks")
        self.assertEqual(alone, (folder / "gpu_tasks.csv").read_bytes().decode())
        self.assertEqual(next(csv.reader(io.StringIO(alone)))[:4], ["id", "start_ns", "duration_ns", "name"])

    def test_tables_hold_what_sql_says(self):
        """Compares every value of every CSV file with the store's own tables through SQL."""
        traces = [SAMPLE, RECORDING, self.odd_trace()]
        for trace in traces:
            folder = self.export(trace, "csv", name=f"tables-{trace.name}")
            for path in sorted(folder.iterdir()):
                with open(path, newline="", encoding="utf-8") as file:
                    got = list(csv.DictReader(file))
                answer = support.headroom("query", trace, f"SELECT * FROM {path.stem} ORDER BY id", "--json").json()
                self.assertEqual(len(got), len(answer["rows"]), (trace.name, path.stem))
                # SQL has the same columns in the same order, with its own names and some of the analyses at the end.
                for row, values in zip(got, answer["rows"]):
                    for (name, text), want in zip(row.items(), values, strict=False):
                        self.assertTrue(same_value(text, want), (trace.name, path.stem, name, text, want))

    def test_folded_stacks(self):
        lines = self.stdout_of(SAMPLE, "--to", "folded", "--folded", "gpu").splitlines()
        folder = self.export(SAMPLE, "csv")
        with open(folder / "gpu_tasks.csv", newline="", encoding="utf-8") as file:
            want = sum(int(t["duration_ns"]) for t in csv.DictReader(file))
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in lines), want)
        self.assertEqual(lines, sorted(lines, key=lambda line: line.rsplit(" ", 1)[0].encode()))
        host = self.stdout_of(SAMPLE, "--to", "folded").splitlines()
        self.assertTrue(any("aten::" in line and ";" in line for line in host))
        odd = self.stdout_of(self.odd_trace(), "--to", "folded")
        self.assertIn(';a:b"\\  10000\n', odd)

    def test_metrics(self):
        text = self.stdout_of(SAMPLE, "--to", "openmetrics")
        self.assertTrue(text.endswith("\n# EOF\n"))
        report = self.report(SAMPLE)
        try:
            from prometheus_client.openmetrics import parser
        except ImportError:
            self.skipTest("prometheus_client is not installed")
        families = {family.name: family for family in parser.text_string_to_metric_families(text)}
        step = {s.labels["stat"]: s.value for s in families["headroom_step_seconds"].samples}
        self.assertAlmostEqual(1e3 * step["p50"], report["steps"]["p50_ms"], places=6)
        self.assertEqual(families["headroom_step_seconds"].unit, "seconds")

    def test_what_is_refused(self):
        out = self.scratch / "x.json"
        self.assert_refused(support.headroom("export", SAMPLE, "--to", "chrome"), 2, "--output")
        self.assert_refused(support.headroom("export", SAMPLE, "--to", "parquet", "-o", out), 2, "--to")
        self.assert_refused(support.headroom("export", SAMPLE, "--to", "chrome", "-o", "-"), 2, "-o -", "a file")
        self.assert_refused(support.headroom("export", SAMPLE, "--to", "csv", "-o", "-"), 2, "--table")
        self.assert_refused(
            support.headroom("export", SAMPLE, "--to", "chrome", "--table", "steps", "-o", out), 2, "--to csv"
        )
        self.assert_refused(
            support.headroom("export", SAMPLE, "--to", "csv", "--table", "nothing", "-o", out), 2, "--table"
        )
        self.assert_refused(
            support.headroom("export", SAMPLE, "--to", "chrome", "--rank", "5", "-o", out), 2, "--rank 5"
        )
        self.assert_refused(support.headroom("export", self.scratch / "none", "--to", "chrome", "-o", out), 3, "none")
        copy = pathlib.Path(shutil.copy(SAMPLE, self.scratch / "copy.json.gz"))
        self.assert_refused(support.headroom("export", copy, "--to", "chrome", "-o", copy), 2, "an input trace")
        for to in EXTENSION:
            self.assert_refused(
                support.headroom("export", copy, "--to", to, "-o", self.scratch / "no/x.json"), 4, "no/x.json"
            )
        self.assertFalse(out.exists())

    def test_what_has_no_name_has_none_in_the_copy(self):
        trace = support.data_file("public-traces/tracelens__mi210__gpu_only_trace__gpu_only_trace.json.gz")
        copy = self.export(trace, "perfetto")
        for table in ("threads", "processes"):
            said = [
                support.headroom(
                    "query", path, f"select count(*), sum(name is null), sum(name = '') from {table}", "--json"
                ).json()["rows"]
                for path in (trace, copy)
            ]
            self.assertEqual(said[0], said[1], table)
        self.assertGreater(said[0][0][0], 0)

    def test_ctrl_c_leaves_nothing(self):
        """Until the file is complete, it has a temporary name next to its target. A signal used to leave the temporary
        file there."""
        trace = support.data_file("public-traces/hta__nccl_parser_config__nccl_data.json.gz")
        folder = self.scratch / "out"
        folder.mkdir()
        command = [support.BINARY, "export", trace, "--to", "chrome", "-o", folder / "x.json.gz"]
        # On a busy machine, the program may end before this process looks again.
        for _ in range(20):
            program = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            ends = time.monotonic() + 60
            while not list(folder.glob("*.tmp")) and program.poll() is None and time.monotonic() < ends:
                time.sleep(0.001)
            program.send_signal(signal.SIGINT)
            if program.wait() == -signal.SIGINT:
                break
            self.assertEqual((program.returncode, list(folder.iterdir())), (0, [folder / "x.json.gz"]))
            (folder / "x.json.gz").unlink()
        self.assertEqual(program.returncode, -signal.SIGINT)
        self.assertEqual(list(folder.iterdir()), [])

    def test_what_was_written_is_said_on_stderr_alone(self):
        for to, more, ending, said in (
            ("chrome", (), "json", " events"),
            ("perfetto", (), "pftrace", " track events"),
            ("csv", ("--table", "gpu_tasks"), "csv", "1 table"),
            ("folded", (), "folded", " stacks"),
            ("openmetrics", (), "prom", " figures"),
        ):
            path = self.scratch / f"x.{ending}"
            outcome = support.headroom("export", SAMPLE, "--to", to, *more, "-o", path)
            with self.subTest(to):
                self.assertEqual((outcome.code, outcome.out), (0, b""))
                self.assertRegex(outcome.message, rf"^wrote .*/x.{ending}: [\d,]*{said}\n$")
                if to == "folded":
                    self.assertIn(f": {len(path.read_text().splitlines()):,} stacks", outcome.message)
                if to in ("folded", "openmetrics"):
                    self.assertEqual(support.headroom("export", SAMPLE, "--to", to, "-o", "-").err, b"")

    def test_a_name_that_says_another_format_is_remarked_on(self):
        for name, to, remark in (
            ("x.json", "perfetto", "holds data that --to perfetto writes; --to chrome writes the format of that name"),
            ("x.pftrace", "chrome", "--to perfetto writes"),
            ("x.json.gz", "perfetto", "--to chrome writes"),
            ("x.csv", "folded", "--to csv writes"),
        ):
            outcome = support.headroom("export", SAMPLE, "--to", to, "-o", self.scratch / name)
            self.assertEqual(outcome.code, 0)
            self.assertIn(remark, outcome.message)
        for name, to in (("y.json.gz", "chrome"), ("y", "perfetto"), ("y.txt", "folded")):
            self.assertNotIn(
                " holds ", support.headroom("export", SAMPLE, "--to", to, "-o", self.scratch / name).message
            )

    @support.NEEDS_FULL_DEVICE
    def test_a_full_disk(self):
        for to, more in (
            ("chrome", ()),
            ("perfetto", ()),
            ("csv", ("--table", "host_events")),
            ("folded", ()),
            ("openmetrics", ()),
        ):
            self.assert_refused(
                support.headroom("export", SAMPLE, "--to", to, *more, "-q", "-o", support.FULL_DEVICE),
                4,
                support.FULL_DEVICE,
            )
