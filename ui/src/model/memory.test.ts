import { expect, test } from "vitest";
import type { StepMemory } from "../api/forecasts";
import type { AttributedRow, KernelRow, MemoryUse } from "../api/report_tables";
import type { Report } from "../api/types";
import {
  batchSeriesOf,
  copiesOf,
  curveOf,
  headlineOf,
  modelledPurposes,
  moversOf,
  nameOf,
  recordedPurposes,
  workingGpu,
} from "./memory";

test("copies and sets are told by their class", () => {
  const kernels = [
    { name: "gemm", class: "matmul" },
    { name: "Memset", class: "memset" },
    { name: "Memcpy", class: "memcpy" },
  ] as KernelRow[];
  expect(copiesOf(kernels).map((row) => row.name)).toEqual(["Memset", "Memcpy"]);
});

test("who moves how much, how fast", () => {
  const rows = [
    { name: "aten::add", rank: null, bytes: 2.4e9, total_us: 1000 },
    { name: "aten::view", rank: null, bytes: 0, total_us: 0 },
    { name: "custom", rank: null, bytes: null, total_us: 5 },
  ] as AttributedRow[];
  expect(moversOf(rows, 4800)).toEqual([
    { name: "aten::add", rank: null, bytes: 2.4e9, totalUs: 1000, bytesPerS: 2.4e12, peakPct: 50 },
  ]);
  expect(moversOf(rows, null)[0]?.peakPct).toBeNull();
});

const USE = {
  peak_bytes: 400,
  parts: [
    { kind: "activation", bytes: 300, allocations: 2 },
    { kind: "before_recording", bytes: 100, allocations: 0 },
  ],
  curve: {
    ms: [0, 1],
    reserved_bytes: [null, 512],
    parts: [
      { kind: "before_recording", bytes: [100, 100] },
      { kind: "activation", bytes: [0, 300] },
    ],
  },
} as unknown as MemoryUse;

test("what the recorded peak is for, as shares of it", () => {
  expect(recordedPurposes(USE).map(({ title, share }) => [title, share])).toEqual([
    ["activations", 0.75],
    ["from before", 0.25],
  ]);
});

test("over time: a stack of purposes, and the driver's above", () => {
  const series = curveOf(USE);
  expect(series.map(({ label, kind }) => [label, kind])).toEqual([
    ["from before", "area"],
    ["activations", "area"],
    ["reserved from the driver", undefined],
  ]);
  expect(series[1]?.points).toEqual([
    { x: 0, y: 0 },
    { x: 1, y: 300 },
  ]);
  expect(series[2]?.points).toEqual([{ x: 1, y: 512 }]);
});

test("a step's memory by shapes: the largest first, nothing left out but nothing", () => {
  const memory = {
    peak_bytes: 200,
    parameters_bytes: 50,
    gradients_bytes: 0,
    optimizer_state_bytes: 0,
    activations_bytes: 140,
    temporaries_bytes: 0,
    workspace_bytes: 10,
    optimizer: null,
  } as unknown as StepMemory;
  expect(modelledPurposes(memory).map(({ key, bytes }) => [key, bytes])).toEqual([
    ["activations", 140],
    ["parameters", 50],
    ["workspace", 10],
  ]);
});

test("the GPU's own memory is drawn where it can be seen beside what the job takes", () => {
  const memory = {
    batch_sizes: [
      { samples: 8, peak_bytes: 10, reserved_bytes: 12 },
      { samples: 16, peak_bytes: 18, reserved_bytes: 20 },
    ],
  } as unknown as StepMemory;
  expect(batchSeriesOf(memory, 30).map((series) => series.label)).toEqual([
    "allocated",
    "reserved from the driver",
    "memory of the GPU",
  ]);
  expect(batchSeriesOf(memory, 300)).toHaveLength(2);
  expect(batchSeriesOf(memory, null)).toHaveLength(2);
});

test("the GPU is the one that worked, not the first of the machine", () => {
  const device = (id: number) => ({ id, name: "MI250", memory_bytes: 64e9 + id });
  const report = (devices: number[], worked: (number | null)[]) =>
    ({
      inputs: [{ devices: devices.map(device) }],
      gpu_time: worked.map((one) => ({ device: one })),
    }) as unknown as Report;
  expect(workingGpu(report([0, 1, 2], [2]))?.id).toBe(2);
  expect(workingGpu(report([0], []))?.id).toBe(0);
  expect(workingGpu(report([0, 1], []))).toBeUndefined();
  expect(workingGpu(report([0, 1], [7]))).toBeUndefined();
});

test("two processes on one GPU have two names", () => {
  expect(nameOf({ device: 0, rank: null, process: "11" })).toBe("GPU 0, process 11");
  expect(nameOf({ device: null, rank: 3, process: null })).toBe("Host of rank 3");
  expect(nameOf({ device: 1, rank: 3 })).toBe("GPU 1 of rank 3");
});

test("how much of the GPU the job needs", () => {
  const use = (device: number | null, peak_bytes: number) => ({ device, peak_bytes }) as MemoryUse;
  const modelled = { peak_bytes: 4e9 } as StepMemory;
  expect(headlineOf([use(null, 9e9), use(0, 6e9)], modelled, 24e9)).toBe(
    "The peak was 6.00 GB, 25.0 % of the GPU's 24.0 GB",
  );
  expect(headlineOf([use(null, 9e9)], modelled, null)).toBe("A step needs 4.00 GB");
  expect(headlineOf([], null, 24e9)).toBe("Memory of the job");
});
