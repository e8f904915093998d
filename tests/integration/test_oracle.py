"""Tests the oracle, without the program: it must agree with the goldens, which were computed by hand, and with counting
single nanoseconds."""
import json
import random
import unittest

from integration import support
from oracle import gpu_oracle

WELL_FORMED = sorted(p.parent for p in support.GOLDEN.glob("*/expected.json"))


class Oracle(unittest.TestCase):
    def test_agrees_with_the_goldens(self):
        compared = 0
        for folder in WELL_FORMED:
            expected = json.loads((folder / "expected.json").read_text())
            wanted = {k: expected[k] for k in ("gpu_time", "idle") if k in expected}
            if not wanted or not (folder / "trace.json").exists():
                continue
            try:
                got = gpu_oracle.analyse(gpu_oracle.load(folder / "trace.json"))
            except (ValueError, UnicodeDecodeError):  # Damaged on purpose: the oracle has no rule for them.
                continue
            if folder.name in ("overflowing-duration", "duplicate-events"):
                continue  # Well formed, but only the reader has the rule for them.
            with self.subTest(folder.name):
                self.assertEqual(support.mismatches(wanted, got), [])
            compared += 1
        self.assertGreater(compared, 12)

    def test_agrees_with_counting_nanoseconds(self):
        rng = random.Random(20240229)
        for _ in range(300):
            events, runs = [], {"compute": set(), "communication": set(), "memory": set()}
            for _ in range(rng.randint(1, 12)):
                kind, start, length = rng.choice(list(runs)), rng.randint(0, 60), rng.randint(0, 15)
                runs[kind] |= set(range(start, start + length))
                name, category = {
                    "compute": ("gemm", "kernel"),
                    "communication": ("ncclDevKernel_X", "kernel"),
                    "memory": ("Memset (Device)", "gpu_memset"),
                }[kind]
                events.append(
                    {
                        "ph": "X",
                        "cat": category,
                        "name": name,
                        "pid": 0,
                        "tid": 7,
                        "ts": gpu_oracle.decimal.Decimal(start) / 1000,
                        "dur": gpu_oracle.decimal.Decimal(length) / 1000,
                    }
                )
            compute, communication, memory = runs.values()
            row = gpu_oracle.analyse(events)["gpu_time"][0]
            for key, points in (
                ("busy_ms", compute | communication | memory),
                ("compute_ms", compute),
                ("communication_ms", communication),
                ("memory_ms", memory),
                ("exposed_communication_ms", communication - compute),
                ("exposed_memory_ms", memory - compute - communication),
            ):
                self.assertEqual(row[key], len(points) / 1e6, (key, events))

    def test_knows_communication_by_name(self):
        for name, expected in (
            ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", True),
            ("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)", True),
            ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)", True),
            ("triton_poi_fused_all_reduce_2", False),
            ("sm90_xmma_gemm_f32", False),
        ):
            event = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1, "dur": 2}
            self.assertEqual(gpu_oracle.analyse([event])["gpu_time"][0]["communication_ms"] > 0, expected, name)

    def test_refuses_what_it_has_no_rule_for(self):
        kernel: dict = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1}
        for event in (kernel, {**kernel, "dur": "5"}, {**kernel, "dur": -1}):
            with self.assertRaises(gpu_oracle.Unclear):
                gpu_oracle.analyse([event])
