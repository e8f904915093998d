import { expect, test } from "vitest";
import type { AccountRow, Change } from "../api/diff";
import { accountBars, type ComparedReport, shareDifferences } from "./compare";

function report(stepMs: number | null, kernels: [string, number | null, number | null][]): ComparedReport {
  return {
    steps: {
      source: "",
      count: 2,
      p50_ms: stepMs,
      mean_ms: stepMs,
      min_ms: stepMs,
      max_ms: stepMs,
      step_time_ms: stepMs,
      corrected_step_ms: null,
      list: [],
    },
    classes: [],
    kernels: kernels.map(([name, share_pct, rank]) => ({ name, rank, share_pct })),
    operators: [],
  };
}

const change = (a: number, b: number): Change => ({
  a,
  b,
  change: b - a,
  change_pct: null,
  low: null,
  high: null,
  noise: false,
});

const part = (label: string, change_ms: number): AccountRow => ({
  part: label,
  label,
  is_operator: true,
  a_ms: 0,
  b_ms: change_ms,
  change_ms,
});

test("shares, those that differ most first; several ranks count once", () => {
  const before = report(null, [
    ["a", 40, 0],
    ["a", 20, 1],
    ["gone", 10, 0],
  ]);
  const after = report(null, [
    ["a", 30, 0],
    ["new", 50, 0],
  ]);
  expect(shareDifferences(before, after, "kernels")).toEqual([
    { name: "new", before: null, after: 50, delta: 50 },
    { name: "gone", before: 5, after: null, delta: -5 },
    { name: "a", before: 30, after: 30, delta: 0 },
  ]);
});

test("bars of the account, largest first, lead from one step to the other", () => {
  const bars = accountBars([part("mm", 1), part("host", -4), part("tiny", 0.001)], change(10, 7.001));
  expect(bars.map((bar) => bar.label)).toEqual(["host", "mm", "all others"]);
  expect(bars[0]).toMatchObject({ fromMs: 10, toMs: 6 });
  expect(bars.at(-1)?.toMs).toBeCloseTo(7.001);
});

test("many parts end in one bar of all others", () => {
  const account = Array.from({ length: 30 }, (_, index) => part(`part ${index}`, 1));
  const bars = accountBars(account, change(10, 40));
  expect(bars.length).toBe(9);
  expect(bars.at(-1)).toMatchObject({ label: "all others", toMs: 40 });
});
