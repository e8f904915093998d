import { expect, test } from "vitest";
import type { PredictedGpu, Prediction } from "../api/forecasts";
import {
  bestOf,
  comparable,
  doubtsOf,
  frontOf,
  type GpuRow,
  headlineOf,
  ownPricesOf,
  rowsOf,
  sorted,
  sortOf,
  unknownNames,
  withPrices,
} from "./gpus";

const row = (gpu: string, ms: number, money: number | null, more: Partial<GpuRow> = {}): GpuRow => ({
  gpu,
  name: gpu,
  step_ms: { low: ms * 0.9, mid: ms, high: ms * 1.2 },
  speedup: 100 / ms,
  gpu_memory_bytes: 1e9,
  energy_joules: 10,
  energy_error_pct: 20,
  energy_source: "model",
  energy_joules_per_sample: null,
  money_per_million_samples: null,
  money,
  currency: money === null ? null : "USD",
  memory_bytes: 1e8,
  fits: true,
  limited_by: "gpu",
  extrapolated: false,
  extrapolated_why: null,
  why: "",
  spec: null,
  recorded: false,
  option: null,
  price: "listed",
  ...more,
});

const names = (rows: GpuRow[]) => rows.map((one) => one.gpu);

test("nothing beats those of the front", () => {
  const rows = [
    row("slow-cheap", 300, 1),
    row("fast-dear", 100, 4),
    row("beaten", 310, 2),
    row("middle", 200, 2),
    row("too-small", 50, 0.1, { fits: false }),
    row("no-price", 10, null),
    row("as-dear", 150, 4),
  ];
  expect(names(frontOf(comparable(rows, "money"), "money"))).toEqual(["fast-dear", "middle", "slow-cheap"]);
});

test("money of another currency is not compared", () => {
  const rows = [row("a", 1, 1), row("b", 2, 2), row("c", 3, 0.1, { currency: "EUR" })];
  expect(names(comparable(rows, "money"))).toEqual(["a", "b"]);
  expect(names(comparable(rows, "energy"))).toEqual(["a", "b", "c"]);
});

test("what is not known is last both ways", () => {
  const rows = [row("a", 3, null), row("b", 2, 5), row("c", 1, 7)];
  expect(names(sorted(rows, "money", false))).toEqual(["b", "c", "a"]);
  expect(names(sorted(rows, "money", true))).toEqual(["c", "b", "a"]);
  expect(names(sorted(rows, "step", false))).toEqual(["c", "b", "a"]);
});

test("an address of somebody else's making", () => {
  expect(sortOf("-energy")).toEqual({ key: "energy", descending: true });
  for (const text of [undefined, "", "-", "constructor", "-__proto__"])
    expect(sortOf(text)).toEqual({ key: "step", descending: false });
});

test("a reason is told once, with its GPUs", () => {
  const rows = [
    row("a", 1, 1, { extrapolated_why: "old; guessed" }),
    row("b", 1, 1),
    row("c", 1, 1, { extrapolated_why: "old" }),
  ];
  expect(doubtsOf(rows)).toEqual([
    { why: "old", gpus: ["a", "c"] },
    { why: "guessed", gpus: ["a"] },
  ]);
});

test("the best of those that may fit", () => {
  const rows = [row("a", 3, null, { fits: null }), row("b", 2, 5), row("c", 1, 7, { fits: false })];
  expect(bestOf(rows, (one) => one.step_ms.mid)?.gpu).toBe("b");
  expect(bestOf(rows, (one) => one.money)?.gpu).toBe("b");
  expect(bestOf([], (one) => one.money)).toBeNull();
});

test("a row knows its instance and the recorded GPU", () => {
  const { spec: _, recorded: __, option: ___, ...target } = row("L4", 1, 2);
  const option = {
    provider: "p",
    instance: "i",
    region: "r",
    gpu: "L4",
    gpus: 1,
    instances: 1,
    price_per_hour: 1,
    currency: "USD",
    date: "2026-01",
    source: "s",
    money: 2,
  };
  const prediction = {
    schema: "",
    source_gpu: "L4",
    baseline: null,
    targets: [target as PredictedGpu],
    options: [{ ...option, gpu: "T4" }, option],
    abstained: [],
    prices: null,
    constants: "",
  } satisfies Prediction;
  const [only] = rowsOf(prediction, []);
  expect(only?.recorded).toBe(true);
  expect(only?.option).toBe(option);
});

test("what another GPU would gain, in one sentence", () => {
  const recorded = row("H200", 100, 1, { recorded: true });
  expect(headlineOf([recorded, row("B200", 80, 1, { speedup: 1.25 })], recorded)).toBe(
    "Fastest: B200, 1.25x of H200 (80.00 ms)",
  );
  const host = row("H200", 100, 1, { recorded: true, limited_by: "host" });
  expect(headlineOf([host, row("B200", 99, 1, { speedup: 1.01 })], host)).toBe(
    "No GPU here is more than 5 % faster: the host limits the job",
  );
  expect(headlineOf([recorded, row("L4", 500, 1, { speedup: 0.2 })], recorded)).toBe(
    "No GPU here is more than 5 % faster",
  );
  expect(headlineOf([recorded], null)).toBe("This job on 1 GPU");
});

test("own prices are per GPU and hour; a wrong one is named", () => {
  expect([...ownPricesOf(" h100 = 2.1; L4=0.5,").prices]).toEqual([
    ["H100", 2.1],
    ["L4", 0.5],
  ]);
  for (const text of ["H100", "H100=", "=2", "H100=-1", "H100=x"]) expect(ownPricesOf(text).error).toContain(text);
});

test("the price of a run grows with its steps, and own prices replace listed ones", () => {
  const rows = [row("H100", 360, 4), row("L4", 720, null)];
  const larger = { ...row("H200", 360, null), money_per_million_samples: 3, currency: "USD" };
  const priced = withPrices([...rows, larger], ownPricesOf("L4=0.5"), 10_000, 1000, 8, 64);
  expect(priced.map((one) => [one.money, one.currency, one.price])).toEqual([
    [40, "USD", "listed"],
    [2 * 0.5 * 8, "USD", "own"], // 10,000 steps take 2 hours.
    [3 * 0.64 * 8, "USD", "share"], // 10,000 steps are 640,000 samples on each of 8 GPUs.
  ]);
});

test("own prices of no known GPU are named", () => {
  expect(unknownNames(ownPricesOf("H10O=2, l4=1"), [{ gpu: "L4" }])).toEqual(["H10O"]);
});
