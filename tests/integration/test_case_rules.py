"""Small inputs whose names, categories or counters were misread. case.md explains how each right value is known."""

import gzip
import json

from integration import support


def kernel(name, start, duration, stream=7):
    return {
        "ph": "X",
        "cat": "kernel",
        "name": name,
        "pid": 0,
        "tid": stream,
        "ts": start,
        "dur": duration,
        "args": {"device": 0, "stream": stream},
    }


def query(path, sql):
    return support.headroom("query", path, sql, "--csv").text.splitlines()[1:]


class CollectivesByName(support.ProgramTest):
    FOLDER = "cases/25-collectives-not-known-by-name/"

    def test_collectives_of_three_libraries(self):
        report = self.report(support.data_file(self.FOLDER + "comm_spellings.json"))
        self.assertEqual(report["bottleneck"]["verdict"], "communication")
        (gpu,) = report["gpu_time"]
        self.assertAlmostEqual(gpu["communication_ms"], 1.8, places=6)
        self.assertAlmostEqual(gpu["busy_ms"], 1.92, places=6)
        self.assertAlmostEqual(gpu["exposed_communication_ms"], 1.02, places=6)

    def test_names(self):
        self.assertEqual(
            query(
                support.data_file(self.FOLDER + "comm_names.json.gz"),
                "select distinct name from gpu_tasks join gpu_attribution using (id) "
                "where class <> 'communication' order by name",
            ),
            ["ampere_sgemm_128x64_tn", "void apex_nccl_allocator_zero", "void at::native::nccl_like_elementwise"],
        )


class OtherVendors(support.ProgramTest):
    FOLDER = "cases/14-xpu-kernels-lost/"

    def codes(self, report):
        return {issue["code"]: issue["count"] for issue in report["health"]["issues"]}

    def renamed(self, **names):
        text = support.data_file(self.FOLDER + "xpu_no_kernels.json").read_text()
        for old, new in names.items():
            text = text.replace(f'"{old}"', f'"{new}"')
        return self.write("renamed.json", text)

    def test_lost_kernels(self):
        for launch, sync, category in (
            ("urEnqueueKernelLaunchWithArgsExp", "urQueueFinish", "xpu_runtime"),
            ("zeCommandListAppendLaunchKernel", "zeCommandQueueSynchronize", "xpu_driver"),
            ("aclrtLaunchKernelWithConfig", "aclrtSynchronizeStream", "privateuse1_runtime"),
            ("cuLaunchKernelEx", "cudaStreamSynchronize", "privateuse1_driver"),
            ("musaLaunchKernel", "musaStreamSynchronize", "mtia_runtime"),
        ):
            with self.subTest(launch):
                path = self.renamed(urEnqueueKernelLaunchWithArgsExp=launch, urQueueFinish=sync, xpu_runtime=category)
                report = self.report(path)
                self.assertEqual(self.codes(report)["launch-without-task"], 100)
                self.assertEqual(report["health"]["grade"], "D")
                self.assertEqual(report["bottleneck"]["verdict"], "unknown")
                self.assertEqual(report["findings"], [])

    def test_complete(self):
        report = self.report(support.data_file(self.FOLDER + "xpu_complete.json"))
        self.assertNotIn("launch-without-task", self.codes(report))
        self.assertEqual(report["bottleneck"]["verdict"], "gpu-compute")

    def test_kernels_of_an_unknown_category(self):
        """100 kernels of 400 us on two tracks, 40 of them in 20.4 ms."""
        trace = json.loads(support.data_file(self.FOLDER + "xpu_complete.json").read_text())
        for event in trace["traceEvents"]:
            if event["cat"] == "kernel":
                event["cat"] = "npu_task"
        path = self.write("unknown.json", json.dumps(trace))
        report = self.report(path)
        codes = self.codes(report)
        self.assertEqual(codes["not-understood"], 100)
        self.assertNotIn("no-gpu", codes)
        self.assertEqual((report["bottleneck"]["verdict"], report["findings"]), ("unknown", []))
        text = support.headroom("report", path).text
        self.assertNotIn("o GPU work was recorded", text)
        self.assertIn("not understood", text)


class Ascend(support.ProgramTest):
    """NPU busy 14.0 of 20 ms per step, then 4.0 ms of exposed all-reduce."""

    def test_trace_view(self):
        report = self.report(support.data_file("cases/15-ascend-trace-view/trace_view.json"))
        self.assertEqual((report["steps"]["count"], report["steps"]["source"]), (4, "annotation"))
        (gpu,) = report["gpu_time"]
        self.assertAlmostEqual(gpu["busy_ms"], 4 * 18.0, places=6)
        self.assertAlmostEqual(gpu["communication_ms"], 4 * 4.0, places=6)
        self.assertAlmostEqual(gpu["exposed_communication_ms"], 4 * 4.0, places=6)
        self.assertAlmostEqual(report["step_breakdown"]["gpu"]["communication_ms"], 4.0, places=3)
        self.assertAlmostEqual(
            sum(report["step_breakdown"]["gpu"][part] for part in ("forward_ms", "other_ms")), 14.0, places=3
        )
        self.assertNotIn("unmarked-time", [finding["id"] for finding in report["findings"]])

    def test_pieces_of_collectives_are_no_compute(self):
        events = json.loads(support.data_file("cases/15-ascend-trace-view/trace_view.json").read_text())
        (hardware,) = {e["pid"] for e in events if e.get("args", {}).get("name") == "Ascend Hardware"}
        pieces = [
            {
                "ph": "X",
                "pid": hardware,
                "tid": 9,
                "name": kind,
                "ts": e["ts"],
                "dur": e["dur"],
                "args": {"Task Type": kind},
            }
            for e in events
            if e["name"].startswith("hcom_")
            for kind in ("SDMA_SQE", "RDMA_SQE")
        ]
        (gpu,) = self.report(self.write("trace_view.json", json.dumps(events + pieces)))["gpu_time"]
        self.assertAlmostEqual(gpu["busy_ms"], 4 * 18.0, places=6)
        self.assertAlmostEqual(gpu["exposed_communication_ms"], 4 * 4.0, places=6)


class Energy(support.ProgramTest):
    FOLDER = "cases/20-energy-counter-zero/"

    def test_from_power_where_the_counter_stood_still(self):
        for name, source in (("energy_ok.json.gz", "counter"), ("energy_zero.json.gz", "power")):
            with self.subTest(name):
                path = support.data_file(self.FOLDER + name)
                answer = support.headroom("predict", path, "--gpu", "A100-SXM4-80GB", "--json").json()
                self.assertEqual(answer["baseline"]["energy_source"], source)
                self.assertAlmostEqual(answer["baseline"]["energy_joules"], 250 * 0.0542, delta=0.05)


class Redacted(support.ProgramTest):
    def kernels(self, names):
        events = [kernel(name, 100 * i, 50) for i, name in enumerate(names)]
        return self.write("kernels.json", json.dumps({"traceEvents": events, "schemaVersion": 1}))

    def test_complex_products(self):
        path = support.data_file("cases/04-redact-cgemm/cgemm.json")
        copy = self.scratch / "copy.json"
        self.assertEqual(support.headroom("redact", path, "-o", copy).code, 0)
        self.assertIn("cgemm", copy.read_text())

    def test_routines_of_blas_stay(self):
        names = ["volta_zgemm_64x64_nt", "maxwell_gcgemm_64x32_nt", "ampere_dsymm_128x64", "magma_zherk_kernel"]
        copy = self.scratch / "copy.json"
        self.assertEqual(support.headroom("redact", self.kernels(names), "-o", copy).code, 0)
        for name in names:
            self.assertIn(name, copy.read_text())

    def test_the_message_names_the_word(self):
        path = self.kernels(["bluebirdgemm_kernel"] * 10)
        copy = self.scratch / "copy.json"
        refused = support.headroom("redact", path, "-o", copy)
        self.assertEqual(refused.code, 4)
        self.assertIn("--keep bluebirdgemm", refused.message)
        self.assertEqual(support.headroom("redact", path, "-o", copy, "--keep", "bluebirdgemm").code, 0)


class OldCategories(support.ProgramTest):
    """PyTorch 1.8 uses the category Operator for ranges."""

    def test_optimizer_steps(self):
        for workers in (0, 4):
            path = support.data_file(f"wild/kineto__resnet50_workers_{workers}.pt.trace.json.gz")
            with self.subTest(workers):
                ranges = [
                    event
                    for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
                    if event.get("name") == "Optimizer.step#SGD.step" and event["cat"] == "Operator"
                ]
                self.assertEqual(len(ranges), 6)
                answer = support.headroom("whatif", path, "fused-optimizer", "--json")
                self.assertNotIn("no optimizer step was recorded", answer.text + answer.message)
                sql = "select count(*) from host_events where name like 'Optimizer.step#%' and kind = 'annotation'"
                self.assertEqual(query(path, sql), ["6"])
