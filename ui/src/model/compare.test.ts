import { expect, test } from "vitest";
import { type ComparedReport, doubtsOf, hasSteps, partDifferences, rowDifferences, stepsOf } from "./compare";

const PARTS = {
  data_wait_ms: 0,
  host_to_device_ms: 0,
  forward_ms: 0,
  backward_ms: 0,
  optimizer_ms: 0,
  communication_ms: 0,
  callback_ms: 0,
  other_ms: 0,
};

function report(forwardMs: number, kernels: [string, number, number | null][], steps = 2): ComparedReport {
  const rows = kernels.map(([name, total_us, rank]) => ({ name, rank, total_us, share_pct: (total_us ?? 0) / 100 }));
  return {
    inputs: [{ path: "a", devices: [{ name: "H200" }] }],
    steps: {
      source: "",
      count: steps,
      p50_ms: forwardMs,
      min_ms: forwardMs,
      max_ms: forwardMs,
      step_time_ms: forwardMs,
      corrected_step_ms: null,
    },
    step_breakdown: { ...PARTS, forward_ms: forwardMs, gpu: PARTS, wall_ms: forwardMs },
    bottleneck: { verdict: "host", share_pct: null, confidence: null, confidence_reason: null, evidence: [] },
    throughput: { batch_size: 4 },
    classes: [],
    kernels: rows,
    operators: [],
  };
}

test("parts that neither step has are left out", () => {
  expect(partDifferences(report(10, []), report(12, []))).toEqual([
    { name: "forward", before: 10, after: 12, delta: 2 },
  ]);
  expect(partDifferences(report(10, []), { ...report(12, []), step_breakdown: null })).toBeNull();
});

test("kernels of a step, those that differ most first", () => {
  const before = report(10, [
    ["a", 4000, null],
    ["b", 2000, null],
    ["gone", 1000, null],
  ]);
  const after = report(
    10,
    [
      ["a", 8000, null],
      ["b", 4000, null],
      ["new", 20000, null],
    ],
    4,
  );
  expect(rowDifferences(before, after, "kernels")).toEqual([
    { name: "new", before: null, after: 5, delta: 5 },
    { name: "gone", before: 0.5, after: null, delta: -0.5 },
    { name: "a", before: 2, after: 2, delta: 0 },
    { name: "b", before: 1, after: 1, delta: 0 },
  ]);
});

test("ranks count as one each", () => {
  const [row] = rowDifferences(
    report(10, [
      ["a", 4000, 0],
      ["a", 4000, 1],
    ]),
    report(10, [["a", 4000, 0]]),
    "kernels",
  );
  expect(row).toEqual({ name: "a", before: 2, after: 2, delta: 0 });
});

test("without steps, shares are compared, not a whole trace with a step", () => {
  const whole = report(
    10,
    [
      ["a", 4000, 0],
      ["a", 6000, 1],
    ],
    0,
  );
  const steps = report(
    10,
    [
      ["a", 1000, null],
      ["b", 9000, null],
    ],
    3,
  );
  expect(hasSteps(whole, steps)).toBe(false);
  expect(rowDifferences(whole, steps, "kernels")).toEqual([
    { name: "b", before: null, after: 90, delta: 90 },
    { name: "a", before: 50, after: 10, delta: -40 },
  ]);
});

test("steps with and without the profiler are not mixed", () => {
  const corrected = (ms: number) => ({
    ...report(ms, []),
    steps: { ...report(ms, []).steps, corrected_step_ms: { low: ms - 2, mid: ms - 1, high: ms } },
  });
  expect(stepsOf(corrected(10), corrected(8))).toEqual({ beforeMs: 9, afterMs: 7, corrected: true });
  expect(stepsOf(corrected(10), report(8, []))).toEqual({ beforeMs: 10, afterMs: 8, corrected: false });
});

test("what makes them hard to compare", () => {
  expect(doubtsOf(report(1, []), report(1, []))).toEqual([]);
  const other = { ...report(1, []), inputs: [{ path: "b", devices: [{ name: "L4" }] }], throughput: { batch_size: 8 } };
  expect(doubtsOf(report(1, []), other)).toEqual([
    "Another GPU: H200, then L4.",
    "Another batch: 4 samples per step, then 8.",
  ]);
});
