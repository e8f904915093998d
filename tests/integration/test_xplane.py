"""Tests profiles of JAX and TensorFlow that the program and a second reader (oracle/xplane.py) read."""
import collections
import concurrent.futures
import gzip
import json
import os
import random
import unittest

from integration import support
from oracle import xplane
from oracle.xplane import event

REAL = "public-traces/tracelens__mi300__jax_conv_minimal.xplane.pb"
DETAILS = "regs:32 static_shared:1024 dynamic_shared:0 grid:64,2,1 block:256,1,1 occ_pct:50.0"
COPY = "kind_src:pinned kind_dst:device size:65536 dest:0 async:1"
#              operation       kernel                     us   what it is of
OPERATIONS = [
    ("fusion.1", "loop_add_fusion", 100, "jit(step)/jvp(net)/add"),
    ("dot.2", "sm80_xmma_gemm_f32f32", 300, "jit(step)/jvp(net)/dot_general"),
    ("dot.3", "sm80_xmma_gemm_f32f32", 250, "jit(step)/transpose(jvp(net))/dot_general"),
    ("all-reduce.4", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 60, "jit(step)/psum"),
    ("fusion.5", "input_reduce_fusion", 50, "jit(step)/sub"),
]


def training(steps=4):
    """Returns a training job as on one NVIDIA GPU, written by hand, not recorded."""
    host = xplane.Line(100, "python", 1000)
    streams = {
        number: xplane.Line(number, name, 1000)
        for number, name in ((13, "Stream #13(Compute)"), (14, "Stream #14(MemcpyH2D)"), (15, "Stream #15(Compute)"))
    }
    drawn = [xplane.Line(101, "XLA Ops", 1000), xplane.Line(102, "Steps", 1000)]
    call = 0
    for step in range(steps):
        at = step * 1000
        host.events += [
            event("train", at, 950, step_num=step, _r=1),
            event("$train.py:42 train_step", at + 5, 940),
            event("cuMemcpyHtoDAsync_v2", at + 8, 5, correlation_id=call, memcpy_details=COPY),
            event("PjitFunction(step)", at + 20, 200),
        ]
        streams[14].events.append(event("MemcpyH2D", at + 20, 30, correlation_id=call, memcpy_details=COPY))
        call += 1
        run = at + 55
        for k, (operation, kernel, length, path) in enumerate(OPERATIONS):
            of = {"hlo_op": operation, "hlo_module": "jit_step", "tf_op": path + ":"}
            host.events.append(event("cuLaunchKernel", at + 40 + k * 10, 6, correlation_id=call, **of))
            streams[15 if "nccl" in kernel else 13].events.append(
                event(kernel, run, length, correlation_id=call, kernel_details=DETAILS, **of)
            )
            drawn[0].events.append(event(operation, run, length, flops=length))
            run += length + 2
            call += 1
        drawn[1].events.append(event(str(step), at + 55, run - at - 55))
        host.events.append(event("cuStreamSynchronize", at + 300, run - at - 290))
    capability = {"core_count": 108, "memory_size": 85899345920, "compute_cap_major": 8, "compute_cap_minor": 0}
    return [
        xplane.Plane(0, "Task Environment", stats={"profile_start_time": 1771595639214724894}),
        xplane.Plane(0, "/device:GPU:0", [*streams.values(), *drawn], capability),
        xplane.Plane(0, "/host:CPU", [host]),
    ]


def codes(report):
    return [issue["code"] for issue in report["health"]["issues"]]


def union_ns(spans):
    total, until = 0, -1 << 62
    for start, end in sorted(spans):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


class SecondReader(support.ProgramTest):
    def check(self, planes, report):
        """Compares the GPU time of each device and kernel with the planes."""
        kernels, every = collections.defaultdict(list), []
        for plane in planes:
            device = xplane.device_of(plane)
            if device is None:
                continue
            tasks = [of for line in plane.lines if line.name.startswith("Stream #") for of in line.events]
            row = next(row for row in report["gpu_time"] if row["device"] == device)
            spans = [(task.start_ns, task.end_ns) for task in tasks]
            self.assertEqual(round(row["busy_ms"] * 1e6), union_ns(spans))
            every += spans
            for task in tasks:
                kernels[task.name.removesuffix(".kd")].append(task.end_ns - task.start_ns)
        span = max(end for _, end in every) - min(start for start, _ in every)
        self.assertEqual({round(row["span_ms"] * 1e6) for row in report["gpu_time"]}, {span})
        for row in report["kernels"]:
            self.assertEqual(
                (row["count"], round(row["total_us"] * 1000)), (len(kernels[row["name"]]), sum(kernels[row["name"]]))
            )
            if row["name"].startswith("__amd_rocclr_copy"):
                self.assertEqual(row["class"], "memcpy", "HIP copies by kernels")
        self.assertEqual({row["name"] for row in report["kernels"]}, set(kernels))

    def operators(self, planes):
        """Compares the GPU time of each operation with the stats of its kernels."""
        times = collections.Counter()
        for plane in planes:
            for line in plane.lines if xplane.device_of(plane) is not None else ():
                for of in line.events if line.name.startswith("Stream #") else ():
                    if "hlo_op" in of.stats:
                        times[of.stats["hlo_op"]] += of.end_ns - of.start_ns
        return times

    def test_agrees_on_a_real_profile(self):
        path = support.data_file(REAL)
        planes = xplane.read(path.read_bytes())
        report = self.report(path)
        self.check(planes, report)
        self.assertEqual(report["inputs"][0]["format"], "xplane-protobuf")
        read = [plane for plane in planes if plane.name.startswith(("/host:CPU", "/device:GPU"))]
        self.assertEqual(report["inputs"][0]["events"], sum(len(line.events) for plane in read for line in plane.lines))
        self.assertEqual([device["sms"] for device in report["inputs"][0]["devices"]], [304] * 8)
        expected = self.operators(planes)
        # Recording began when two kernels of the first execution were already launched.
        for row in report["operators"]:
            self.assertLessEqual(round(row["total_us"] * 1000), expected[row["name"]], row["name"])
            self.assertGreaterEqual(round(row["total_us"] * 1000), 0.98 * expected[row["name"]], row["name"])
            self.assertEqual(row["count"], 40, "8 GPUs run the program 5 times")
        self.assertEqual({row["name"] for row in report["operators"]}, set(expected))

    def test_its_json_says_the_same(self):
        planes = xplane.read(support.data_file(REAL).read_bytes())
        path = self.write("sample.trace.json.gz", gzip.compress(json.dumps(xplane.trace_json(planes)).encode()))
        report, own = self.report(path), self.report(support.data_file(REAL))
        self.check(planes, report)
        self.assertEqual(report["inputs"][0]["format"], "xla-trace-json")
        for key in ("gpu_time", "kernels", "operators", "idle"):
            self.assertEqual(report[key], own[key], key)
        self.assertNotIn("not-an-event", codes(report))

    def test_a_training_job(self):
        planes = training()
        self.assertEqual(xplane.read(xplane.write(planes))[1].lines[0].events[1].stats["hlo_op"], "dot.2")
        for name, data in (
            ("job.xplane.pb", xplane.write(planes)),
            ("job", xplane.write(planes)),
            ("job.xplane.pb.gz", gzip.compress(xplane.write(planes))),
            ("job.trace.json", json.dumps(xplane.trace_json(planes)).encode()),
        ):
            with self.subTest(name):
                report = self.report(self.write(name, data))
                self.check(planes, report)
                self.assertEqual((report["steps"]["source"], report["steps"]["count"]), ("annotation", 4))
                self.assertEqual([row["index"] for row in report["steps"]["list"]], [0, 1, 2, 3])
                breakdown = report["step_breakdown"]["gpu"]
                self.assertEqual(
                    {key: breakdown[key] for key in ("forward_ms", "backward_ms", "communication_ms")},
                    {"forward_ms": 0.4, "backward_ms": 0.25, "communication_ms": 0.06},
                )
                self.assertEqual(
                    {row["name"]: row["total_us"] for row in report["operators"]},
                    {name: 4 * length for name, _, length, _ in OPERATIONS},
                )
                # Spans that the profiler adds only to show streams are not work.
                self.assertEqual(sum(row["count"] for row in report["kernels"]), 4 * (len(OPERATIONS) + 1))
                remedies = {issue["code"]: issue["detail"] for issue in report["health"]["issues"]}
                self.assertNotIn("record_shapes", remedies["no-shapes"])

    def test_a_tpu_whose_host_dispatches_ahead(self):
        """Tests eight steps of four gradients and an update, 48 ms each. The host's mark of each step is 0.2 ms
        long."""
        modules, work = xplane.Line(1, "XLA Modules", 1000), xplane.Line(2, "XLA Ops", 1000)
        host = xplane.Line(7, "python3", 1000)
        at = 5000
        for step in range(8):
            host.events.append(event("train", step * 300, 200, step_num=step, _r=1))
            for name, start, length in [("jit_grad(1)", i * 10_500, 10_000) for i in range(4)] + [
                ("jit_apply(2)", 42_000, 5000)
            ]:
                modules.events.append(event(name, at + start, length))
                work.events.append(event("fusion.1", at + start, length))
            at += 48_000
        planes = [xplane.Plane(1, "/device:TPU:0", [modules, work]), xplane.Plane(9, "/host:CPU", [host])]
        report = self.report(self.write("tpu.xplane.pb", xplane.write(planes)))
        self.assertEqual((report["steps"]["count"], report["steps"]["marker"]), (8, "jit_apply(2)"))
        self.assertAlmostEqual(report["steps"]["step_time_ms"], 48, delta=0.2)

    def test_a_job_on_the_cpu(self):
        """Operations run on the client's thread while the loop waits for them."""
        loop, client = xplane.Line(100, "python", 1000), xplane.Line(200, "tf_XLAPjRtCpuClient/200", 1000)
        for step in range(5):
            at = step * 1000
            loop.events += [event("train", at, 980, step_num=step, _r=1), event("PjitFunction(step)", at + 10, 40)]
            for number, (operation, length) in enumerate((("dot.1", 500), ("tanh_fusion", 250))):
                start = at + 60 + number * 510
                client.events.append(event(operation, start, length, hlo_op=operation, hlo_module="jit_step"))
                client.events.append(event(f"end: {operation}", start + length, 1))
        planes = [xplane.Plane(0, "/host:CPU", [loop, client])]
        for name, data in (
            ("cpu.xplane.pb", xplane.write(planes)),
            ("cpu.trace.json", json.dumps(xplane.trace_json(planes)).encode()),
        ):
            with self.subTest(name):
                report = self.report(self.write(name, data))
                self.assertEqual(support.violations(report), [])
                self.assertEqual((report["steps"]["count"], report["steps"]["source"]), (5, "annotation"))
                self.assertEqual(report["bottleneck"]["verdict"], "cpu-compute")
                self.assertAlmostEqual(report["bottleneck"]["share_pct"], 75 / 0.98, delta=1)
                host = {row["name"]: row["self_host_us"] for row in report["operators"]}
                self.assertEqual(host, {"dot.1": 2500, "tanh_fusion": 1250})

    def test_forecasts(self):
        path = self.write("job.xplane.pb", xplane.write(training(8)))
        forecast = support.headroom("whatif", "--json", path).json()
        self.assertGreater(forecast["baseline"]["traced_step_ms"], 0.7)
        self.assertLess(abs(forecast["baseline"]["replay_error_pct"]), 1)


class Cap(support.ProgramTest):
    @unittest.skipUnless(support.FULL, "slow: tools/test --full")
    def test_the_writer_of_json_stops_at_a_million(self):
        head = xplane.trace_json(training(1))["traceEvents"][:-1]
        names = [row for row in head if row["ph"] == "M"]
        spans = (f'{{"ph":"X","pid":701,"tid":100,"ts":{i}.5,"dur":0.5,"name":"f"}}' for i in range(xplane.MOST_EVENTS))
        text = '{"displayTimeUnit":"ns","traceEvents":[' + ",\n".join([*map(json.dumps, names), *spans, "{}"]) + "]}"
        report = self.report(self.write("full.trace.json", text.encode()))
        cap = next(issue for issue in report["health"]["issues"] if issue["code"] == "event-cap")
        self.assertEqual(cap["count"], 1)
        self.assertIn("1,000,000 events; use the .xplane.pb", cap["detail"])


class PlainChromeTrace(support.ProgramTest):
    def test_of_any_program_opens(self):
        rows = [
            {"ph": "X", "pid": 1, "tid": 2, "ts": 1.5, "dur": 3, "name": "work"},
            {"ph": "B", "pid": 1, "tid": 2, "ts": 6, "name": "b"},
            {"ph": "E", "pid": 1, "tid": 2, "ts": 7},
        ]
        report = self.report(self.write("t.json", json.dumps({"traceEvents": rows}).encode()))
        self.assertEqual(report["inputs"][0]["events"], 3)
        self.assertEqual(report["inputs"][0]["format"], "chrome-trace-json")
        self.assertEqual(sorted(row["key"] for row in report["regions"]), ["b", "work"])
        self.assertEqual(report["health"]["grade"], "A")


class Damage(support.ProgramTest):
    """Tests that damaged profiles are read or refused, without crashes, hangs or invalid output."""

    CASES = 150

    def damaged(self):
        data, rng = xplane.write(training(2)), random.Random(1)
        count = len(data) if support.FULL else self.CASES // (8 if support.sanitized() else 1)
        for at in sorted(rng.sample(range(len(data)), min(count, len(data)))):
            yield f"cut-{at}.xplane.pb", data[:at]
            yield f"flip-{at}.xplane.pb", data[:at] + bytes([data[at] ^ rng.randrange(1, 256)]) + data[at + 1 :]
        packed = gzip.compress(data, mtime=0)
        for at in range(0, len(packed), 50):
            yield f"cut-{at}.xplane.pb.gz", packed[:at]
        yield "long-length.xplane.pb", data[:1] + b"\xff\xff\xff\xff\x07" + data[3:]
        nested = b""
        for _ in range(2000):
            nested = xplane.put(4, nested)
        yield "nested.xplane.pb", xplane.put(1, xplane.put(2, "/host:CPU") + xplane.put(3, nested))

    def run_on(self, case):
        name, data = case
        path = self.write(name, data)
        outcome = support.headroom("report", "--json", path, seconds=20)
        path.unlink()
        return outcome

    def test_gives_an_answer(self):
        cases = list(self.damaged())
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for (name, _), outcome in zip(cases, pool.map(self.run_on, cases)):
                with self.subTest(name):
                    self.assertIn(outcome.code, (0, 3), outcome)
                    if outcome.code == 3:
                        self.assertEqual(outcome.out, b"", outcome)
                        self.assertIn(name, outcome.message)
                    else:
                        self.assertEqual(support.violations(outcome.json()), [], outcome)

    def test_a_cut_keeps_the_planes_before_it(self):
        planes = training(2)
        data = xplane.write(planes)
        whole = len(xplane.write(planes[:2]))
        report = self.report(self.write("cut.xplane.pb", data[: whole + 200]))
        self.assertEqual(report["gpu_time"][0]["busy_ms"], 2 * (0.03 + 0.76))
        self.assertIn("truncated", codes(report))


if __name__ == "__main__":
    unittest.main()
