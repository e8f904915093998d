import { expect, test } from "vitest";
import type { Loader, Loading, LoadingForecast, LoadingOption, LoadingStage } from "../api/loading";
import {
  boundOf,
  changeOf,
  commandOf,
  curveOf,
  DEFAULTS,
  doubtsOf,
  namableStages,
  pathOf,
  queryOf,
  recordedSetting,
  rowsOf,
  runningOf,
  settingsOf,
  titleOf,
  workersRange,
} from "./loading";

const loader: Loader = {
  workers: 1,
  prefetch_factor: 2,
  batch_size: 8,
  dataset_size: 400,
  pin_memory: false,
  persistent_workers: false,
  cpus: 2,
  batches: 50,
  wait_ms: 1900,
};

const option = (setting: string, ms: number, more: Partial<LoadingOption> = {}): LoadingOption => ({
  setting,
  step_ms: { low: ms / 2, mid: ms, high: ms * 2 },
  speedup: 40 / ms,
  samples_per_s: 8000 / ms,
  wait_ms: 1,
  busy_cpus: 1,
  worker_use: 1,
  memory_bytes: 1e5,
  exceeds_memory: false,
  oversubscribed: false,
  ...more,
});

const forecast: LoadingForecast = {
  simulated_step_ms: 40,
  correction: 1,
  cores: 2,
  ideal: option("", 1),
  best: "workers=6,prefetch=4",
  cheapest: "workers=4,prefetch=2",
  asked: [],
  options: [
    option("workers=0", 50),
    option("workers=1,prefetch=2", 40),
    option("workers=4,prefetch=2", 20.2, { oversubscribed: true }),
    option("workers=6,prefetch=4", 20),
  ],
};

const stage = (name: string | null, kind: string, more: Partial<LoadingStage> = {}): LoadingStage => ({
  name,
  kind,
  count: 400,
  own_ms: 100,
  cpu_ms: 50,
  per_sample_us: 250,
  share_pct: 60,
  ...more,
});

const loading = (more: Partial<Loading>): Loading => ({
  schema: "headroom.data/1",
  path: "run.pftrace",
  bound: "preparation",
  loop: { step_ms: 40, wait_ms: 38 },
  stages: [],
  loaders: [loader],
  failures: [],
  probe: null,
  forecast,
  no_forecast: null,
  ...more,
});

test("settings survive the address", () => {
  const settings = { loader: 2, workers: 0, prefetch: 4, cached: 12.5, stage: "Random,Crop", factor: 1.5 };
  expect(settingsOf(queryOf(settings))).toEqual(settings);
  expect(settingsOf({})).toEqual(DEFAULTS);
  expect(settingsOf({ loader: "0", workers: "1.5", prefetch: "0", cached: "101", factor: "fast" })).toEqual(DEFAULTS);
  expect(settingsOf({ workers: "", cached: " " })).toEqual(DEFAULTS);
  expect(Object.values(queryOf(DEFAULTS)).join("")).toBe("");
});

test("a change names what differs from the recorded setting", () => {
  expect(changeOf(DEFAULTS, loader)).toBe("");
  expect(changeOf({ ...DEFAULTS, workers: 1, prefetch: 2, stage: "Decode", factor: 1 }, loader)).toBe("");
  expect(changeOf({ ...DEFAULTS, workers: 4, prefetch: 3, cached: 50, stage: "Decode", factor: 2 }, loader)).toBe(
    "workers=4,prefetch=3,cached=50%,stage=Decode:2",
  );
  expect(changeOf({ ...DEFAULTS, workers: 0, prefetch: 3 }, loader)).toBe("workers=0");
});

test("a question in the server's words, and as a command", () => {
  expect(pathOf(1, "")).toBe("data"); // The path under which a page that is a file holds the answer.
  expect(pathOf(2, "")).toBe("data?loader=2");
  expect(pathOf(2, "workers=4,cached=50%")).toBe("data?loader=2&change=workers%3D4%2Ccached%3D50%25");
  expect(commandOf("my run.pftrace", 2, "stage=Decode (2):2")).toBe(
    "headroom data 'my run.pftrace' 'stage=Decode (2):2' --loader 2",
  );
  expect(commandOf("run.pftrace", 1, "workers=4,cached=50%")).toBe("headroom data run.pftrace workers=4,cached=50%");
});

test("stages that a change can name", () => {
  expect(namableStages([stage("Decode", "stage"), stage("Pad(1, 2)", "stage"), stage(null, "collate")])).toEqual([
    "Decode",
  ]);
  expect([stage("Decode", "stage"), stage(null, "collate"), stage(null, "new")].map(titleOf)).toEqual([
    "Decode",
    "collation",
    "new",
  ]);
  expect(runningOf(stage("a", "stage"))).toBe(50);
  expect(runningOf(stage("a", "stage", { cpu_ms: null }))).toBeNull();
  expect(runningOf(stage("a", "stage", { own_ms: 0 }))).toBeNull();
});

test("rows say what they are", () => {
  const asked = option("cached=50%", 30, { exceeds_memory: true });
  expect(rowsOf({ ...forecast, asked: [asked] }, loader).map((row) => [row.setting, row.notes.join()])).toEqual([
    ["cached=50%", "requested,too much memory"],
    ["workers=0", ""],
    ["workers=1,prefetch=2", "as recorded"],
    ["workers=4,prefetch=2", "enough,oversubscribed"],
    ["workers=6,prefetch=4", "best"],
  ]);
  expect(recordedSetting({ ...loader, workers: 0, prefetch_factor: null })).toBe("workers=0");
});

test("a curve over workers has the best of each number, and the step's band the other way round", () => {
  const more = {
    ...forecast,
    options: [
      ...forecast.options,
      option("workers=4,prefetch=8", 16),
      option("workers=8,prefetch=8", 1, { exceeds_memory: true }),
    ],
  };
  const curve = curveOf(more, loader, option("workers=4,cached=50%", 10), 4);
  expect(curve.line.map((point) => [point.x, point.name])).toEqual([
    [0, "workers=0"],
    [1, "workers=1,prefetch=2"],
    [4, "workers=4,prefetch=8"],
    [6, "workers=6,prefetch=4"],
  ]);
  expect(curve.line[1]).toEqual({ x: 1, y: 200, low: 100, high: 400, name: "workers=1,prefetch=2" });
  expect(curve.asked).toEqual([{ x: 4, y: 800, name: "workers=4,cached=50%", radius: 7 }]);
  expect([curve.recorded, curve.enough].map((points) => points[0]?.x)).toEqual([1, 4]);
  expect(curve.inSamples).toBe(true);
});

test("where samples are not known, in times as many steps", () => {
  const without = { ...forecast, options: forecast.options.map((one) => ({ ...one, samples_per_s: null })) };
  const curve = curveOf(without, loader, null, 1);
  expect([curve.inSamples, curve.recorded[0]?.y, curve.asked]).toEqual([false, 1, []]);
});

test("the slider has room for twice the cores, the recorded and the best", () => {
  expect(workersRange(loader, forecast).most).toBe(8);
  expect(workersRange({ ...loader, workers: 12 }, forecast).most).toBe(24);
  expect(workersRange(loader, { ...forecast, cores: 16 }).most).toBe(32);
  expect(workersRange(loader, { ...forecast, options: [option("workers=40,prefetch=2", 1)] }).most).toBe(40);
});

test("what holds the loop back, with the stage to begin with", () => {
  expect(boundOf(loading({ stages: [stage("Decode", "stage")] }))).toMatch(
    /mostly computing.*The most expensive stage is Decode: 60.0 % of the preparation\.$/,
  );
  expect(boundOf(loading({ bound: "none", stages: [stage("Decode", "stage")] }))).not.toContain("Decode");
  for (const bound of ["unknown", "constructor"]) expect(boundOf(loading({ bound }))).toBe("");
});

test("what speaks against a forecast", () => {
  expect(doubtsOf(loading({}))).toEqual([]);
  expect(doubtsOf(loading({ forecast: { ...forecast, correction: 0.7 } }))).toHaveLength(1);
  expect(doubtsOf(loading({ loaders: [{ ...loader, workers: 0, prefetch_factor: null }] }))[0]).toContain(
    "rough guess",
  );
});
