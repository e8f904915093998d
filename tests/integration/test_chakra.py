"""Tests `headroom export --to chakra`: the dependencies are complete, acyclic, and determine when everything ran."""
import collections
import csv
import gzip
import json
import random
import shutil
import subprocess
import sys
import unittest

import damage
from integration import chakra_reader, chakra_writer, stores, support

sys.path += [str(support.ROOT / "tests/nsight"), str(support.ROOT / "tests/rocprof")]
import export as nsight_export  # noqa: E402
import output as rocprof_output  # noqa: E402

SAMPLES = sorted((support.ROOT / "data/samples").glob("*_h200.json.gz"))


class Chakra(support.ProgramTest):
    def export(self, *traces, rank=0, name="out"):
        outcome = support.headroom("export", *traces, "--to", "chakra", "-o", self.scratch / name)
        self.assertEqual(outcome.code, 0, outcome)
        return self.scratch / f"{name}.{rank}.et"

    def refused(self, *arguments, code=2):
        outcome = support.headroom("export", "--to", "chakra", *arguments)
        self.assertEqual(outcome.code, code, outcome)
        return outcome.message

    def rows(self, trace, table):
        path = self.scratch / f"{table}.csv"
        outcome = support.headroom("export", trace, "--to", "csv", "--table", table, "-o", path, "-q")
        self.assertEqual(outcome.code, 0, outcome)
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def traces(self):
        """Yields traces with GPU work that a recorded call launched."""
        yield from SAMPLES
        for trace in support.some(support.real_traces(), every=3):
            if trace.parent.name == "public-traces" or support.FULL or trace.name.startswith("gpt2_fp32."):
                if not any(word in trace.name for word in ("cpu_only", "cupti_profiler", "memory_timeline")):
                    yield trace

    def test_every_trace(self):
        """Reads each file once for both tests, because reading takes most of the time."""
        for trace in self.traces():
            with self.subTest(trace=trace.name):
                metadata, nodes = self.read(trace)
                self.check_schedule(nodes)
                self.check_tasks(trace, metadata, nodes)

    def check_schedule(self, nodes):
        """A simulation that uses only dependencies reproduces the recorded ends to the microsecond."""
        before = {i: {*n.data_deps, *n.ctrl_deps} for i, n in nodes.items()}
        for i, deps in before.items():
            for dep in deps:
                self.assertLessEqual(nodes[dep].end, nodes[i].start, (dep, i))
        ends = chakra_reader.simulate(nodes)
        self.assertEqual([i for i, n in nodes.items() if ends[i] != n.end], [])

    samples = {}  # Cached contents, because several tests use them.

    def read(self, trace):
        if trace in SAMPLES:
            if trace not in self.samples:
                self.samples[trace] = self.read_again(trace)
            return self.samples[trace]
        return self.read_again(trace)

    def read_again(self, trace):
        outcome = support.headroom("export", trace, "--to", "chakra", "-o", self.scratch / "out")
        self.assertEqual(outcome.code, 0, outcome)
        (path,) = self.scratch.glob("out.*.et")
        read = chakra_reader.read(path)
        path.unlink()
        return read

    def test_steps_take_what_the_report_says(self):
        """A simulation that knows only lengths and dependencies has the report's step times."""
        for trace in SAMPLES:
            _, nodes = self.read(trace)
            ends = chakra_reader.simulate(nodes)
            last = collections.defaultdict(int)
            for i, n in nodes.items():
                if "step" in n.attributes:
                    last[n.attributes["step"]] = max(last[n.attributes["step"]], ends[i])
            steps = sorted(last)
            walls = {s["index"]: s["wall_ms"] for s in self.report(trace)["steps"]["list"]}
            for before, step in zip(steps, steps[1:]):
                self.assertAlmostEqual(
                    (last[step] - last[before]) / 1000, walls[step], delta=0.002, msg=(trace.name, step)
                )

    def check_tasks(self, trace, metadata, nodes):
        """Tests the round trip: the file returns the contents of the GPU tables that Chakra can hold."""
        tasks, events, streams = (self.rows(trace, table) for table in ("gpu_tasks", "host_events", "streams"))
        of_task = {n.attributes["task"]: n for n in nodes.values() if "task" in n.attributes}
        of_event = collections.defaultdict(list)
        for n in nodes.values():
            if "event" in n.attributes:  # Counts work, not the additional tables.
                of_event[n.attributes["event"]].append(n)
        self.assertEqual(sorted(of_task), list(range(len(tasks))))
        zero = metadata["zero_ns"]
        ids_of_event = {event: {n.id for n in nodes_of_it} for event, nodes_of_it in of_event.items()}
        for row, task in enumerate(tasks):
            n = of_task[row]
            self.assertEqual(
                (n.name, n.attributes["start_ns"], n.attributes["duration_ns"], n.attributes["is_cpu_op"]),
                (task["name"], int(task["start_ns"]), int(task["duration_ns"]), False),
            )
            self.assertEqual(n.attributes["stream"], int(streams[int(task["stream"])]["number"]))
            self.assertEqual(n.start, (int(task["start_ns"]) - zero) // 1000)
            self.assertEqual(n.end, (int(task["start_ns"]) + int(task["duration_ns"]) - zero) // 1000)
            at, called = task["launch"], False
            if not at:
                continue
            starts = int(events[int(at)]["start_ns"]) < int(task["start_ns"]) - 1000
            while at:
                event = events[int(at)]
                called |= not ids_of_event.get(int(at), set()).isdisjoint(n.data_deps)
                if event["kind"] == "operator":
                    self.assertEqual(of_event[int(at)][0].name, event["name"])
                at = event["parent"]
            self.assertTrue(called or not starts, f"task {row} does not depend on its launch")

    def test_slower_kernels_stay_in_the_order_of_their_stream(self):
        for trace in SAMPLES:
            _, nodes = self.read(trace)

            def slower(n):
                return n.duration * (3 if "task" in n.attributes else 1)

            ends = chakra_reader.simulate(nodes, slower)
            streams = collections.defaultdict(list)
            for n in nodes.values():
                if "task" in n.attributes:
                    streams[n.attributes["stream"]].append(n)
            for tasks in streams.values():
                tasks.sort(key=lambda n: n.attributes["task"])
                for before, after in zip(tasks, tasks[1:]):
                    if before.end <= after.start:
                        self.assertLessEqual(ends[before.id], ends[after.id] - slower(after), (before.id, after.id))

    def test_one_resource_each(self):
        """ASTRA-sim runs one node of the host and one of the GPU at a time. A job with one loop takes the same time
        there."""
        for trace in SAMPLES:
            _, nodes = self.read(trace)
            recorded = max(n.end for n in nodes.values())
            self.assertLess(max(chakra_reader.simulate(nodes, on_one_resource=True).values()), 1.05 * recorded)

    def test_collectives(self):
        trace = support.data_file("public-traces/hta__nccl_parser_config__nccl_data.json.gz")
        _, nodes = self.read(trace)
        types = {"allreduce": 0, "broadcast": 5}
        with gzip.open(trace) as file:
            events = json.load(file)["traceEvents"]
        want = sorted(
            (
                e["args"]["In msg nelems"] * {"Float": 4, "Byte": 1, "Long": 8, "Int": 4}[e["args"]["dtype"]],
                types[e["args"]["Collective name"]],
                e["args"]["Process Group Name"],
            )
            for e in events
            if e.get("cat") == "kernel" and e.get("args", {}).get("Collective name") in types
        )
        got = sorted(
            (n.attributes["comm_size"], n.attributes["comm_type"], n.attributes["pg_name"])
            for n in nodes.values()
            if n.type == 7
        )
        self.assertEqual(got, want)
        (groups,) = [n for n in nodes.values() if n.name == "process_group:init"]
        self.assertEqual(json.loads(groups.inputs[1][2:-2]), [{"pg_name": "0", "ranks": [0, 1]}])
        self.assertEqual(min(nodes), groups.id)  # The group must be read before the operations inside it.

    @unittest.skipUnless(shutil.which("protoc"), "protoc is not installed")
    def test_messages_are_chakras(self):
        """Another decoder reads the messages, and knows all their fields."""
        data = self.export(SAMPLES[0]).read_bytes()
        first, *rest = chakra_reader.messages(data)
        shape = next(m for m in rest if chakra_reader.node(m).inputs)
        task = next(m for m in rest if chakra_reader.node(m).type == 2)
        table = next(m for m in rest if chakra_reader.node(m).type == chakra_reader.METADATA)
        for kind, message in (("GlobalMetadata", first), ("Node", table), ("Node", shape), ("Node", task)):
            done = subprocess.run(
                ["protoc", f"--decode=ChakraProtoMsg.{kind}", "-I", support.ROOT / "src/export", "chakra_trace.proto"],
                input=bytes(message),
                capture_output=True,
                check=True,
            )
            self.assertNotRegex(done.stdout.decode(), r"(?m)^\s*\d+: ")
        read = chakra_reader.node(task)  # The node that was decoded last.
        self.assertIn(f"duration_micros: {read.duration}\n", done.stdout.decode())
        self.assertIn("type: MEM_LOAD_NODE", done.stdout.decode())

    def test_names_that_are_no_text(self):
        """A protobuf string must be UTF-8, or readers refuse the whole message."""
        trace = self.scratch / "odd.json"
        trace.write_bytes(
            b"""{"traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "a\xff\\u0000b", "pid": 1, "tid": 1, "ts": 0, "dur": 20,
             "args": {"Input Dims": [[1]], "Input type": ["\xfe"]}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 5, "dur": 5,
             "args": {"correlation": 1}},
            {"ph": "X", "cat": "kernel", "name": "k\xff", "pid": 0, "tid": 7, "ts": 12.5, "dur": 9,
             "args": {"device": 0, "stream": 7, "correlation": 1}}]}"""
        )
        _, nodes = self.read(trace)
        self.assertEqual(
            {n.name for n in nodes.values() if n.type != chakra_reader.METADATA},
            {"a\ufffd\0b", "cudaLaunchKernel", "k\ufffd", "(launch latency)"},
        )
        (task,) = [n for n in nodes.values() if "task" in n.attributes]
        self.assertEqual((task.start, task.duration), (12, 9))

    def job(self):
        """Tests two ranks whose files show the rank only in their names."""
        folder = self.scratch / "job"
        folder.mkdir()
        for rank in (0, 1):
            shutil.copy(
                support.data_file(f"public-traces/hta__trace_filter__sampled_rank-{rank}.json.gz"),
                folder / f"trace_rank-{rank}.json.gz",
            )
        return folder

    def test_a_file_a_rank(self):
        folder = self.job()
        for rank in (0, 1):
            metadata, _ = chakra_reader.read(self.export(folder, rank=rank, name="all"))
            self.assertEqual(metadata["rank"], rank)
        outcome = support.headroom("export", folder, "--to", "chakra", "-o", self.scratch / "one", "--rank", 1)
        self.assertEqual(outcome.code, 0, outcome)
        self.assertEqual([p.name for p in self.scratch.glob("one*")], ["one.1.et"])
        self.assertEqual((self.scratch / "one.1.et").read_bytes(), (self.scratch / "all.1.et").read_bytes())
        merged = self.scratch / "merged.json.gz"
        outcome = support.headroom("merge", folder, "-o", merged)
        self.assertEqual(outcome.code, 0, outcome)
        for rank in (0, 1):
            path = self.export(merged, rank=rank, name="parts")
            ours, theirs = (chakra_reader.read(p)[1] for p in (path, self.scratch / f"all.{rank}.et"))
            self.assertEqual(
                sorted(n.name for n in ours.values() if "task" in n.attributes),
                sorted(n.name for n in theirs.values() if "task" in n.attributes),
            )

    def assert_reads_back(self, trace):
        """Compares every table and column. The copy of a copy equals the copy."""
        path = self.exported(trace)
        self.assertEqual(stores.compare(trace, path, self.scratch), [])
        again = self.exported(path, "again")
        self.assertTrue(path.read_bytes() == again.read_bytes())
        again.unlink()
        return path

    def exported(self, trace, name="copy"):
        outcome = support.headroom("export", trace, "--to", "chakra", "-o", self.scratch / name)
        self.assertEqual(outcome.code, 0, outcome)
        (path,) = self.scratch.glob(f"{name}.*.et")
        return path.rename(self.scratch / f"{name}.et")  # This name contains no rank.

    def test_traces_read_back(self):
        for trace in self.traces():
            if trace in SAMPLES[:-1] and not support.FULL:
                continue  # The largest file. The others have the same structure.
            with self.subTest(trace=trace.name):
                self.assert_reads_back(trace).unlink()

    def test_other_formats_read_back(self):
        for trace in (
            support.data_file("public-traces/tracelens__mi300__jax_conv_minimal.xplane.pb"),
            nsight_export.drawn(4).write(self.scratch / "made.sqlite", "2024.5"),
            rocprof_output.write_json(self.scratch / "made.json", rocprof_output.drawn()),
        ):
            with self.subTest(trace=trace.name):
                self.assert_reads_back(trace).unlink()

    def test_reports_agree(self):
        """Compares all output of `report` and `whatif`, except the file's own path, size and format."""
        of_the_file = {"inputs", "ranks", "health"}
        for trace in SAMPLES:
            path = self.exported(trace)
            for command in (("report", "--no-local-state"), ("whatif", "--no-local-state")):
                want, got = (
                    json.loads(support.headroom(command[0], t, *command[1:], "--json").out) for t in (trace, path)
                )
                for section in want.keys() - of_the_file:
                    self.assertEqual(
                        json.dumps(want[section]).replace(str(trace), "TRACE"),
                        json.dumps(got[section]).replace(str(path), "TRACE"),
                        (trace.name, command[0], section),
                    )
            self.assertEqual(self.report(path)["inputs"][0]["format"], "chakra-execution-trace")
            path.unlink()

    def test_compressed_and_of_any_name(self):
        path = self.exported(SAMPLES[0])
        odd = self.write("trace.json", gzip.compress(path.read_bytes()))
        self.assertEqual(self.report(odd)["inputs"][0]["format"], "chakra-execution-trace")
        self.assertEqual(self.report(odd)["gpu_time"], self.report(path)["gpu_time"])

    def test_cuts_and_flips(self):
        """No damage crashes the program. A cut file keeps the nodes before the cut, and the report says so."""
        data = self.exported(self.small()).read_bytes()
        whole = self.report(self.write("whole.et", data))["inputs"][0]["events"]
        cuts = damage.sample([(f"cut-{k}.et", data[:k]) for k in range(1, len(data))], None if support.FULL else 40)
        rng = random.Random(damage.SEED)
        flips = damage.sample(
            [(f"flip-{k}.et", damage.flipped(data, k, rng)) for k in range(len(data))], None if support.FULL else 60
        )
        for name, damaged in cuts + flips:
            outcome = support.headroom("report", "--json", self.write(name, damaged))
            self.assertIn(outcome.code, (0, 3), outcome)
            if outcome.code == 0:
                report = outcome.json()
                self.assertEqual(support.violations(report), [], name)
                if name.startswith("cut"):
                    self.assertLessEqual(report["inputs"][0]["events"], whole + 1)  # The cut part counts, too.

    def small(self):
        return self.write(
            "small.json",
            json.dumps(
                {
                    "distributedInfo": {"rank": 3, "world_size": 8},
                    "traceEvents": [
                        {
                            "ph": "X",
                            "cat": "user_annotation",
                            "name": "ProfilerStep#1",
                            "pid": 1,
                            "tid": 1,
                            "ts": 0,
                            "dur": 40,
                        },
                        {
                            "ph": "X",
                            "cat": "cpu_op",
                            "name": "aten::mm",
                            "pid": 1,
                            "tid": 1,
                            "ts": 1,
                            "dur": 20,
                            "args": {
                                "Input Dims": [[8, 4], [4, 2]],
                                "Input type": ["float", "float"],
                                "External id": 1,
                            },
                        },
                        {
                            "ph": "X",
                            "cat": "cuda_runtime",
                            "name": "cudaLaunchKernel",
                            "pid": 1,
                            "tid": 1,
                            "ts": 5,
                            "dur": 5,
                            "args": {"correlation": 1},
                        },
                        {
                            "ph": "X",
                            "cat": "kernel",
                            "name": "gemm",
                            "pid": 0,
                            "tid": 7,
                            "ts": 12.5,
                            "dur": 9,
                            "args": {"device": 0, "stream": 7, "correlation": 1, "grid": [1, 2, 3]},
                        },
                        {"ph": "X", "cat": "cpu_op", "name": "waits", "pid": 1, "tid": 2, "ts": 3, "dur": 4},
                        {"ph": "C", "name": "load", "pid": 1, "tid": 1, "ts": 11, "args": {"a": 0.1, "b": 1e300}},
                        {
                            "ph": "i",
                            "s": "t",
                            "name": "[memory]",
                            "pid": 1,
                            "tid": 1,
                            "ts": 13,
                            "args": {"Bytes": -512, "Addr": 2**40, "Device Id": 0},
                        },
                    ],
                }
            ),
        )

    def test_small_trace_reads_back(self):
        path = self.assert_reads_back(self.small())
        told = self.report(path)["inputs"][0]
        self.assertEqual((told["rank"], told["world_size"]), (3, 8))

    def test_other_commands_take_it(self):
        path, trace = self.exported(SAMPLES[0]), SAMPLES[0]
        count = "SELECT count(*) AS n, sum(duration_ns) AS ns FROM gpu_tasks"
        want, got = (support.headroom("query", t, count, "--json").json()["rows"] for t in (trace, path))
        self.assertEqual(want, got)
        same = support.headroom("diff", trace, path, "--json")
        self.assertEqual(same.code, 0, same)
        back = self.scratch / "back.pftrace"
        outcome = support.headroom("export", path, "--to", "perfetto", "-o", back)
        self.assertEqual(outcome.code, 0, outcome)
        self.assertEqual(self.report(back)["kernels"], self.report(trace)["kernels"])

    def test_converted_execution_traces(self):
        """Tests PyTorch's execution trace as Chakra's converter writes it: lengths and dependencies, no times."""
        path = self.write("job.5.et", chakra_writer.converted())
        report = self.report(path)
        health = {issue["code"]: issue for issue in report["health"]["issues"]}
        self.assertIn("start times", health["not-collected"]["detail"])
        self.assertEqual(sum(row["count"] for row in report["kernels"]), chakra_writer.TASKS)
        self.assertAlmostEqual(report["gpu_time"][0]["communication_ms"], chakra_writer.COMMUNICATION_MICROS / 1000)
        self.assertEqual(report["steps"]["count"], chakra_writer.STEPS)
        # The first product is launched after 2 + 4 + 10 us on the host. After that its stream is never idle.
        self.assertAlmostEqual(report["gpu_time"][0]["span_ms"], (chakra_writer.STEPS * 340 + 0) / 1000, delta=0.2)
        self.assertIsNotNone(report["bottleneck"])
        operators = {row["name"]: row for row in report["operators"]}
        self.assertEqual(operators["aten::addmm"]["count"], chakra_writer.STEPS)
        self.assertEqual(operators["aten::addmm"]["total_us"], 300 * chakra_writer.STEPS)

    def test_refusals(self):
        self.assertIn("name the file", self.refused(SAMPLES[0], "-o", "-"))
        folder = self.scratch / "two"
        folder.mkdir()
        for name in ("a", "b"):
            shutil.copy(SAMPLES[0], folder / f"{name}.json.gz")
        self.assertIn("unknown rank", self.refused(folder, "-o", self.scratch / "out"))
        for name in ("a", "b"):
            (folder / f"{name}.json.gz").rename(folder / f"rank0.{name}.json.gz")
        self.assertIn("another trace also has rank 0", self.refused(folder, "-o", self.scratch / "out"))
        self.assertEqual(list(self.scratch.glob("out*")), [])  # A failed export leaves no file.
        self.assertIn("cannot write", self.refused(SAMPLES[0], "-o", self.scratch / "missing/out", code=4).lower())
        recording = support.ROOT / "data/samples/loader_one_worker.pftrace.gz"
        self.assertIn("no GPU task", self.refused(recording, "-o", self.scratch / "out", code=3))
        self.assertEqual(list(self.scratch.glob("out*")), [])
