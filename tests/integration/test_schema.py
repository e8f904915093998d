"""Tests the published schema, without the program: it accepts what the contract allows and refuses what it forbids."""
import copy
import re
import unittest
from typing import Any

import jsonschema

from integration import support

SPLIT = dict.fromkeys(support.PARTS, 0)
UNITS: dict[str, Any] = {"sm_active_pct": None, "tensor_active_pct": None, "dram_active_pct": None}
USAGE: dict[str, Any] = {
    "id": "k-0123456789",
    "name": "a",
    "rank": None,
    "count": 2,
    "total_us": 4.0,
    "mean_us": 2.0,
    "p50_us": 1.0,
    "min_us": 1.0,
    "max_us": 3.0,
    "share_pct": 100,
    "flops": None,
    "bytes": None,
    "bound": None,
    "roofline_pct": None,
}
HOST = dict.fromkeys(("host_us", "self_host_us", "forward_us", "backward_us"))
# Every list has one row, so that the test can remove each required key.
REPORT: dict[str, Any] = {
    "schema": "headroom.report/1",
    "inputs": [
        {
            "path": "t.json",
            "format": "pytorch-profiler-json",
            "bytes": 10,
            "events": 3,
            "recordings": 1,
            "rank": None,
            "world_size": None,
            "devices": [
                {
                    "id": 0,
                    "name": None,
                    "memory_bytes": None,
                    "sms": None,
                    "compute_capability": None,
                    "model": None,
                    "vendor": None,
                    "architecture": None,
                }
            ],
        }
    ],
    "health": {
        "grade": "B",
        "issues": [
            {"code": "no-stacks", "severity": "warning", "count": 1, "detail": "", "voids": ["time per source line"]}
        ],
    },
    "steps": {
        "source": "annotation",
        "count": 1,
        "p50_ms": 0.002,
        "mean_ms": 0.002,
        "min_ms": 0.002,
        "max_ms": 0.002,
        "step_time_ms": 0.002,
        "corrected_step_ms": {"low": 0.001, "mid": 0.002, "high": 0.003},
        "corrected_p50_ms": 0.002,
        "profiler_overhead_pct": 0,
        "confidence": None,
        "confidence_reason": None,
        "marker": "ProfilerStep#N",
        "optimizer_every": None,
        "kinds": [],
        "list": [
            {
                "index": 0,
                "rank": None,
                "start_ms": 0,
                "wall_ms": 0.002,
                "gpu_busy_ms": 0.001,
                "host_ms": None,
                "host_wait_ms": 0,
                "profiler_cost_ms": 0,
                "queue_depth_mean": 0,
                "queue_depth_max": 0,
                "whole": True,
                "counted": True,
                "kind": None,
                "tokens": None,
            }
        ],
    },
    "run": {
        "wall_ms": 0.004,
        "parts": [
            {"name": "steps", "time_ms": 0.002, "share_pct": 50, "count": 1, "longest": None},
            {"name": "after steps", "time_ms": 0.002, "share_pct": 50, "count": 1, "longest": "aten::mm"},
        ],
    },
    "gpu_time": [
        {
            "rank": None,
            "device": 0,
            "span_ms": 1,
            "busy_ms": 1,
            "compute_ms": 1,
            "communication_ms": 0,
            "memory_ms": 0,
            "exposed_communication_ms": 0,
            "exposed_memory_ms": 0,
            "idle_ms": 0,
            "overlap_communication_pct": None,
        }
    ],
    "idle": [{"rank": None, "device": 0, "stream": 7, "host_wait_ms": 0, "kernel_wait_ms": 0, "other_ms": 0}],
    "stretch": None,
    "step_breakdown": {
        **SPLIT,
        "forward_ms": 0.002,
        "gpu": {**SPLIT, "forward_ms": 0.001},
        "step_index": 0,
        "wall_ms": 0.002,
        "of_ms": 0.002,
        "steps": 1,
        "median": {**SPLIT, "forward_ms": 0.002},
        "p90": {**SPLIT, "forward_ms": 0.002},
    },
    "summary": {
        "step_ms": {"low": 0.001, "mid": 0.002, "high": 0.003},
        "recorded_ms": 0.002,
        "gpu_busy_ms": 0.001,
        "samples_per_s": 1,
        "tokens_per_s": 1,
        "peak_memory_bytes": 1,
        "parts_of": "step",
        "parts": [{"name": "forward", "share_pct": 100, "busy_pct": 50}],
        "actions": [
            {
                "finding": "late-launches",
                "title": "Fewer launches: torch.compile, CUDA graphs",
                "saves_ms": {"low": 0, "mid": 0.001, "high": 0.001},
                "upper_bound": True,
                "speedup": 2,
                "scenario": "cuda-graph",
                "command": "headroom whatif t.json cuda-graph",
            }
        ],
        "no_action": "No change was found.",
        "note": "No steps were found.",
        "rank": 1,
        "rank_note": "rank 1, the slowest of 2",
    },
    "bottleneck": {
        "verdict": "host",
        "sentence": "Host-bound: the GPU idles 50 % of the mean step.",
        "share_pct": 50,
        "confidence": "high",
        "confidence_reason": None,
        "evidence": ["The GPU idles 50 % of the step."],
        "causes": [{"name": "host", "time_ms": 0.002, "share_pct": 100}],
    },
    "engine_window": {
        "first_step": 0,
        "last_step": 0,
        "steps": 1,
        "events": 3,
        "corrected_step_ms": {"low": 0.001, "mid": 0.002, "high": 0.003},
        "replay_error_pct": 0.1,
        "calibration": "c",
        "error": None,
    },
    "findings": [
        {
            "id": "host-bound",
            "title": "t",
            "share_pct": 50,
            "saves_ms": {"low": 0, "mid": 0.001, "high": 0.001},
            "saves_note": "at most: n",
            "evidence": [],
            "action": "a",
            "check": "headroom report t.json",
            "figure": None,
            "whatif": None,
            "scenario": None,
        }
    ],
    "kernels": [{**USAGE, "per_step_us": None, "class": "matmul", "tensor_cores": None, **UNITS}],
    "operators": [{**USAGE, **HOST, "family": None}],
    "layers": [{**USAGE, **HOST}],
    "stacks": [
        {
            "stack": "train.py(9): <module>;site-packages/torch/optim/sgd.py: SGD.step",
            "rank": None,
            "part": "optimizer",
            "samples": 3,
            "total_ms": 120.0,
            "share_pct": 100.0,
        }
    ],
    "lines": [
        {
            "location": "train.py(1): <module>",
            "rank": None,
            "count": 1,
            "total_us": 1,
            "forward_us": 1,
            "backward_us": 0,
            "share_pct": 100,
        }
    ],
    "regions": [
        {
            "key": "k",
            "rank": 0,
            "count": 1,
            "total_ms": 1,
            "self_ms": 1,
            "p50_ms": 1,
            "p99_ms": 1,
            "gpu_ms": None,
            "min_ms": 1,
            "max_ms": 1,
            "mean_ms": 1,
            "stdev_ms": 0,
        }
    ],
    "regions_over_ranks": [
        {
            "key": "k",
            "ranks": 1,
            "min_ms": 1,
            "mean_ms": 1,
            "max_ms": 1,
            "longest_on_rank": 0,
            "share_of_batch_pct": None,
        }
    ],
    "timings": [
        {
            "name": "other",
            "rank": None,
            "inside": None,
            "count": 1,
            "total_ms": 1,
            "mean_ms": 1,
            "p50_ms": 1,
            "p99_ms": 1,
            "share_pct": 100,
            "gpu_ms": None,
            "source": "rest",
        }
    ],
    "callbacks": [
        {
            "event": "e",
            "callback": "c",
            "rank": None,
            "count": 1,
            "total_ms": 1,
            "self_ms": 1,
            "in_steps_ms": None,
            "share_pct": None,
        }
    ],
    "metrics": [
        {
            "name": "n",
            "rank": None,
            "unit": "W",
            "host": None,
            "gpu": 0,
            "instance": "GPU 0",
            "mean": 1,
            "min": 1,
            "max": 1,
            "last": 1,
            "samples": 1,
        }
    ],
    "input_wait": {"host_ms": 1, "exposed_ms": 1, "hidden_ms": 0, "batches": 1, "source": "gpu-tasks"},
    "throughput": {"samples_per_s": 1, "batch_size": 1, "source": "s"},
    "ceiling": {"step_ms_if_gpu_never_idle": 1, "speedup": 1},
    "memory": {
        "devices": [
            {
                "rank": None,
                "device": 0,
                "process": None,
                "peak_bytes": 30,
                "peak_ms": 0.1,
                "peak_step": 1,
                "reserved_at_peak_bytes": 64,
                "most_reserved_bytes": 64,
                "first_bytes": 10,
                "last_bytes": 10,
                "growth_bytes_per_step": None,
                "allocations": 1,
                "frees": 1,
                "turnover_bytes": 20,
                "parts": [
                    {"kind": "activation", "bytes": 20, "allocations": 1},
                    {"kind": "before_recording", "bytes": 10, "allocations": 0},
                ],
                "holders": [
                    {
                        "operator": "aten::mm",
                        "layer": None,
                        "line": None,
                        "kind": "activation",
                        "bytes": 20,
                        "allocations": 1,
                    }
                ],
                "steps": [{"index": 1, "start_ms": 0, "peak_bytes": 30, "end_bytes": 10}],
                "curve": {
                    "ms": [0.1],
                    "allocated_bytes": [30],
                    "reserved_bytes": [64],
                    "parts": [{"kind": "activation", "bytes": [20]}],
                },
            }
        ]
    },
    "energy": None,
    "ranks": [{"rank": None, "path": "t.json", "grade": "B", "verdict": "host", "p50_ms": 0.002}],
    "job_ranks": {
        "sentence": "Rank 1 holds the others up.",
        "pairs": [{"rank": 0, "waited_for": 1, "waited_ms": 1, "collectives": 1}],
        "steps": [
            {
                "rank": 0,
                "step": 3,
                "wall_ms": 1,
                "computing_ms": 1,
                "communication_ms": 0,
                "waited_ms": None,
                "caused_ms": None,
            }
        ],
        "straggler": {
            "pattern": "recurrent",
            "rank": 1,
            "host": None,
            "cause": "more-work",
            "why": "w",
            "ranks": [1],
            "lost_ms": 1,
            "lost_pct": 1,
            "steps": 1,
            "uncertainty_us": 1,
        },
        "waits": [
            {
                "rank": 0,
                "waited_ms": 1,
                "caused_ms": 0,
                "last_count": 0,
                "culprit_steps": 0,
                "computing_ms": 1,
                "work": None,
            }
        ],
        "work": {
            "measure": "flops",
            "steps": 2,
            "computing_imbalance_pct": 1,
            "work_imbalance_pct": None,
            "explained_pct": None,
        },
        "groups": [{"group": "0", "axis": "data", "axis_from": "inferred", "why": "w", "members": 2, "ranks": [0, 1]}],
        "clocks": [
            {
                "rank": 0,
                "host": "node7",
                "aligned": True,
                "reference_rank": 0,
                "offset_ms": 0,
                "drift_ppm": 0,
                "uncertainty_us": 0,
                "matches": 0,
            }
        ],
        "collectives": [
            {
                "kind": "allreduce",
                "group": None,
                "axis": None,
                "bytes": None,
                "count": 1,
                "ranks": 2,
                "members": 2,
                "wait_us": 1,
                "transfer_us": 1,
                "exposed_us": 1,
                "hidden_us": 1,
                "algorithm_gbs": None,
                "bus_gbs": None,
            }
        ],
        "matched": 1,
        "unmatched": 0,
        "misfits": 0,
        "other_kinds": 0,
        "pipeline": {
            "sentence": "2 stages wait for each other.",
            "imbalance_pct": 1,
            "bubble_pct": 1,
            "stages": [{"ranks": [0], "step_ms": 2, "computing_ms": 1, "bubble_ms": 1, "idle_ms": 0}],
        },
    },
    "classes": [{"name": "matmul", "rank": None, "count": 2, "total_us": 4, "share_pct": 100}],
    "syncs": [
        {
            "name": "cudaDeviceSynchronize",
            "where": None,
            "rank": None,
            "count": 1,
            "host_us": 1,
            "gpu_idle_us": 0,
            "median_step_gpu_idle_us": 0,
            "mean_step_gpu_idle_us": 0,
        }
    ],
    "efficiency": {
        **dict.fromkeys(
            (
                "device_name",
                "flops_per_step",
                "math_dtype",
                "peak_tflops",
                "mfu_pct",
                "mfu_formula",
                "error",
                "costed_pct",
                "compute_bound_pct",
                "memory_bound_pct",
                "tensor_core_eligible_pct",
                "tensor_core_used_pct",
                "tensor_core_unknown_pct",
                "mfu_coverage_pct",
                "impossible_pct",
                "memory_bandwidth_gbs",
            )
        ),
        "peaks": [{"dtype": "fp32", "tflops": 67}],
        "unclassified_pct": 0,
        **UNITS,
    },
}


def objects_in(value, path=()):
    """Returns the paths of all objects in a report, including the report."""
    if isinstance(value, dict):
        yield path
    for key, child in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from objects_in(child, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


class Schema(unittest.TestCase):
    def setUp(self):
        self.validator = jsonschema.Draft202012Validator(support.schema())
        self.report = copy.deepcopy(REPORT)

    def assert_refused(self, why):
        self.assertFalse(self.validator.is_valid(self.report), why)

    def test_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(support.schema())

    def test_accepts_a_report(self):
        self.assertEqual(support.violations(self.report), [])

    def test_every_key_is_required(self):
        for path in objects_in(REPORT):
            for key in at(REPORT, path):
                report = copy.deepcopy(REPORT)
                del at(report, path)[key]
                self.assertFalse(self.validator.is_valid(report), f"{path}: {key} may be left out")

    def test_more_keys_are_welcome(self):
        for path in objects_in(REPORT):
            at(self.report, path)["added_later"] = 1
        self.assertEqual(support.violations(self.report), [])

    def test_every_key_has_a_description(self):
        def walk(node, path):
            for key, child in node.get("properties", {}).items():
                if "$ref" not in child:
                    self.assertIn("description", child, f"{path}.{key}")
                walk(child, f"{path}.{key}")
            if isinstance(node.get("items"), dict):
                walk(node["items"], path + "[]")

        walk(support.schema(), "$")
        walk({"properties": support.schema()["$defs"]["attributed_row"]["properties"]}, "attributed_row")

    def test_no_steps_means_null_not_zero(self):
        self.report["steps"].update(
            source="none", count=0, list=[], p50_ms=None, mean_ms=None, min_ms=None, max_ms=None, step_time_ms=None
        )
        self.report["steps"].update(corrected_step_ms=None)
        self.report["step_breakdown"] = self.report["ceiling"] = None
        self.assertEqual(support.violations(self.report), [])
        self.report["steps"]["p50_ms"] = 0
        self.assert_refused("a median of 0 without steps")

    def test_a_stretch_is_of_a_recording_without_steps(self):
        self.report["stretch"] = {"start_ms": 0, "wall_ms": 0.002, "gpu_busy_ms": 0.001, "gpu_tasks": 1}
        self.assert_refused("a stretch beside steps")
        self.report["steps"].update(
            source="none", count=0, list=[], p50_ms=None, mean_ms=None, min_ms=None, max_ms=None, step_time_ms=None
        )
        self.report["steps"].update(corrected_step_ms=None, corrected_p50_ms=None, profiler_overhead_pct=None)
        self.assertEqual(support.violations(self.report), [])

    def test_whole_steps_have_a_median(self):
        for key in ("p50_ms", "mean_ms", "min_ms", "max_ms", "step_time_ms"):
            self.report["steps"][key] = None
        self.report["steps"]["corrected_step_ms"] = None
        self.assertTrue(support.violations(self.report), "a null median of one whole step")
        self.report["steps"]["list"][0].update(whole=False, counted=False)
        self.report["step_breakdown"] = self.report["ceiling"] = None
        self.assertEqual(support.violations(self.report), [])

    def test_refuses_other_words_and_versions(self):
        for path, key, value in (
            ((), "schema", "headroom.report/2"),
            (("health",), "grade", "G"),
            (("steps",), "source", "guessed"),
            (("bottleneck",), "verdict", "gpu"),
            (("bottleneck", "causes", 0), "name", "gremlins"),
            (("ranks", 0), "verdict", "gpu"),
            (("kernels", 0), "bound", "heat"),
            (("kernels", 0), "tensor_cores", "maybe"),
            (("steps",), "confidence", "sure"),
            (("efficiency",), "mfu_pct", "40"),
            (("findings", 0), "check", "rm -r ."),
            (("gpu_time", 0), "busy_ms", -1),
            (("gpu_time", 0), "busy_ms", "1"),
            (("kernels", 0), "share_pct", 101),
        ):
            report = copy.deepcopy(REPORT)
            at(report, path)[key] = value
            self.assertFalse(self.validator.is_valid(report), f"{path} {key}: {value} is accepted")

    def test_at_most_seven_findings(self):
        self.report["findings"] *= 8
        self.assert_refused("eight findings")


CHANGE: dict[str, Any] = {"a": 2, "b": 3, "change": 1, "change_pct": 50, "low": 0.5, "high": 1.5, "noise": False}
SIDE: dict[str, Any] = {
    "baseline": None,
    "paths": ["t.json"],
    "runs": 1,
    "steps": 3,
    "grade": "A",
    "verdict": "host",
    "calibration": None,
    "p50_ms": 2,
    "p10_ms": 1,
    "p90_ms": 3,
    "parts": dict.fromkeys(
        [
            f"{p}_ms"
            for p in (
                "compute",
                "exposed_communication",
                "copies_to_gpu",
                "other_copies",
                "data_wait",
                "callback",
                "host_wait",
                "queue_wait",
                "unexplained",
            )
        ],
        0,
    ),
    "phases": dict.fromkeys(support.PARTS, 0),
    "ranks": "0-7",
    "busiest_rank": 3,
    "imbalance_ms": 0.5,
    "lost_to_late_ms": None,
    "late": None,
}
RANK = {"step_ms": 2, "compute_ms": 1, "exposed_communication_ms": 0.5, "idle_ms": 0.5, "waited_ms": None}
CHANGED_ROW: dict[str, Any] = {
    "id": "k-0123456789",
    "name": "gemm",
    "operator": "aten::mm",
    "state": "changed",
    "calls_a": 1,
    "calls_b": 1,
    "ms": CHANGE,
    "by_count_ms": 0,
    "by_time_ms": 1,
}
DIFF: dict[str, Any] = {
    "schema": "headroom.diff/1",
    "a": SIDE,
    "b": {**SIDE, "baseline": "main"},
    "sentence": "2 ms -> 3 ms",
    "noise": "The change is beyond noise.",
    "comparable": True,
    "facts": [
        {"name": "gpu", "state": "different", "a": "x", "b": None, "blocks": True, "accepted": True, "cost": None}
    ],
    "step_ms": CHANGE,
    "corrected_step_ms": CHANGE,
    "changed": True,
    "account": [{"part": "aten::mm", "is_operator": True, "label": "aten::mm", "a_ms": 2, "b_ms": 3, "change_ms": 1}],
    "metrics": [{"name": "step_ms", **CHANGE}],
    "operators": [{**CHANGED_ROW, "operator": None}],
    "kernels": [CHANGED_ROW],
    "layers": [CHANGED_ROW],
    "swaps": [{"operator": "aten::mm", "gone": ["a"], "new": ["b"], "gone_ms": 1, "new_ms": 2}],
    "ranks": [{"rank": 3, "a": RANK, "b": RANK}],
    "gate": {
        "verdict": "fail",
        "rules": [
            {
                "rule": "step_ms<=+3%",
                "metric": "step_ms",
                "verdict": "fail",
                "measured": CHANGE,
                "threshold": 0.06,
                "why": "w",
            }
        ],
    },
}

ANSWERS: tuple[dict[str, Any], ...] = (
    DIFF,
    {**DIFF, "corrected_step_ms": None, "gate": None},
    {
        **DIFF,
        "ranks": [{"rank": 3, "a": RANK, "b": None}],
        "gate": {
            "verdict": "missing",
            "rules": [
                {
                    "rule": "memory_peak_mb<=+3%",
                    "metric": "memory_peak_mb",
                    "verdict": "missing",
                    "measured": None,
                    "threshold": None,
                    "why": "w",
                }
            ],
        },
    },
    {
        "schema": "headroom.redact/1",
        "output": "share.json.gz",
        "events": 3,
        "replaced": {"paths": 1, "hosts": 0, "users": 0, "arguments": 0, "names": 2},
        "changed_rows": [{"column": "host_events.name", "rows": 2}],
        "proof": {"texts": 3, "scanned_bytes": 1000, "compared_values": 500},
    },
    {
        "schema": "headroom.repair/1",
        "input": "broken.json",
        "output": "clean.json.gz",
        "events": 3,
        "mended": [
            {"code": "repaired-event", "count": 1, "what": "w", "voids": [], "places": [{"byte": 5, "detail": None}]}
        ],
        "remaining": [
            {
                "code": "truncated",
                "count": 1,
                "what": "w",
                "voids": ["steps after the cut"],
                "places": [{"byte": None, "detail": "d"}],
            }
        ],
    },
    {
        "schema": "headroom.baselines/1",
        "folder": ".headroom/baselines",
        "baselines": [
            {
                "file": "main.json",
                "problem": None,
                "name": "main",
                "step_ms": 2,
                "steps": 3,
                "runs": 1,
                "verdict": "host",
                "gpu": None,
            }
        ],
    },
    {"schema": "headroom.error/1", "error": "not found"},
    {
        "schema": "headroom.scenarios/1",
        "scenarios": [
            {
                "name": "amp",
                "title": "Mixed precision",
                "group": "usual",
                "summary": "s",
                "ranked": True,
                "keys": [{"name": "dtype", "kind": "choice", "choices": "fp16|bf16", "otherwise": "fp16"}],
            },
            {
                "name": "batch-size",
                "title": "Batch size",
                "group": "usual",
                "summary": "s",
                "ranked": False,
                "keys": [{"name": "n", "kind": "count", "choices": None, "otherwise": None}],
            },
        ],
    },
    {"schema": "headroom.query/1", "sql": "select 1", "columns": ["1"], "rows": [[1], [None], ["a"]], "cut": False},
    {"schema": "headroom.state/1", "generation": 0, "problem": None, "can_run": True},
    {
        "schema": "headroom.metrics/1",
        "begin_ms": 0,
        "length_ms": 10,
        "buckets": 256,
        "steps": [{"index": 3, "start_ms": 1.5}],
        "metrics": [
            {
                "name": "m",
                "unit": None,
                "left_out": 0,
                "curves": [{"instance": None, "process": "process 1", "points": [[0, 1, 2.5, 3]]}],
            }
        ],
    },
    {
        "schema": "headroom.traces/1",
        "traces": [{"trace": 1, "path": "t.json", "earlier": False}, {"trace": 2, "path": "old.json", "earlier": True}],
        "first_rank": 3,
        "forecast_arguments": ["--step-marker", "train"],
    },
    {
        "schema": "headroom.run/1",
        "command": "python3 train.py",
        "phase": "running",
        "ended": 1,
        "time_s": 1.5,
        "path": "headroom-ui-2.pftrace",
        "exit_code": None,
        "stopped": False,
        "problem": None,
        "lines": ["epoch 1"],
    },
)


class Answers(unittest.TestCase):
    """Tests the schemas of the answers of `headroom ui`, and of `diff`. test_ui.py and test_diff.py compare answers
    with them.
    """

    def refused(self, answer, path, change):
        changed = copy.deepcopy(answer)
        change(at(changed, path))
        return support.answer_violations(changed) != []

    def test_accepts_answers(self):
        for answer in ANSWERS:
            self.assertEqual(support.answer_violations(answer), [])

    def test_every_key_is_required_and_more_are_welcome(self):
        for answer in ANSWERS:
            for path in objects_in(answer):
                self.assertFalse(self.refused(answer, path, lambda row: row.update(added_later=1)), path)
                for key in set(at(answer, path)) - {"schema"}:
                    self.assertTrue(
                        self.refused(answer, path, lambda row: row.pop(key)), f"{path}: {key} may be left out"
                    )

    def test_refuses_what_contradicts_itself(self):
        error, scenarios, run = (
            next(a for a in ANSWERS if key in a and a["schema"].startswith(f"headroom.{name}/"))
            for name, key in (("error", "error"), ("scenarios", "scenarios"), ("run", "phase"))
        )
        self.assertTrue(self.refused(error, (), lambda row: row.update(error="")))
        for path, key, value in (
            (("scenarios", 0), "name", "Am p"),
            (("scenarios", 0), "group", "other"),
            (("scenarios", 0, "keys", 0), "kind", "date"),
            (("scenarios", 0, "keys", 0), "choices", None),
            (("scenarios", 1, "keys", 0), "choices", "1|2"),
            (("scenarios", 1), "ranked", None),
        ):
            self.assertTrue(self.refused(scenarios, path, lambda row: row.update({key: value})), (path, key))
        for key, wrong in (("phase", "walking"), ("time_s", -1), ("path", 7), ("lines", [""] * 21), ("stopped", None)):
            self.assertTrue(self.refused(run, (), lambda row: row.update({key: wrong})), key)


class SelfContradiction(unittest.TestCase):
    """support.violations finds more faults than the schema can."""

    def test_each_is_found(self):
        for path, key, value in (
            (("steps",), "count", 2),
            (("steps",), "p50_ms", 0.003),
            (("steps",), "max_ms", 9),
            (("steps", "list", 0), "gpu_busy_ms", 1),
            (("gpu_time", 0), "idle_ms", 1),
            (("gpu_time", 0), "busy_ms", 2),
            (("gpu_time", 0), "overlap_communication_pct", 0),
            (("step_breakdown",), "other_ms", 0.000001),
            (("step_breakdown", "gpu"), "other_ms", 0.001),
            (("kernels", 0), "mean_us", 3),
            (("health",), "grade", "A"),
            (("health", "issues", 0), "code", "no-such-code"),
        ):
            report = copy.deepcopy(REPORT)
            at(report, path)[key] = value
            with self.subTest(key=key):
                self.assertNotEqual(support.violations(report), [])


def undefined(keys):
    """Returns the keys that docs/report.md does not name."""
    page = support.DEFINITIONS.read_text()
    return [k for k in sorted(keys) if not re.search(rf"[`.\]]{k}(\[\])?`|^## .*\b{k}\b", page, re.MULTILINE)]


class Output(support.ProgramTest):
    """Compares the program's output with the schema and the page, key by key."""

    SAMPLES = support.ROOT / "data/samples"
    TRACES = {
        "host-bound": [SAMPLES / "bert_base_amp_fp16_h200.json.gz"],
        "GPU-bound": [SAMPLES / "resnet50_fp32_h200.json.gz"],
        "without GPU": [support.GOLDEN / "no-gpu/trace.json"],
        "two ranks": [
            support.GOLDEN / "two-ranks-with-steps/rank0.json",
            support.GOLDEN / "two-ranks-with-steps/rank1.json",
        ],
    }

    def undescribed(self, value, node, where, several):
        """Returns keys of a value that the schema's node does not describe or does not require."""
        if isinstance(value, list):
            for row in value:
                yield from self.undescribed(row, node.get("items", {}), f"{where}[]", several)
        if not isinstance(value, dict):
            return
        base = support.schema()["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else {}
        properties = {**base.get("properties", {}), **node.get("properties", {})}
        required = {*base.get("required", ()), *node.get("required", ())}
        for key, child in value.items():
            if key not in properties:
                yield f"{where}.{key} is no property"
                continue
            only_of_several = properties[key].get("$ref") == "#/$defs/rank_of_several"
            if only_of_several != (key not in required) or only_of_several and not several:
                yield f"{where}.{key} is not required"
            yield from self.undescribed(child, properties[key], f"{where}.{key}", several)

    def test_every_key_is_described(self):
        for name, traces in self.TRACES.items():
            with self.subTest(name):
                report = self.report(*traces)
                self.assertEqual(sorted({*self.undescribed(report, support.schema(), "$", len(traces) > 1)}), [])
                self.assertEqual(undefined({key for path in objects_in(report) for key in at(report, path)}), [])


class Definitions(unittest.TestCase):
    def test_every_key_is_defined_in_the_page(self):
        keys = {key for path in objects_in(REPORT) for key in at(REPORT, path)}
        self.assertEqual(undefined(keys), [], "keys without a definition in docs/report.md")

    def test_health_codes_are_those_of_the_program(self):
        """The page's table has the text of the declarations, word for word, in their order."""
        text = (
            (support.ROOT / "src/store/import_log.h")
            .read_text()
            .split("#define HEADROOM_IMPORT_ISSUES(X)")[1]
            .split("\nenum ")[0]
        )
        strings = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
        declared = []
        for code, severity, *texts in re.findall(
            r'X\(\w+,\s*"([^"]+)",\s*k(\w+),\s*' + r",\s*".join([strings] * 3) + r"\)", text.replace("\\\n", "\n")
        ):
            sentence, voids, remedy = (
                "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', t)).replace('\\"', '"') for t in texts
            )
            declared.append([f"`{code}`", severity.lower(), sentence, ", ".join(voids.split(",")), remedy])
        self.assertEqual(len(declared), len(re.findall(r"\bX\(k", text)), "this test does not read all declarations")
        page = support.DEFINITIONS.read_text().split("## health")[1].split("\n## ")[0]
        rows = [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in page.split("\n")
            if re.match(r"\| `[a-z0-9-]+` \|", line)
        ]
        self.assertEqual(rows, declared)
