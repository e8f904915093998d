"""Tests traces of profilers whose events have no categories: autograd's before Kineto, TensorFlow 1's timelines,
rocprof's.

The files are generated after the published source of the writers, not recorded. Expected values are sums of the written
values.
"""
import json
import random

from integration import support


def autograd(steps=6):
    """Returns nested operators, each with the time between its CUDA events. `linear` contains `addmm`."""
    events = []

    def operator(name, start, length, gpu_start, gpu_length, thread=0):
        arrow = len(events)
        common = dict(name=name, ts=start + 0.5, tid=thread, pid="CPU functions", args={})
        on_gpu = dict(name=name, ts=gpu_start + 0.5, tid=0, pid="CUDA functions", args={})
        events.extend(
            [
                common | dict(ph="X", dur=length),
                common | dict(ph="s", id=arrow, cat="cpu_to_cuda"),
                on_gpu | dict(ph="f", id=arrow, cat="cpu_to_cuda"),
                on_gpu | dict(ph="X", dur=gpu_length),
            ]
        )

    for step in range(steps):
        at = 1000 + step * 1000
        operator("linear", at, 100, at + 60, 400)
        operator("addmm", at + 10, 80, at + 60, 380)  # Its GPU work begins with that of the operator around it.
        operator("relu", at + 120, 30, at + 470, 60)
        operator("MmBackward", at + 200, 100, at + 540, 300, thread=1)
        operator("mm", at + 210, 80, at + 550, 280, thread=1)
    return events


def timeline(streams=("stream:13",), copies_in_streams=True):
    events = []
    processes = {}

    def process(name):
        if name not in processes:
            processes[name] = len(processes) + 1
            events.append(dict(name="process_name", ph="M", pid=processes[name], args=dict(name=f"{name} Compute")))
        return processes[name]

    def operation(device, node, kind, start, length, lane=0):
        events.append(
            dict(
                ph="X",
                cat="Op",
                name=kind,
                pid=process(device),
                tid=lane,
                ts=1_500_000_000_000_000 + start,
                dur=length,
                args=dict(name=node, op=kind),
            )
        )

    job = "/job:localhost/replica:0/task:0/device"
    operation(f"{job}:CPU:0", "IteratorGetNext", "IteratorGetNext", 0, 5)
    for node, kind, start, gpu_start, length in (
        ("conv1/Conv2D", "Conv2D", 10, 40, 300),
        ("fc/MatMul", "MatMul", 30, 345, 200),
        ("gradients/fc/MatMul_grad/MatMul", "MatMul", 50, 560, 300),
    ):
        operation(f"{job}:GPU:0", node, kind, start, 10)
        for stream in ("stream:all", *streams):
            operation(f"/device:GPU:0/{stream}", node, kind, gpu_start, length)
    for track in ("memcpy", *(streams if copies_in_streams else ())):
        operation(f"/device:GPU:0/{track}", "edge_10_loss", "MEMCPYDtoH", 870, 40)
    return {"traceEvents": events}


def rocprof(launches=6):
    events = [
        dict(args=dict(name=name), ph="M", pid=pid, name="process_name", sort_index=at)
        for at, (name, pid) in enumerate({"CPU HIP API": 2, "Markers and Ranges": 0, "COPY": 1, "GPU0": 6}.items())
    ]

    def span(name, pid, tid, start, length, **args):
        args = {"BeginNs": str(start * 1000), "EndNs": str((start + length) * 1000), "Name": name, **args}
        events.append(dict(ph="X", name=name, ts=str(start), dur=str(length), pid=str(pid), tid=str(tid), args=args))

    for number in range(launches):
        at = 1000 + number * 1000
        span(f"step {number}", 0, 77, at - 10, 900)
        span("hipLaunchKernel", 2, 77, at, 10)
        span("gemm_kernel", 6, 0, at + 50, 400, **{"dev-id": "3", "queue-id": "1", "stream-id": "4"})
        span("CopyDeviceToHost", 1, 0, at + 460, 20, **{"dev-id": "3"})
        events.append(dict(ts=at, ph="s", cat="DataFlow", id=number, pid="2", tid=77, name="dep"))
        events.append(dict(ts=at + 50, ph="t", cat="DataFlow", id=number, pid="6", tid=0, name="dep"))
    return {"traceEvents": events}


class OlderProfilers(support.ProgramTest):
    def made(self, document):
        return self.write("made.json", json.dumps(document))

    def query(self, path, sql):
        outcome = support.headroom("query", "--json", path, sql)
        self.assertEqual(outcome.code, 0, str(outcome))
        return outcome.json()["rows"]

    def health(self, report):
        return {issue["code"]: issue for issue in report["health"]["issues"]}

    def busy(self, report):
        (gpu,) = report["gpu_time"]
        return gpu["busy_ms"]

    def test_autograd_before_kineto(self):
        path = self.made(autograd())
        report = self.report(path)
        self.assertAlmostEqual(self.busy(report), 6 * (380 + 60 + 280) / 1000)
        self.assertEqual({row["name"]: row["count"] for row in report["kernels"]}, {"addmm": 6, "relu": 6, "mm": 6})
        self.assertEqual(len(report["steps"]["list"]), 6)
        self.assertNotIn("not-understood", self.health(report))
        self.assertIn("launches", self.health(report)["not-collected"]["detail"])
        # The innermost operator launches, in its self time. Names show the backward.
        self.assertEqual(
            self.query(
                path,
                """select t.name, p.name, count(*) from gpu_tasks t join host_events e on e.id = t.launch_id
                   join host_events p on p.id = e.parent_id group by 1, 2 order by 1""",
            ),
            [["addmm", "addmm", 6], ["mm", "mm", 6], ["relu", "relu", 6]],
        )
        self.assertAlmostEqual(report["step_breakdown"]["gpu"]["backward_ms"], 0.280)

    def test_timeline_of_tensorflow_1(self):
        for streams, copies, numbers in (
            (("stream:13",), True, {13}),
            (("stream:13",), False, {13, 1_000_001}),
            ((), True, {1_000_000, 1_000_001}),
        ):
            with self.subTest(streams=streams, copies=copies):
                path = self.made(timeline(streams, copies))
                report = self.report(path)
                self.assertEqual(report["inputs"][0]["format"], "tensorflow-timeline-json")
                self.assertAlmostEqual(self.busy(report), 0.840)
                self.assertNotIn("no-gpu", self.health(report))
                self.assertNotIn("mixed-ranks", self.health(report))
                self.assertEqual({row[0] for row in self.query(path, "select number from streams")}, numbers)
                self.assertEqual(
                    self.query(
                        path,
                        """select t.name, p.start_ns / 1000 % 1000 from gpu_tasks t
                           join host_events e on e.id = t.launch_id join host_events p on p.id = e.parent_id
                           order by t.start_ns""",
                    ),
                    [["Conv2D", 10], ["MatMul", 30], ["MatMul", 50]],
                )
                self.assertEqual(
                    self.query(path, "select name, copy from gpu_tasks where kind = 'memcpy'"),
                    [["MEMCPYDtoH", "device_to_host"]],
                )

    def test_timeline_of_a_cpu(self):
        made = timeline(())
        made["traceEvents"] = [event for event in made["traceEvents"] if event["pid"] == 1]
        report = self.report(self.made(made))
        self.assertEqual([row["name"] for row in report["operators"]], ["IteratorGetNext"])

    def test_rocprof_before_rocprofv3(self):
        path = self.made(rocprof())
        report = self.report(path)
        self.assertEqual(report["inputs"][0]["format"], "rocprof-json")
        self.assertAlmostEqual(self.busy(report), 6 * (400 + 20) / 1000)
        self.assertEqual(report["gpu_time"][0]["device"], 3)
        self.assertEqual(report["steps"]["marker"], "step N")
        self.assertEqual(len(report["steps"]["list"]), 6)
        self.assertEqual(
            self.query(
                path,
                """select t.name, e.name, p.name, s.number from gpu_tasks t join host_events e on e.id = t.launch_id
                   join host_events p on p.id = e.parent_id join streams s on s.id = t.stream_id limit 1""",
            ),
            [["gemm_kernel", "hipLaunchKernel", "step 0", 4]],
        )
        self.assertEqual(self.query(path, "select count(*) from gpu_tasks where launch_id is null"), [[6]])  # Copies.

    def test_the_tables_of_rocprof_are_refused(self):
        table = self.write("results.csv", '"Index","KernelName","gpu-id","queue-id"\n0,"gemm",0,0\n')
        self.assert_refused(support.headroom("report", table), 3, "is a rocprof table", "results.json")

    def test_damage_hurts_nobody(self):
        chance = random.Random(1)
        for document in (autograd(), timeline(), rocprof()):
            whole = json.dumps(document).encode()
            for number in range(20):
                data = bytearray(whole)
                if number % 2 == 0:
                    del data[chance.randrange(len(data) // 4, len(data)) :]
                else:
                    for _ in range(8):
                        data[chance.randrange(len(data))] = chance.randrange(256)
                outcome = support.headroom("report", "--json", self.write("damaged.json", bytes(data)))
                self.assertIn(outcome.code, (0, 3), str(outcome))
                self.assertNotIn("internal error", outcome.message)
                if outcome.code == 0:
                    self.assertEqual(support.violations(outcome.json()), [], outcome)
