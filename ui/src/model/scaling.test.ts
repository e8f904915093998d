import { expect, test } from "vitest";
import type { ScalePoint, Scaling, ScalingLimit } from "../api/forecasts";
import {
  commandOf,
  DEFAULTS,
  efficiencyPoints,
  pathOf,
  queryOf,
  settingsOf,
  throughputPoints,
  verdictOf,
} from "./scaling";

const point = (gpus: number, ms: number, limit: ScalingLimit, samples: number | null = 4): ScalePoint => ({
  cluster: null,
  gpus,
  nodes: gpus,
  step_ms: { low: ms / 2, mid: ms, high: ms * 2 },
  throughput_per_s: samples === null ? null : (1000 * samples * gpus) / ms,
  efficiency_pct: 10000 / ms,
  exposed_communication_ms: ms - 100,
  communication_ms: 0,
  limited_by: limit,
  why: "",
});

const scaling = (points: ScalePoint[]): Scaling => ({
  schema: "",
  baseline: {
    step_ms: { low: 99, mid: 100, high: 101 },
    recorded_gpus: 1,
    recorded_network: null,
    samples_per_step: 4,
    steps_note: null,
  },
  mode: "weak",
  why: null,
  points,
});

test("settings survive the address", () => {
  const settings = {
    cluster: "dgx-h100",
    gbps: 25,
    perNode: 8,
    most: 512,
    strong: true,
    schedule: "zero-3",
    changes: "amp",
  };
  expect(settingsOf({ ...queryOf(settings), scenario: "amp" })).toEqual(settings);
  expect(settingsOf({})).toEqual(DEFAULTS);
  expect(
    settingsOf({ gbps: "nan", node: "3", most: "-1", strong: "yes", schedule: "pigeon", scenario: "amp" }),
  ).toEqual(DEFAULTS);
  expect(Object.values(queryOf(DEFAULTS)).join("")).toBe("");
});

test("a question in the server's words, and as a command", () => {
  expect(pathOf(DEFAULTS, null)).toBe("scale?gpus=1%2C2%2C4%2C8%2C16%2C32%2C64&bandwidth-gbps=100&gpus-per-node=1");
  const settings = { ...DEFAULTS, cluster: "dgx-h100", strong: true, changes: "amp" };
  expect(pathOf(settings, 4)).toBe("scale?gpus=1%2C2%2C4&cluster=dgx-h100&strong=1&with=amp");
  expect(commandOf(settings, 4, "my job.json")).toBe(
    "headroom scale 'my job.json' --gpus 1,2,4 --cluster dgx-h100 --strong --with amp",
  );
  const hostile = { ...settingsOf({ cluster: "a;b", with: "1", scenario: "scale:match=$(id)|gemm" }), most: 1 };
  expect(commandOf(hostile, null, "t.json")).toBe(
    "headroom scale t.json --gpus 1 --cluster 'a;b' --with 'scale:match=$(id)|gemm'",
  );
});

test("throughput has the step's band, the other way round", () => {
  const { points, ideal, inSamples } = throughputPoints([point(1, 100, "gpu"), point(8, 200, "bandwidth")]);
  expect(points).toEqual([
    { x: 1, y: 40, low: 20, high: 80 },
    { x: 8, y: 160, low: 80, high: 320 },
  ]);
  expect(ideal).toEqual([
    { x: 1, y: 40 },
    { x: 8, y: 320 },
  ]);
  expect(inSamples).toBe(true);
});

test("where samples are not known, in what one GPU does", () => {
  const { points, ideal, inSamples } = throughputPoints([point(2, 200, "gpu", null), point(8, 200, "gpu", null)]);
  expect(points.map((one) => one.y)).toEqual([1, 4]);
  expect(ideal.map((one) => one.y)).toEqual([2, 8]);
  expect(inSamples).toBe(false);
});

test("what cannot be told is in no curve", () => {
  const none = {
    ...point(4, 100, "gpu"),
    step_ms: { low: null, mid: null, high: null },
    efficiency_pct: null,
    limited_by: null,
  };
  expect(efficiencyPoints([point(1, 100, "gpu"), none])).toHaveLength(1);
  expect(verdictOf(scaling([none]))).toBeNull();
});

test("what limits the most GPUs, and since when", () => {
  const verdict = verdictOf(
    scaling([point(1, 100, "gpu"), point(2, 110, "latency"), point(4, 150, "bandwidth"), point(8, 200, "bandwidth")]),
  );
  expect(verdict?.at.gpus).toBe(8);
  expect(verdict?.since).toBe(4);
  expect(verdictOf(scaling([point(1, 100, "gpu"), point(2, 100, "gpu")]))?.since).toBeNull();
});
