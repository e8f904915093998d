"""Tests the output of ROCm's rocprofv3: its JSON and its Perfetto trace agree on a job, and agree with PyTorch's
profiler.

The files are generated (tests/rocprof/output.py), not recorded.
"""
import gzip
import json
import random
import sys

from integration import support

sys.path.insert(0, str(support.ROOT / "tests/rocprof"))
import output  # noqa: E402

# Figures that a Perfetto trace has, too. It does not name its GPU and has no allocations.
SAME = ("gpu_time", "idle", "step_breakdown", "kernels", "classes", "syncs", "operators", "bottleneck", "input_wait")


def health(report):
    return {issue["code"]: issue for issue in report["health"]["issues"]}


def without_gpu(rows):
    """Returns rows without figures that follow from the GPU's data sheet."""
    unknown = dict.fromkeys(("flops", "bytes", "bound", "roofline_pct"))
    return [{**row, **unknown} for row in rows] if isinstance(rows, list) else rows


def rankless(rows):
    """Returns the rows of a trace that states its rank, without the rank."""
    return [{**row, "rank": None} if "rank" in row else row for row in rows] if isinstance(rows, list) else rows


class Rocprof(support.ProgramTest):
    def report(self, path, *arguments):
        outcome = support.headroom("report", "--json", *arguments, path)
        self.assertEqual(outcome.code, 0, str(outcome))
        return outcome.json()

    def query(self, path, sql):
        outcome = support.headroom("query", "--json", path, sql)
        self.assertEqual(outcome.code, 0, str(outcome))
        return outcome.json()["rows"]

    def json(self, *jobs, **how):
        return output.write_json(self.scratch / "made.json", *(jobs or [output.drawn()]), **how)

    def pftrace(self, job=None, **how):
        return output.write_pftrace(self.scratch / "made.pftrace", job or output.drawn(), **how)

    def test_every_version_and_both_formats_say_the_same(self):
        usual = self.report(self.json())
        self.assertEqual(usual["steps"]["marker"], "step N")
        self.assertEqual([step["index"] for step in usual["steps"]["list"]], [0, 1, 2, 3])
        self.assertEqual({row["name"]: row["count"] for row in usual["kernels"]}["void gemm<float, 128>(float*)"], 4)
        self.assertEqual({row["name"] for row in usual["operators"]}, {"aten::mm"})
        (memory,) = usual["memory"]["devices"]
        self.assertEqual((memory["device"], memory["peak_bytes"], memory["last_bytes"]), (1, 3 << 29, 1 << 29))
        self.assertNotIn("orphan-gpu-task", health(usual))
        for form in output.FORMS:
            for path in (self.json(form=form), self.pftrace(form=form)):
                with self.subTest(form, path=path.name):
                    report = self.report(path)
                    self.assertNotIn("orphan-gpu-task", health(report))
                    for step, other in zip(report["steps"]["list"], usual["steps"]["list"], strict=True):
                        self.assertEqual(step, other)
                    for key in SAME:
                        # Without HIP's streams, copies belong to an unnamed stream.
                        if key == "idle" and not output.FORMS[form]["streams"]:
                            continue
                        self.assertEqual(without_gpu(report[key]), without_gpu(usual[key]), key)

    def test_the_numbers_are_those_of_pytorchs_trace(self):
        for name in ("tracelens__mi300__resnet_act_checkpoint", "hta__amd_trace__mi250_minitoy_train_ROCm6_2_kineto"):
            source = support.data_file(f"public-traces/{name}.json.gz")
            with gzip.open(source) as file:
                job = output.from_kineto(json.load(file))
            theirs = self.report(source)
            for path in (self.json(job), self.pftrace(job)):
                with self.subTest(name, path=path.name):
                    ours = self.report(path)
                    for step, other in zip(ours["steps"]["list"], theirs["steps"]["list"], strict=True):
                        self.assertEqual({**step, "start_ms": 0}, {**other, "start_ms": 0, "rank": None})
                    for key in ("gpu_time", "idle", "step_breakdown", "classes", "syncs"):
                        self.assertEqual(ours[key], rankless(theirs[key]), key)

                    def kernels(report):
                        return {
                            (row["name"], row["count"], row["total_us"])
                            for row in report["kernels"]
                            if row["class"] not in ("memcpy", "memset")
                        }

                    self.assertEqual(kernels(ours), kernels(theirs))

    def test_a_second_reading(self):
        """Compares the whole file with a reader of a few lines, row by row."""
        path = self.json(form="7.1")
        (process,) = json.loads(path.read_text())["rocprofiler-sdk-tool"]
        kinds = process["strings"]["buffer_records"]
        texts = {row["key"]: row["value"] for row in process["strings"]["marker_api"]}
        symbols = {
            row["kernel_id"]: row["formatted_kernel_name"]
            for row in process["kernel_symbols"]
            if "formatted_kernel_name" in row
        }
        agents = {row["id"]["handle"]: row["logical_node_id"] for row in process["agents"]}
        records = process["buffer_records"]

        def begin(row):
            return (row["start_timestamp"], row["end_timestamp"] - row["start_timestamp"])

        def name(row):
            return kinds[row["kind"]]["operations"][row["operation"]]

        tasks = [
            (
                *begin(row),
                symbols[row["dispatch_info"]["kernel_id"]],
                row["stream_id"]["handle"],
                agents[row["dispatch_info"]["agent_id"]["handle"]],
                row["correlation_id"]["internal"],
                None,
            )
            for row in records["kernel_dispatch"]
        ]
        tasks += [
            (*begin(row), name(row), row["stream_id"]["handle"], 1, row["correlation_id"]["internal"], row["bytes"])
            for row in records["memory_copy"]
        ]
        self.assertEqual(
            sorted(tasks, key=str),
            sorted(
                (
                    tuple(row)
                    for row in self.query(
                        path,
                        """
            select t.start_ns, t.duration_ns, t.name, s.number, d.ordinal, t.correlation, t.bytes
            from gpu_tasks t join streams s on s.id = t.stream_id join devices d on d.id = s.device_id""",
                    )
                ),
                key=str,
            ),
        )
        calls = [
            (*begin(row), name(row), category, str(row["thread_id"]))
            for category in ("hip_api", "hsa_api", "rccl_api")
            for row in records[category]
        ]
        for row in records["marker_api"]:
            text = texts[row["correlation_id"]["internal"]]
            calls.append(
                (
                    *begin(row),
                    text.split(",")[0],
                    "cpu_op" if text.startswith("aten::") else "step",
                    str(row["thread_id"]),
                )
            )
        self.assertEqual(
            sorted(calls),
            sorted(
                tuple(row)
                for row in self.query(
                    path,
                    """
            select e.start_ns, e.duration_ns, e.name, e.category, t.tid from host_events e
            join threads t on t.id = e.thread_id""",
                )
            ),
        )

    def test_an_end_far_beyond_the_trace(self):
        whole = self.report(self.json())

        def longer(document):
            document["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"][-1]["end_timestamp"] = 1 << 60

        report = self.report(self.json(change=longer))
        self.assertIn("overflowing-duration", health(report))
        self.assertLess(report["gpu_time"][0]["span_ms"], 2 * whole["gpu_time"][0]["span_ms"])

    def test_several_processes(self):
        """Ids start again in each process. Here even the times are the same."""
        path = self.json(output.drawn(), output.drawn(pid=9000))
        self.assertEqual(self.query(path, "select distinct p.pid from processes p order by 1"), [["4000"], ["9000"]])
        self.assertEqual(self.query(path, "select count(*) from gpu_tasks where launch_id is null"), [[0]])
        self.assertEqual(len(self.query(path, "select * from devices")), 1)
        wrong = self.query(
            path,
            """select count(*) from gpu_tasks t join host_events e on e.id = t.launch_id
                                    where t.kind = 'kernel' and e.name not like '%Launch%'""",
        )
        self.assertEqual(wrong, [[0]])

    def test_a_call_of_another_process_is_no_launch(self):
        """The second process recorded no calls. Its kernels have none, although ids and times would match."""
        silent = output.drawn(pid=9000)
        silent.calls.clear()
        path = self.json(output.drawn(), silent)
        self.assertEqual(
            self.query(path, "select launch_id is null, count(*) from gpu_tasks group by 1 order by 1"),
            [[0, 16], [1, 16]],
        )

    def test_what_was_not_collected_is_named_with_its_flag(self):
        job = output.drawn()
        job.calls.clear()
        issues = health(self.report(self.json(job)))
        for flag in ("--hip-trace", "--marker-trace"):
            self.assertIn(flag, issues["not-collected"]["detail"])
        self.assertIn("pc_sample_host_trap", issues["unread-data"]["detail"])
        empty = output.Job()
        self.assertIn("--kernel-trace", health(self.report(self.json(empty)))["not-collected"]["detail"])

    def test_compressed_and_without_secrets(self):
        path = self.json()
        expected = self.report(path)["gpu_time"]
        packed = self.scratch / "made.json.gz"
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

    def test_start_stop_ranges_and_marks(self):
        job = output.drawn()
        job.range("epoch", 500_000, 4_500_000, correlation=7001, operation="roctxRangeStartA")
        job.range("checkpoint", 2_000_000, 2_000_000, correlation=7002, operation="roctxMarkA")
        path = self.json(job)
        self.assertEqual(
            self.query(
                path, "select t.tid from host_events e join threads t on t.id = e.thread_id where e.name = 'epoch'"
            ),
            [["ROCTx start-stop ranges"]],
        )
        self.assertEqual(self.query(path, "select name, time_ns from instants"), [["checkpoint", 2_000_000]])
        self.assertEqual(len(self.report(path)["steps"]["list"]), 4)

    def test_what_is_no_trace_of_rocprofv3(self):
        path = self.scratch / "other.json"
        for text in ('{"rocprofiler-sdk-tool": 5}', '{"rocprofiler-sdk-json-tool": {"buffer_records": {}}}'):
            path.write_text(text)
            self.assertEqual(support.headroom("report", path).code, 3)

    def test_damage_is_told_and_hurts_nobody(self):
        path = self.json(output.drawn(40))
        whole = path.read_bytes()
        tasks = len(output.drawn(40).kernels) + len(output.drawn(40).copies)
        chance = random.Random(1)
        damaged = self.scratch / "damaged.json"
        start = whole.index(b'"buffer_records": {')
        start = whole.index(b'"kernel_dispatch"', start)
        for number in range(60):
            data = bytearray(whole)
            if number % 3 == 0:
                del data[chance.randrange(100, len(data)) :]
            flips = number % 3 * 4
            for _ in range(flips):
                data[chance.randrange(start, len(data))] = chance.randrange(256)
            damaged.write_bytes(data)
            outcome = support.headroom("report", "--json", damaged)
            self.assertEqual(outcome.code, 0, str(outcome))
            report = outcome.json()
            if number % 3 == 0:
                self.assertIn("truncated", health(report))
            else:
                # A wrong byte costs one record, or two if it is between them.
                self.assertGreaterEqual(sum(row["count"] for row in report["kernels"]), tasks - 2 * flips)
