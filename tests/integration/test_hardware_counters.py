"""Tests hardware counters: samples in PyTorch's form (Kineto's CUPTI PM sampling, PyTorch 2.13), and values per
dispatch in rocprofv3's form (made by tests/rocprof)."""

import json
import sys

from integration import support

sys.path.insert(0, str(support.ROOT / "tests/rocprof"))
import output  # noqa: E402
import rocpd  # noqa: E402

TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
DRAM = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
PRODUCT, SUM = "ampere_sgemm_128x64_nn", "void at::native::vectorized_elementwise_kernel<4, add>(int)"


def trace(one_event):
    """Returns ten steps of 1 ms: a product for 600 us, then a sum for 390 us. Samples every 50 us, in one event or one
    event each."""
    events = []

    def add(cat, name, ts, dur, tid, **args):
        pid = 0 if cat == "kernel" else 1
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args})

    for step in range(10):
        at = step * 1000
        add("user_annotation", f"ProfilerStep#{step}", at, 1000, 1)
        for number, (name, start, length) in enumerate(((PRODUCT, 5, 600), (SUM, 605, 390))):
            correlation = 2 * step + number + 1
            add("cuda_runtime", "cudaLaunchKernel", at + 1 + 4 * number, 3, 1, correlation=correlation)
            add("kernel", name, at + start, length, 7, device=0, stream=7, correlation=correlation)
    for sample in range(201):
        product = sample % 20 < 12
        values = {TENSOR: 62 if product else 0, DRAM: 20 if product else 88}
        head = {"ph": "C", "cat": "hardware_counters", "pid": 0, "tid": 0, "ts": sample * 50}
        if one_event:
            events.append({**head, "name": "CUPTI PM Sampling", "args": values})
        else:
            events += [{**head, "name": name, "args": {"value": value}} for name, value in values.items()]
    return json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": events})


class Counters(support.ProgramTest):
    def test_kernels_and_steps_have_the_use_of_the_units(self):
        for one_event in (True, False):
            with self.subTest(one_event=one_event):
                path = self.write("pm.json", trace(one_event))
                report = self.report(path)
                rows = {row["name"]: row for row in report["kernels"]}
                # 62 % in 11 of 20 samples: the last sample of a product overlaps the beginning of the sum.
                self.assertAlmostEqual(rows[PRODUCT]["tensor_active_pct"], 62)
                self.assertAlmostEqual(rows[PRODUCT]["dram_active_pct"], 20)
                self.assertAlmostEqual(rows[SUM]["dram_active_pct"], 88)
                self.assertIsNone(rows[SUM]["sm_active_pct"])
                efficiency = report["efficiency"]
                self.assertAlmostEqual(efficiency["tensor_active_pct"], 0.6 * 62, delta=0.5)
                self.assertAlmostEqual(efficiency["dram_active_pct"], 0.6 * 20 + 0.4 * 88, delta=0.5)
                self.assertTrue(any("hardware counters" in line for line in report["bottleneck"]["evidence"]))
        text = support.headroom("report", path, "--full").text
        self.assertRegex(text, r"tensor cores +37\.\d % +busy while the GPU works")
        self.assertRegex(text, r"kernel .* tensor +DRAM")


def rocm_job():
    """Returns ten steps of 1 ms: a product for 600 us, in which the matrix units are busy, then a sum for 390 us."""
    job = output.Job()
    for step in range(10):
        at = 10_000_000 + step * 1_000_000
        job.range(f"train_step {step}", at, at + 1_000_000, correlation=1000 + step)
        for number, (name, start, length, busy) in enumerate(((PRODUCT, 5, 600, 71.5), (SUM, 605, 390, 0.0))):
            correlation = 2 * step + number + 1
            launch = at + 1000 + 4000 * number
            job.call("hipLaunchKernel", launch, launch + 3000, correlation=correlation)
            counters = {"MfmaUtil": busy, "SQ_WAVES": [100, 20, 3]}
            begin = at + 1000 * start
            job.kernel(name, begin, begin + 1000 * length, correlation=correlation, counters=counters)
    return job


class DispatchCounters(support.ProgramTest):
    def test_of_rocprofv3(self):
        job = rocm_job()
        paths = [output.write_json(self.scratch / f"{form}.json", job, form=form) for form in ("6.4", "7.1")]
        paths += [rocpd.write_rocpd(self.scratch / f"{form}.db", job, form=form) for form in rocpd.FORMS]
        for path in paths:
            with self.subTest(path.name):
                report = self.report(path)
                rows = {row["name"]: row for row in report["kernels"]}
                self.assertAlmostEqual(rows[PRODUCT]["tensor_active_pct"], 71.5)
                self.assertAlmostEqual(rows[SUM]["tensor_active_pct"], 0)
                self.assertAlmostEqual(report["efficiency"]["tensor_active_pct"], 71.5 * 600 / 990)
                metrics = {row["name"]: row for row in report["metrics"]}
                self.assertEqual(metrics["SQ_WAVES"]["max"], 123)
                unread = [issue["detail"] for issue in report["health"]["issues"] if issue["code"] == "unread-data"]
                self.assertNotIn("counter_collection", " ".join(unread))
