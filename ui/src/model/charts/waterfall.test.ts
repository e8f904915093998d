import { expect, test } from "vitest";
import type { Forecast, Scenario } from "../../api/types";
import { barsOf, prefixesOf } from "./waterfall";

const CATALOGUE: Scenario[] = ["fused-optimizer", "amp", "cuda-graph"].map((name) => ({
  name,
  title: name,
  group: "usual",
  summary: "",
  ranked: true,
  keys: [],
}));

const forecast = (name: string, mid: number | null): Forecast => ({
  name,
  step_ms: { low: mid, mid, high: mid },
  speedup: null,
  saves_ms: null,
  upper_bound: false,
  at_best: false,
  memory_delta_bytes: null,
  applies: mid !== null,
  why: "",
  validated: false,
});

test("parts join in the catalogue's order", () => {
  expect(prefixesOf({ "cuda-graph": {}, amp: {}, "fused-optimizer": {} }, CATALOGUE)).toEqual([
    "fused-optimizer",
    "fused-optimizer+amp",
  ]);
  expect(prefixesOf({ amp: {} }, CATALOGUE)).toEqual([]);
  expect(prefixesOf({}, CATALOGUE)).toEqual([]);
});

test("each bar begins where the one before ends, the last at the combination's step", () => {
  expect(barsOf(100, [forecast("a", 90), forecast("a+b", 95)], forecast("a+b+c", 60))).toEqual([
    { label: "a", fromMs: 100, toMs: 90 },
    { label: "b", fromMs: 90, toMs: 95 },
    { label: "c", fromMs: 95, toMs: 60 },
  ]);
});

test("what does not apply alone is drawn with the next", () => {
  expect(barsOf(100, [forecast("a", null), forecast("a+b", 80)], forecast("a+b+c", 60))).toEqual([
    { label: "a+b", fromMs: 100, toMs: 80 },
    { label: "c", fromMs: 80, toMs: 60 },
  ]);
  expect(barsOf(100, [], forecast("a", null))).toBeNull();
});
