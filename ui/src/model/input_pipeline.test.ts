import { expect, test } from "vitest";
import type { MetricRow, RegionRow, TimingRow } from "../api/report_tables";
import type { Report, StepBreakdown } from "../api/types";
import { judgementOf, settingsOf, stationsOf, whyNoJudgement } from "./input_pipeline";

const region = (key: string, selfMs: number, totalMs = selfMs): RegionRow => ({
  key,
  rank: null,
  count: 10,
  total_ms: totalMs,
  self_ms: selfMs,
  min_ms: 1,
  mean_ms: totalMs / 10,
  p50_ms: 1,
  p99_ms: 2,
  max_ms: 2,
  gpu_ms: null,
});

const timing = (name: string, meanMs: number): TimingRow => ({
  name,
  rank: null,
  inside: null,
  count: 10,
  total_ms: 10 * meanMs,
  mean_ms: meanMs,
  p50_ms: meanMs,
  p99_ms: meanMs,
  share_pct: 60,
  gpu_ms: null,
  source: "ranges",
});

const metric = (name: string, value: number): MetricRow => ({
  name,
  rank: null,
  unit: null,
  host: null,
  gpu: null,
  instance: null,
  mean: value,
  min: value,
  max: value,
  last: value,
  samples: 1,
});

const report = (changes: Partial<Report>): Report =>
  ({ regions: [], timings: [], metrics: [], step_breakdown: null, ...changes }) as unknown as Report;

test("the way of a batch has the stations that were recorded", () => {
  const full = report({
    regions: [region("loader.batch", 10, 90), region("loader.index_wait", 10)],
    timings: [timing("dataloader_next", 16), timing("train_batch", 9)],
    metrics: [
      metric("setting.loader.workers", 2),
      metric("setting.loader.prefetch_factor", 2),
      metric("loader.ready", 0.08),
    ],
  });
  expect(stationsOf(full).map((station) => `${station.name}: ${station.value}`)).toEqual([
    "Preparing a batch: 9.00 ms",
    "Ready: 0.08 of 4",
    "The loop waits: 16.00 ms",
    "The rest of the step: 9.00 ms",
  ]);
  expect(stationsOf(full)[0]?.meaning).toBe("by a worker, idle for 10.0 % of its time");
  expect(stationsOf(report({}))).toEqual([]);
});

test("settings in words; what is not known is left out", () => {
  const loader = {
    workers: 0,
    prefetch_factor: null,
    batch_size: 8,
    dataset_size: 50000,
    pin_memory: false,
    persistent_workers: true,
    cpus: null,
    batches: 1,
    wait_ms: 0,
  };
  expect(settingsOf(loader).map(({ title, value }) => `${title}: ${value}`)).toEqual([
    "Workers: 0",
    "Batch size: 8",
    "Samples in the dataset: 50,000",
    "Pinned memory: no",
    "Persistent workers: yes",
  ]);
});

test("less than a twentieth is no wait", () => {
  const breakdown = (wait: number) => ({ data_wait_ms: wait, host_to_device_ms: 1, wall_ms: 100 }) as StepBreakdown;
  expect(judgementOf(report({ step_breakdown: breakdown(3) }))?.waits).toBe(false);
  expect(judgementOf(report({ step_breakdown: breakdown(4) }))?.waits).toBe(true);
  expect(judgementOf(report({}))).toBeNull();
});

test("no judgement without a step, or without its parts", () => {
  const steps = (p50_ms: number | null) => ({ steps: { p50_ms } }) as Report;
  expect(whyNoJudgement(steps(null))).toContain("no complete step");
  expect(whyNoJudgement(steps(12))).toContain("splitting the step");
});
