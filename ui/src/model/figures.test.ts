import { expect, test } from "vitest";
import type { Prediction } from "../api/forecasts";
import { figuresOf, forecastFigures } from "./figures";

type Known = Parameters<typeof figuresOf>[0];

const NOTHING = {
  summary: {
    step_ms: null,
    recorded_ms: null,
    gpu_busy_ms: null,
    samples_per_s: null,
    tokens_per_s: null,
    peak_memory_bytes: null,
    parts_of: "step",
    parts: [],
    actions: [],
    no_action: null,
    note: null,
  },
  steps: { step_time_ms: null, corrected_step_ms: null },
  efficiency: { mfu_pct: null, math_dtype: null, peaks: [] },
  inputs: [{ devices: [] }],
  gpu_time: [],
  step_breakdown: null,
} as unknown as Known;

test("what the trace does not have is left out", () => {
  expect(figuresOf(NOTHING)).toEqual([]);
});

test("each figure says of what it is", () => {
  const report = {
    ...NOTHING,
    summary: {
      ...NOTHING.summary,
      step_ms: { low: 40, mid: 50, high: 60 },
      recorded_ms: 80,
      gpu_busy_ms: 20,
      samples_per_s: 160,
      peak_memory_bytes: 4e9,
    },
    steps: { step_time_ms: 80, corrected_step_ms: { low: 40, mid: 50, high: 60 } },
    efficiency: { mfu_pct: 3.5, math_dtype: "bf16", peaks: [{ dtype: "bf16", tflops: 989.4 }] },
    inputs: [{ devices: [{ memory_bytes: 141e9 }] }],
    throughput: { batch_size: 8 },
  } as unknown as Known;
  expect(figuresOf(report).map(({ title, value, note }) => `${title}: ${value} (${note})`)).toEqual([
    "Step: 50.00 ms (40.00 ms to 60.00 ms, recorded: 80.00 ms)",
    "GPU busy: 20.00 ms (25.0 % of the recorded step)",
    "MFU: 3.5 % (as recorded, of 989 TFLOP/s (bf16))",
    "Throughput: 160 samples/s (8 samples per step)",
    "Peak memory: 4.00 GB (of 141 GB)",
  ]);
});

test("the share of the GPU is that of the mean step, as in the verdict", () => {
  const report = {
    ...NOTHING,
    summary: { ...NOTHING.summary, recorded_ms: 80, gpu_busy_ms: 20 },
    step_breakdown: { wall_ms: 100, gpu: { forward_ms: 20, backward_ms: 15 } },
  } as unknown as Known;
  expect(figuresOf(report).map(({ value, note }) => `${value} (${note})`)).toEqual([
    "20.00 ms (35.0 % of the mean step)",
  ]);
});

test("cost and energy of the recorded GPU as predict states them, memory from shapes unless it was recorded", () => {
  const prediction = {
    source_gpu: "H200",
    baseline: { memory: { peak_bytes: 4e9 } },
    targets: [
      { gpu: "L4", money_per_million_samples: 9, currency: "USD", energy_joules_per_sample: 1 },
      {
        gpu: "H200",
        money_per_million_samples: 14.1,
        currency: "USD",
        energy_joules_per_sample: 1.45,
        energy_source: "model",
        energy_error_pct: 25,
      },
    ],
  } as unknown as Prediction;
  const texts = (report: Known) =>
    forecastFigures(prediction, report).map(({ title, value, note }) => `${title}: ${value} (${note})`);
  expect(texts(NOTHING)).toEqual([
    "Memory: 4.00 GB (from shapes)",
    "Cost: 14.1 USD (per million samples, on H200)",
    "Energy: 1.45 J (per sample, modelled within 25.0 %)",
  ]);
  expect(texts({ ...NOTHING, summary: { ...NOTHING.summary, peak_memory_bytes: 1 } })[0]).toContain("Cost");
  expect(forecastFigures({ ...prediction, source_gpu: null, baseline: null }, NOTHING)).toEqual([]);
});
