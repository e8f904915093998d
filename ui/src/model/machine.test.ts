import { expect, test } from "vitest";
import type { MetricRow } from "../api/report_tables";
import { groupsOf, machineHeadline, memoryMetrics, mostTelling, spreadOf } from "./machine";

const metric = (name: string, changes: Partial<MetricRow> = {}): MetricRow => ({
  name,
  rank: null,
  unit: "%",
  host: null,
  gpu: null,
  instance: null,
  mean: 20,
  min: 10,
  max: 40,
  last: 15,
  samples: 3,
  ...changes,
});

const METRICS = [
  "cpu_user_pct",
  "my.counter",
  "gpu_memory_used_bytes",
  "gpu_memory_clock_mhz",
  "setting.loader.shared_memory_bytes",
  "free_memory",
].map((name) => metric(name));

test("metrics are grouped by what they are of; settings are none", () => {
  expect(groupsOf(METRICS).map((group) => [group.title, group.rows.length])).toEqual([
    ["GPU", 2],
    ["Processor", 1],
    ["System memory", 1],
    ["Counters of the program", 1],
  ]);
  expect(groupsOf([])).toEqual([]);
});

test("clocks of the memory are not memory", () => {
  expect(memoryMetrics(METRICS).map((row) => row.name)).toEqual(["gpu_memory_used_bytes", "free_memory"]);
});

test("a spread is of 100 %, or of the most", () => {
  expect(spreadOf(metric("cpu_user_pct"))).toEqual({ from: 0.1, mean: 0.2, to: 0.4 });
  expect(spreadOf(metric("free_memory", { unit: "bytes" }))).toEqual({ from: 0.25, mean: 0.5, to: 1 });
  expect(spreadOf(metric("swap", { min: 0, mean: 0, max: 0 }))).toEqual({ from: 0, mean: 0, to: 0 });
});

test("what changes is looked at first, shares before all", () => {
  const still = metric("still", { min: 5, max: 5 });
  const bytes = metric("bytes", { unit: "bytes" });
  expect(mostTelling([still, bytes, metric("share")])).toBe("share");
  expect(mostTelling([still, bytes])).toBe("bytes");
  expect(mostTelling([still])).toBe("still");
  expect(mostTelling([])).toBe("");
});

test("the headline has the means of what was recorded", () => {
  const rows = (means: Record<string, number>) =>
    Object.entries(means).map(([name, mean]) => ({ name, mean }) as MetricRow);
  expect(machineHeadline([])).toBe("The host's time by part of the loop");
  expect(
    machineHeadline(rows({ cpu_util_simple: 42, gpu_util: 63.1, free_memory: 4e9, memory_total_bytes: 16e9 })),
  ).toBe("CPU 42.0 % busy, GPU 63.1 % busy, 12.0 GB of 16.0 GB of memory in use, on average");
});
