"""Tests databases of ROCm's rocprofv3 (rocpd): the numbers of its JSON and of PyTorch's own trace, joins within a
process, and damage.

The databases are generated (tests/rocprof/rocpd.py), not recorded.
"""
import gzip
import json
import random
import sqlite3
import sys

from integration import support

sys.path.insert(0, str(support.ROOT / "tests/rocprof"))
import output  # noqa: E402
import rocpd  # noqa: E402

SAME = (
    "gpu_time",
    "idle",
    "step_breakdown",
    "kernels",
    "classes",
    "syncs",
    "operators",
    "bottleneck",
    "input_wait",
    "memory",
)


def health(report):
    return {issue["code"]: issue for issue in report["health"]["issues"]}


class Rocpd(support.ProgramTest):
    def query(self, path, sql):
        outcome = support.headroom("query", "--json", path, sql)
        self.assertEqual(outcome.code, 0, str(outcome))
        return outcome.json()["rows"]

    def database(self, *recordings, form="3.0.0"):
        return rocpd.write_rocpd(self.scratch / "made.db", *(recordings or [output.drawn()]), form=form)

    def change(self, path, *statements):
        database = sqlite3.connect(path)
        with database:
            for statement in statements:
                database.execute(statement)
        database.close()
        return path

    def table(self, path, name):
        """Returns the table of a kind, with the id of its recording."""
        database = sqlite3.connect(path)
        (found,) = database.execute(
            "select name from sqlite_master where type = 'table' and name like ?", [f"{name}_0198%"]
        ).fetchone()
        database.close()
        return found

    def test_every_form_says_the_same_as_the_json(self):
        usual = self.report(output.write_json(self.scratch / "made.json", output.drawn(), form="7.1"))
        for form in rocpd.FORMS:
            with self.subTest(form):
                report = self.report(self.database(form=form))
                self.assertEqual(report["inputs"][0]["format"], "rocprofv3-rocpd")
                self.assertEqual(report["inputs"][0]["devices"], usual["inputs"][0]["devices"])
                self.assertEqual(report["steps"], usual["steps"])
                for key in SAME:
                    self.assertEqual(report[key], usual[key], key)
                issues = health(report)
                self.assertNotIn("orphan-gpu-task", issues)
                self.assertIn("rocpd_pmc_event: 3 records", issues.pop("unread-data")["detail"])
                theirs = health(usual)
                theirs.pop("unread-data")
                self.assertEqual(issues, theirs)

    def test_the_numbers_are_those_of_pytorchs_trace(self):
        for name in ("tracelens__mi300__resnet_act_checkpoint", "hta__amd_trace__mi250_minitoy_train_ROCm6_2_kineto"):
            source = support.data_file(f"public-traces/{name}.json.gz")
            with gzip.open(source) as file:
                job = output.from_kineto(json.load(file))
            theirs = self.report(source)
            for form in ("3.0.0", "4.1.0"):
                with self.subTest(name, form=form):
                    ours = self.report(self.database(job, form=form))
                    for step, other in zip(ours["steps"]["list"], theirs["steps"]["list"], strict=True):
                        self.assertEqual({**step, "start_ms": 0}, {**other, "start_ms": 0, "rank": None})
                    for key in ("gpu_time", "idle", "step_breakdown", "classes", "syncs"):
                        rows = theirs[key]
                        if isinstance(rows, list):
                            rows = [{**row, "rank": None} if "rank" in row else row for row in rows]
                        self.assertEqual(ours[key], rows, key)

    def test_a_second_reading(self):
        """Compares tasks and their calls with SQL on the file itself."""
        path = self.database()
        database = sqlite3.connect(path)
        kernels = database.execute(
            """
            select s.display_name, k.start, k.end - k.start, r.start, n.string, k.grid_size_x / k.workgroup_size_x
            from rocpd_kernel_dispatch k join rocpd_info_kernel_symbol s on s.id = k.kernel_id
            join rocpd_event e on e.id = k.event_id
            join rocpd_event c on c.stack_id = e.stack_id
            join rocpd_region r on r.event_id = c.id join rocpd_string n on n.id = r.name_id order by k.start"""
        )
        expected = [list(row) for row in kernels]
        database.close()
        self.assertEqual(len(expected), 8)
        self.assertEqual(
            self.query(
                path,
                """select t.name, t.start_ns, t.duration_ns, e.start_ns, e.name, t.grid_x
                   from gpu_tasks t join host_events e on e.id = t.launch_id where t.kind = 'kernel'
                   order by t.start_ns""",
            ),
            expected,
        )

    def test_several_processes(self):
        """Joins stay within a process: ids and even times are the same in both. Their threads share one number."""
        jobs = [output.drawn(), output.drawn(pid=9000)]
        for recordings in ([jobs], jobs):
            with self.subTest(recordings=len(recordings)):
                path = self.database(*recordings)
                self.assertEqual(
                    self.query(path, "select distinct p.pid from processes p order by 1"), [["4000"], ["9000"]]
                )
                self.assertEqual(self.query(path, "select count(*) from gpu_tasks where launch_id is null"), [[0]])
                self.assertEqual(self.query(path, "select count(*) from devices"), [[1]])
                # Each call launches one separate task.
                self.assertEqual(
                    self.query(
                        path, "select count(*), count(distinct launch_id), count(distinct correlation) from gpu_tasks"
                    ),
                    [[32, 32, 32]],
                )

    def test_a_call_of_another_process_is_no_launch(self):
        """The second process recorded no calls. Its kernels have none, although ids and times would match."""
        silent = output.drawn(pid=9000)
        silent.calls.clear()
        for recordings in ([[output.drawn(), silent]], [output.drawn(), silent]):
            path = self.database(*recordings)
            self.assertEqual(
                self.query(path, "select launch_id is null, count(*) from gpu_tasks group by 1 order by 1"),
                [[0, 16], [1, 16]],
            )

    def test_start_stop_ranges_marks_and_short_calls(self):
        job = output.drawn()
        job.range("epoch", 500_000, 4_500_000, correlation=7001, operation="roctxRangeStartA")
        job.range("checkpoint", 2_000_000, 2_000_000, correlation=7002, operation="roctxMarkA")
        job.call("hipGetLastError", 2_100_000, 2_100_000, correlation=7003)
        for form, name in (("3.0.0", "(call without a name)"), ("4.1.0", "hipGetLastError")):
            with self.subTest(form):
                path = self.database(job, form=form)
                self.assertEqual(
                    self.query(
                        path,
                        "select t.tid from host_events e join threads t on t.id = e.thread_id where e.name = 'epoch'",
                    ),
                    [["ROCTx start-stop ranges"]],
                )
                self.assertEqual(self.query(path, "select name, time_ns from instants"), [["checkpoint", 2_000_000]])
                self.assertEqual(
                    self.query(path, "select name from host_events where start_ns = 2100000 and duration_ns = 0"),
                    [[name]],
                )
                self.assertEqual(len(self.report(path)["steps"]["list"]), 4)

    def test_queues_where_streams_were_not_traced(self):
        """All work is then on stream 0, so communication and computation would seem to share a stream."""
        job = output.drawn()
        for row in job.kernels + job.copies:
            row["stream"] = 0
        path = self.database(job)
        self.assertEqual(
            self.query(
                path, "select distinct s.number from gpu_tasks t join streams s on s.id = t.stream_id order by 1"
            ),
            [[-1], [1], [2]],
        )

    def test_compressed_and_without_secrets(self):
        path = self.database()
        expected = self.report(path)["gpu_time"]
        packed = self.scratch / "made.db.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        self.assertEqual(self.report(packed)["gpu_time"], expected)
        everything = json.dumps(
            [
                self.query(path, f"select * from {table}")
                for table in ("processes", "threads", "host_events", "gpu_tasks", "devices")
            ]
        )
        self.assertIn("python3", everything)
        for secret in ("hunter2", "somebody"):
            self.assertNotIn(secret, everything)

    def test_what_was_not_collected_is_named_with_its_flag(self):
        job = output.drawn()
        job.calls.clear()
        issues = health(self.report(self.database(job)))
        for flag in ("--hip-trace", "--marker-trace"):
            self.assertIn(flag, issues["not-collected"]["detail"])

    def test_rows_that_point_nowhere(self):
        path = self.database()
        region, dispatch, symbol, event = (
            self.table(path, name)
            for name in ("rocpd_region", "rocpd_kernel_dispatch", "rocpd_info_kernel_symbol", "rocpd_event")
        )
        self.change(
            path,
            f'update "{region}" set name_id = 999 where id = 2',
            f'update "{dispatch}" set kernel_id = 999, agent_id = 999, event_id = null where id = 1',
            f"""update "{dispatch}" set "end" = 'soon' where id = 2""",
            f'update "{dispatch}" set start = -5 where id = 3',
            f"""update "{event}" set extdata = '{{"message": "cut' where id = 1""",
            f"""update "{symbol}" set extdata = x'00ff' where id = 1""",
        )
        report = self.report(path)
        issues = health(report)
        for code in ("missing-name", "missing-duration", "bad-time"):
            self.assertIn(code, issues)
        self.assertEqual(sum(row["count"] for row in report["kernels"] if "mem" not in row["class"]), 7)
        self.assertIn("(kernel 999)", {row["name"] for row in report["kernels"]})

    def test_tables_that_are_not_there(self):
        for name in ("rocpd_string", "rocpd_event", "rocpd_info_agent", "rocpd_info_thread", "rocpd_info_process"):
            with self.subTest(name):
                path = self.database()
                report = self.report(self.change(path, f'drop table "{self.table(path, name)}"'))
                self.assertEqual(sum(row["count"] for row in report["kernels"] if "mem" not in row["class"]), 8)

    def test_damage_is_told_and_hurts_nobody(self):
        path = self.database(output.drawn(40))
        whole = path.read_bytes()
        chance = random.Random(1)
        damaged = self.scratch / "damaged.db"
        for number in range(90):
            data = bytearray(whole)
            if number % 3 == 0:
                del data[chance.randrange(100, len(data)) :]
            for _ in range(number % 3 * 6):
                data[chance.randrange(len(data))] = chance.randrange(256)
            damaged.write_bytes(data)
            outcome = support.headroom("report", "--json", damaged)
            self.assertIn(outcome.code, (0, 3), str(outcome))
            self.assertNotIn("internal error", outcome.message)
            if outcome.code == 0:
                self.assertEqual(support.violations(outcome.json()), [], outcome)
                if number % 3 == 0:
                    self.assertIn("truncated", health(outcome.json()))
            else:
                self.assertIn("an SQLite database", outcome.message)
