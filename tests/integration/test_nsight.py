"""Tests SQLite exports of Nsight Systems: the numbers of PyTorch's own trace, the forms of all versions, and damage.

The databases are generated (tests/nsight/export.py), not recorded.
"""
import gzip
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

from integration import support

sys.path.insert(0, str(support.ROOT / "tests/nsight"))
import export  # noqa: E402

TRACES = ("gpt2_fp32", "resnet50_amp-fp16", "bert_base_amp-bf16_attn-sdpa_opt-fused")
# Figures that do not need the parts that the format lacks: types of operands, and the profiler's own events.
SAME = ("gpu_time", "idle", "step_breakdown", "kernels", "classes", "syncs", "layers", "regions")


# Replaces `nsys export` and follows its documentation. A report file contains the path of its database.
NSYS = """#!{python}
import argparse, pathlib, shutil, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("command", choices=["export"])
parser.add_argument("-t", "--type", required=True)
parser.add_argument("-o", "--output", required=True)
parser.add_argument("-f", "--force-overwrite", default="false")
parser.add_argument("report")
given = parser.parse_args()
report = pathlib.Path(given.report)
word, _, database = report.read_text().partition(" ")
print("Processing [====================100%]", end="\\r", flush=True)
if given.type != "sqlite" or (pathlib.Path(given.output).exists() and given.force_overwrite != "true"):
    sys.exit(2)
if word == "newer":
    print("Error: the report was created by a newer version of Nsight Systems.", file=sys.stderr)
    sys.exit(1)
if word == "slow":
    pathlib.Path(given.output).touch()
    time.sleep(60)
if word == "report":
    shutil.copyfile(database, given.output)
"""


def health(report):
    return {issue["code"]: issue for issue in report["health"]["issues"]}


class Nsight(support.ProgramTest):
    def report(self, path, *arguments, **how):
        outcome = support.headroom("report", "--json", *arguments, path, **how)
        self.assertEqual(outcome.code, 0, str(outcome))
        return outcome.json()

    def drawn(self, form="2024.5", change=lambda made: None, steps=4):
        made = export.drawn(steps)
        change(made)
        return made.write(self.scratch / "made.sqlite", form)

    def change(self, path, *statements):
        with sqlite3.connect(path) as database:
            for statement in statements:
                database.execute(statement)
        database.close()
        return path

    def test_the_numbers_are_those_of_pytorchs_trace(self):
        for name in TRACES:
            source = support.data_file(f"h200/traces/{name}.json.gz")
            with gzip.open(source) as file:
                made = export.from_kineto(json.load(file))
            theirs = self.report(source)
            for form in ("2022.4", "2025.1"):
                with self.subTest(name, form=form):
                    ours = self.report(made.write(self.scratch / "made.sqlite", form))
                    for key in SAME:
                        self.assertEqual(ours[key], theirs[key], key)
                    for step, other in zip(ours["steps"]["list"], theirs["steps"]["list"], strict=True):
                        self.assertEqual({**step, "start_ms": 0}, {**other, "start_ms": 0})
                    # Without the types of operands there are no FLOPs.
                    untyped = [
                        {**row, **dict.fromkeys(("flops", "bytes", "bound", "roofline_pct"))}
                        for row in theirs["operators"]
                    ]
                    self.assertEqual(
                        [
                            {**row, **dict.fromkeys(("flops", "bytes", "bound", "roofline_pct"))}
                            for row in ours["operators"]
                        ],
                        untyped,
                    )

    def nsys(self):
        """Returns an environment with a program `nsys` on PATH and an empty folder for temporary files."""
        folder = self.scratch / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "nsys"
        program.write_text(NSYS.format(python=sys.executable))
        program.chmod(0o755)
        temporary = self.scratch / "temporary"
        temporary.mkdir(exist_ok=True)
        return {"PATH": f"{folder}:/usr/bin:/bin", "TMPDIR": str(temporary)}

    def left_behind(self):
        return list((self.scratch / "temporary").iterdir())

    def test_a_report_is_exported_by_nsys(self):
        environment = self.nsys()
        database = self.drawn()
        expected = self.report(database)
        report = self.write("my run.nsys-rep", f"report {database}")
        packed = self.write("packed.nsys-rep.gz", gzip.compress(report.read_bytes()))
        older = self.write("-older.qdrep", report.read_bytes())
        for path in (report, packed, older):
            with self.subTest(path.name):
                found = self.report(path, cwd=self.scratch, environment=environment)
                for key in (*SAME, "steps"):
                    self.assertEqual(found[key], expected[key], key)
                self.assertEqual(found["inputs"][0]["bytes"], path.stat().st_size)
                self.assertEqual(self.left_behind(), [])
        outcome = support.headroom("query", "--json", packed, "select count(*) from gpu_tasks", environment=environment)
        self.assertEqual(outcome.code, 0, outcome)

    def test_a_report_that_nsys_does_not_export(self):
        environment = self.nsys()
        newer = self.write("my run.nsys-rep", "newer")
        command = f"nsys export --type sqlite '{newer}'"
        self.assert_refused(
            support.headroom("report", newer, environment=environment),
            3,
            "exit code 1: Error: the report was created by a newer version",
            command,
        )
        nothing = self.write("nothing.nsys-rep", "nothing")
        self.assert_refused(support.headroom("report", nothing, environment=environment), 3, "wrote no database")
        junk = self.write("junk.nsys-rep", f"report {self.write('junk', 'x' * 5000)}")
        self.assert_refused(support.headroom("report", junk, environment=environment), 3, junk, "cannot be read")
        self.assertEqual(self.left_behind(), [])
        without = {**environment, "PATH": f"bin:{self.scratch / 'none'}"}  # A relative folder does not count.
        self.assert_refused(
            support.headroom("report", newer, cwd=self.scratch, environment=without), 3, "nsys is not on PATH", command
        )

    def test_what_is_named_like_a_report_and_is_none(self):
        environment = self.nsys()
        named = {
            "pointer.nsys-rep": (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
            "page.nsys-rep": (b"<!DOCTYPE html><html>", "web page"),
            "empty.nsys-rep": (b"", "empty"),
        }
        for name, (data, what) in named.items():
            with self.subTest(name):
                self.assert_refused(
                    support.headroom("report", self.write(name, data), environment=environment), 3, what
                )
        database = self.scratch / "database.nsys-rep"
        shutil.copyfile(self.drawn(), database)
        self.assertEqual(support.headroom("report", database, environment=environment).code, 0)

    def test_a_signal_during_the_export_leaves_nothing(self):
        environment = self.nsys()
        slow = self.write("slow.nsys-rep", "slow")
        program = subprocess.Popen([support.BINARY, "report", slow], env={**os.environ, **environment})
        deadline = time.monotonic() + 30
        while not any(self.scratch.glob("temporary/*/report.sqlite")) and time.monotonic() < deadline:
            time.sleep(0.05)
        program.terminate()
        program.wait(30)
        self.assertEqual(self.left_behind(), [])

    def test_every_form_says_the_same(self):
        reports = {form: self.report(self.drawn(form)) for form in export.FORMS}
        for form, report in reports.items():
            with self.subTest(form):
                self.assertEqual(report["steps"]["marker"], "step N")
                self.assertEqual([step["index"] for step in report["steps"]["list"]], [0, 1, 2, 3])
                self.assertEqual(
                    {kernel["name"]: kernel["count"] for kernel in report["kernels"]}["void gemm<float, 128>(float*)"],
                    4,
                )
                self.assertIn("aten::mm", {row["name"] for row in report["operators"]})
                for key in ("gpu_time", "idle", "step_breakdown", "syncs"):
                    if form != "2020.3":  # This form does not name its GPU.
                        self.assertEqual(report[key], reports["2024.5"][key], key)
                self.assertIn(
                    "Not all CUDA events might have been collected", health(report)["collection-problem"]["detail"]
                )
        self.assertIn("no-device-properties", health(reports["2020.3"]))

    def test_what_was_not_collected_is_named_with_its_flag(self):
        def bare(made):
            for table in ("OSRT_API", "CUDA_GPU_MEMORY_USAGE_EVENTS", "GPU_METRICS", "NVTX_EVENTS"):
                made.rows[table].clear()

        issues = health(self.report(self.drawn(change=bare)))
        for flag in ("--trace=nvtx", "--trace=osrt", "--cuda-memory-usage=true", "--gpu-metrics-devices=all"):
            self.assertIn(flag, issues["not-collected"]["detail"])
        self.assertIn("emit_nvtx", issues["no-operators"]["detail"])

    def test_whole_graphs(self):
        def whole(made):
            made.task("GRAPH_TRACE", 5_000_000, 5_100_000, pid=1000, device=0, stream=7, correlation=777, graphId=3)
            made.call("cudaGraphLaunch_v10000", 4_990_000, 4_995_000, pid=1000, tid=1000, correlation=777)

        report = self.report(self.drawn(change=whole))
        self.assertIn("--cuda-graph-trace=node", health(report)["opaque-graphs"]["detail"])
        self.assertIn("CUDA graph 3", {kernel["name"] for kernel in report["kernels"]})

    def test_processes_that_count_their_gpus_differently(self):
        def two(made):
            made.gpus.append({**made.gpus[0], "id": 1})
            made.processes[2000] = "python train.py"
            for pid, gpu in ((1000, 0), (2000, 1)):
                made.add("TARGET_INFO_CUDA_DEVICE", gpuId=gpu, cudaId=0, pid=pid)
            made.kernel("other", 2_000_000, 2_100_000, pid=2000, device=0, stream=7, correlation=1)
            made.call("cudaLaunchKernel_v7000", 1_990_000, 1_995_000, pid=2000, tid=2000, correlation=1)

        report = self.report(self.drawn(change=two))
        self.assertEqual([row["device"] for row in report["gpu_time"]], [0, 1])
        self.assertNotIn("misplaced-task", health(report))

    def test_forecasts(self):
        source = support.data_file("h200/traces/gpt2_fp32.json.gz")
        with gzip.open(source) as file:
            made = export.from_kineto(json.load(file)).write(self.scratch / "made.sqlite")
        forecasts = [
            support.headroom("whatif", "--json", "--no-local-state", path, "gpu-speed:factor=2")
            for path in (made, source)
        ]
        ours, theirs = (outcome.json()["scenarios"][0]["step_ms"] for outcome in forecasts)
        self.assertAlmostEqual(ours["mid"], theirs["mid"], delta=0.01 * theirs["mid"])

    def test_compressed_and_odd_names(self):
        path = self.drawn()
        expected = self.report(path)["gpu_time"]
        odd = self.scratch / "a b?mode=rw#%41'\".sqlite"
        shutil.copy(path, odd)
        packed = self.scratch / "made.sqlite.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        folder = self.scratch / "room"
        folder.mkdir(exist_ok=True)
        for other in (odd, packed):
            self.assertEqual(self.report(other)["gpu_time"], expected)
        before = sorted(os.listdir(self.scratch))
        outcome = subprocess.run(
            [support.BINARY, "report", "--json", packed], env={**os.environ, "TMPDIR": str(folder)}, capture_output=True
        )
        self.assertEqual((outcome.returncode, os.listdir(folder), sorted(os.listdir(self.scratch))), (0, [], before))
        refused = subprocess.run(
            [support.BINARY, "report", packed],
            env={**os.environ, "TMPDIR": "/nonexistent"},
            capture_output=True,
            text=True,
        )
        self.assertEqual(refused.returncode, 4, refused)
        self.assertIn("TMPDIR", refused.stderr)

    def test_a_signal_while_it_is_unpacked_leaves_nothing(self):
        pipe, room = self.scratch / "made.sqlite.gz", self.scratch / "room"
        os.mkfifo(pipe)
        room.mkdir()
        data = gzip.compress(b"SQLite format 3\0" + random.Random(1).randbytes(1 << 22), 1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                process = subprocess.Popen(
                    [support.BINARY, "report", pipe],
                    env={**os.environ, "TMPDIR": str(room)},
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # nohup ignores it.
                )
                with pipe.open("wb", buffering=0) as writer:
                    writer.write(data[: len(data) // 2])
                    for _ in range(600):
                        if list(room.iterdir()):
                            break
                        time.sleep(0.1)
                    self.assertTrue(list(room.iterdir()), "it is unpacked elsewhere")
                    process.send_signal(number)
                    self.assertEqual(process.wait(60), -number)
                self.assertEqual(list(room.iterdir()), [])

    def test_a_file_of_somebody_else_is_left_alone(self):
        path = self.drawn()
        before, entries = path.read_bytes(), sorted(os.listdir(self.scratch))
        path.chmod(0o444)
        self.report(path)
        self.assertEqual((path.read_bytes(), sorted(os.listdir(self.scratch))), (before, entries))

    def test_what_is_no_export(self):
        for statements, says in {
            ("CREATE TABLE runs (id)",): "not one of Nsight Systems or rocprofv3",
            ("CREATE TABLE rocpd_op (id)",): "rpd2tracing.py",
            (
                "CREATE TABLE x (id)",
                "CREATE VIEW NVTX_EVENTS AS SELECT * FROM x",
            ): "not one of Nsight Systems or rocprofv3",
        }.items():
            path = self.scratch / "other.sqlite"
            path.unlink(missing_ok=True)
            self.assert_refused(support.headroom("report", self.change(path, *statements)), 3, says)

    def test_damage_is_told_and_hurts_nobody(self):
        path = self.drawn(steps=40)
        whole = path.read_bytes()
        chance = random.Random(1)
        damaged = self.scratch / "damaged.sqlite"
        kept = 0
        for number in range(60):
            data = bytearray(whole)
            if number % 3 == 0:
                del data[chance.randrange(100, len(data)) :]
            for _ in range(number % 3 * 8):
                data[chance.randrange(100, len(data))] = chance.randrange(256)
            damaged.write_bytes(data)
            outcome = support.headroom("report", "--json", damaged)
            self.assertIn(outcome.code, (0, 3), str(outcome))
            if outcome.code:
                self.assertIn("damaged.sqlite: ", outcome.message)
                continue
            kept += 1
            if len(data) < len(whole):
                self.assertIn("truncated", health(outcome.json()))
        self.assertGreater(kept, 20)

    def test_pages_that_are_missing(self):
        """SQLite itself refuses such a file."""
        path = self.drawn(steps=40)
        whole = path.read_bytes()

        def busy(file):
            return sum(row["busy_ms"] for row in self.report(file)["gpu_time"])

        for share in (0.98, 0.9, 0.6):
            cut = self.scratch / "cut.sqlite"
            cut.write_bytes(whole[: int(len(whole) * share)])
            report = self.report(cut)
            self.assertIn("truncated", health(report), share)
            self.assertLessEqual(busy(cut), busy(path), share)
            self.assertGreater(busy(cut), 0, share)

    def test_rows_that_lie_beside_the_file(self):
        """Tests SQLite's write-ahead log, and the journal of a stopped writer. Neither is read, and both are
        reported.
        """
        path = self.drawn()
        whole = self.report(path)
        self.assertNotIn("truncated", health(whole))
        journal = path.with_name(path.name + "-journal")
        journal.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")
        self.assertIn("-journal", health(self.report(path))["truncated"]["detail"])
        journal.unlink()
        database = sqlite3.connect(path)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL")
        database.commit()
        copy = self.scratch / "copy.sqlite"
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
        database.close()
        report = self.report(copy)
        self.assertIn("-wal", health(report)["truncated"]["detail"])
        self.assertEqual(report["gpu_time"], whole["gpu_time"])
        self.assertEqual(sorted(f.name for f in self.scratch.glob("copy*")), ["copy.sqlite", "copy.sqlite-wal"])
        self.assertNotIn("truncated", health(self.report(path)))

    def test_names_of_columns_in_any_case(self):
        path = self.drawn()
        before = self.report(path)
        path = self.change(path, 'ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN "start" TO "START"')
        self.assertEqual(self.report(path)["gpu_time"], before["gpu_time"])

    def test_what_unified_memory_moves(self):
        def moved(made):
            made.task(
                "MEMCPY",
                6_000_000,
                6_100_000,
                pid=1000,
                device=0,
                stream=7,
                correlation=None,
                bytes=4096,
                copyKind=11,
                srcKind=4,
                dstKind=2,
            )

        report = self.report(self.drawn(change=moved))
        self.assertIn("Memcpy Unified HtoD (Managed -> Device)", {row["name"] for row in report["kernels"]})

    def test_a_second_reading(self):
        """Compares every row of the event tables with SQL on the file itself."""
        path = self.drawn("2024.5")
        database = sqlite3.connect(path)

        def query(sql):
            return sorted(
                (tuple(row) for row in support.headroom("query", "--json", path, sql).json()["rows"]), key=str
            )

        def theirs(sql):
            return sorted(database.execute(sql), key=str)

        self.assertEqual(
            query(
                "select t.start_ns, t.duration_ns, t.name, s.number, d.ordinal, t.correlation, t.grid_x, t.block_x, "
                "t.registers, t.shared_memory_bytes from gpu_tasks t join streams s on s.id = t.stream_id "
                "join devices d on d.id = s.device_id where t.kind = 'kernel'"
            ),
            theirs(
                'select k.start, k."end" - k.start, n.value, k.streamId, k.deviceId, k.correlationId, gridX, blockX, '
                "registersPerThread, staticSharedMemory + dynamicSharedMemory from CUPTI_ACTIVITY_KIND_KERNEL k "
                "join StringIds n on n.id = k.demangledName"
            ),
        )
        self.assertEqual(
            query("select t.start_ns, t.duration_ns, t.correlation, t.bytes from gpu_tasks t where t.kind <> 'kernel'"),
            theirs(
                'select start, "end" - start, correlationId, bytes from CUPTI_ACTIVITY_KIND_MEMCPY '
                'union all select start, "end" - start, correlationId, bytes from CUPTI_ACTIVITY_KIND_MEMSET'
            ),
        )
        self.assertEqual(
            query(
                "select e.start_ns, e.duration_ns, e.name, p.pid, t.tid, e.correlation from host_events e "
                "join threads t on t.id = e.thread_id join processes p on p.id = t.process_id "
                "where e.kind = 'runtime_call'"
            ),
            theirs(
                "select c.start, c.\"end\" - c.start, substr(n.value, 1, instr(n.value, '_v') - 1), "
                "cast(globalTid >> 24 & 0xffffff as text), cast(globalTid & 0xffffff as text), correlationId "
                "from CUPTI_ACTIVITY_KIND_RUNTIME c join StringIds n on n.id = c.nameId"
            ),
        )
        ranges = (
            'select start, "end" - start, coalesce(text, value) '
            "from NVTX_EVENTS left join StringIds on id = textId where eventType in (59, 60)"
        )
        self.assertEqual(
            query("select start_ns, duration_ns, name from host_events where kind in ('operator', 'annotation')"),
            sorted(
                ((start, length, text.split(", seq")[0]) for start, length, text in database.execute(ranges)), key=str
            ),
        )
        database.close()

    def test_rows_of_no_sense(self):
        path = self.change(
            self.drawn(),
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'soon' WHERE rowid = 1",
            'UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET "end" = 1 WHERE rowid = 2',
            "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = 12345 WHERE rowid = 1",
            "UPDATE NVTX_EVENTS SET text = x'fffe00' WHERE rowid = 2",
        )
        issues = health(self.report(path))
        self.assertLessEqual({"bad-time", "negative-duration", "missing-name"}, issues.keys())

    def test_an_end_far_beyond_the_trace(self):
        whole = self.report(self.drawn())
        path = self.change(self.drawn(), 'UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET "end" = 1 << 59 WHERE rowid = 4')
        report = self.report(path)
        self.assertIn("overflowing-duration", health(report))
        self.assertLess(report["gpu_time"][0]["span_ms"], 2 * whole["gpu_time"][0]["span_ms"])
