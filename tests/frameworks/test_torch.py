"""PyTorch: a trace of torch.profiler, and the same loop under `headroom record`."""

import decimal
import json
import re

from frameworks.programs import STEPS, TRAINING, FrameworkTest
from integration import support

WAIT, WARMUP, ACTIVE = 1, 1, 5
LOOP = f"""
    import contextlib, sys, torch

    trace = sys.argv[1] if len(sys.argv) > 1 else None
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    loss_function = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.utils.data.TensorDataset(torch.randn({STEPS} * 32, 64), torch.randint(10, ({STEPS} * 32,)))
    loader = torch.utils.data.DataLoader(data, batch_size=32)

    profiler = contextlib.nullcontext()
    if trace:
        profiler = torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            schedule=torch.profiler.schedule(wait={WAIT}, warmup={WARMUP}, active={ACTIVE}, repeat=1),
            on_trace_ready=lambda profile: profile.export_chrome_trace(trace),
            record_shapes=True,
        )
    with profiler:
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = loss_function(model(inputs), labels)
            loss.backward()
            optimizer.step()
            if trace:
                profiler.step()
"""
COLD_LOOP = """
    import time
    import headroom

    for i in range(8):
        with headroom.step(i):
            time.sleep(0.1 if i == 0 else 0.001)
"""


def profiler_steps(trace):
    """Returns the ranges ProfilerStep#N of a trace: {N: (start, length)} in ms after the first event."""
    spans = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    first = min(event["ts"] for event in trace["traceEvents"] if "ts" in event and event.get("ph") != "M")
    steps = {}
    for event in spans:
        match = re.fullmatch(r"ProfilerStep#(\d+)", event["name"])
        if match and event["cat"] == "user_annotation":
            steps[int(match[1])] = (float(event["ts"] - first) / 1e3, float(event["dur"]) / 1e3)
    return steps


class Torch(FrameworkTest):
    def test_a_trace_of_the_profiler(self):
        path = self.scratch / "trace.json"
        self.run_program(LOOP, path)
        raw = profiler_steps(json.loads(path.read_text(), parse_float=decimal.Decimal))
        self.assertEqual(sorted(raw), list(range(WAIT + WARMUP, WAIT + WARMUP + ACTIVE)))

        report = self.report(path)
        self.assertEqual(report["inputs"][0]["format"], "pytorch-profiler-json")
        self.assert_steps(report, ACTIVE)
        self.assertEqual([step["index"] for step in report["steps"]["list"]], sorted(raw))
        nanosecond_ms = 1e-6
        for step in report["steps"]["list"]:
            start, wall = raw[step["index"]]
            self.assertAlmostEqual(step["start_ms"], start, delta=2 * nanosecond_ms)
            self.assertAlmostEqual(step["wall_ms"], wall, delta=2 * nanosecond_ms)
        walls = sorted(wall for _, wall in raw.values())
        self.assertAlmostEqual(report["steps"]["p50_ms"], walls[(ACTIVE - 1) // 2], delta=2 * nanosecond_ms)

        # A job on the CPU has no GPU work, which does not count as damage.
        self.assertEqual(report["health"]["grade"], "A")
        warnings = [issue["code"] for issue in report["health"]["issues"] if issue["severity"] == "warning"]
        self.assertEqual(warnings, [])
        breakdown = report["step_breakdown"]
        for phase in ("data_wait_ms", "forward_ms", "backward_ms", "optimizer_ms"):
            self.assertGreater(breakdown[phase], 0, phase)

    def test_a_recording_of_the_same_loop(self):
        report = self.report(self.record(LOOP))
        self.assert_steps(report, STEPS)
        self.assert_timings(report, "dataloader_next", *TRAINING)

    def test_a_cold_first_step(self):
        recording = self.record(COLD_LOOP)
        self.assertEqual(support.violations(support.headroom("report", "--json", recording).json()), [])
