import { expect, test } from "vitest";
import type { ScenarioKey } from "../../api/types";
import { rangeOf } from "./key_range";

const key = (name: string, kind: ScenarioKey["kind"], otherwise: string | null = null): ScenarioKey => ({
  name,
  kind,
  choices: null,
  otherwise,
});

test("batches go by what was recorded", () => {
  expect(rangeOf(key("n", "count"), 4)).toEqual({ least: 1, most: 64, log: true, whole: true });
  expect(rangeOf(key("n", "count"), null)?.most).toBe(256);
});

test("what is no number has no slider", () => {
  expect(rangeOf(key("match", "regex"), null)).toBeNull();
  expect(rangeOf(key("dtype", "choice"), null)).toBeNull();
});

test("a key that nobody listed goes around its default", () => {
  expect(rangeOf(key("news", "factor", "5"), null)).toEqual({ least: 0.5, most: 50, log: true, whole: false });
});
