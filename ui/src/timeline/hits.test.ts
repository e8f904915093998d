import { expect, test } from "vitest";
import type { Search } from "../api/timeline";
import { hitFrom, hitText, NO_HIT } from "./hits";

const searchOf = (count: number, listed = count): Search => ({
  count,
  total_ns: 5e6,
  names: [],
  hits: Array.from({ length: listed }, (_, row) => ({ lane: 0, row, start_ns: row, duration_ns: 1, label: "" })),
});

test("the next of none is the first, the one before is the last", () => {
  expect(hitFrom(NO_HIT, 1, 3)).toBe(0);
  expect(hitFrom(NO_HIT, -1, 3)).toBe(2);
  expect([0, 1, 2].map((hit) => hitFrom(hit, 1, 3))).toEqual([1, 2, 0]);
  expect([0, 1, 2].map((hit) => hitFrom(hit, -1, 3))).toEqual([2, 0, 1]);
  expect(hitFrom(NO_HIT, 1, 1)).toBe(0);
});

test("one reads which of how many", () => {
  expect(hitText(searchOf(0), NO_HIT)).toBe("nothing");
  expect(hitText(searchOf(1), NO_HIT)).toBe("1 span, 5 ms");
  expect(hitText(searchOf(3429, 1000), NO_HIT)).toBe("3,429 spans, 5 ms");
  expect(hitText(searchOf(3429, 1000), 1)).toBe("2 of 3,429 spans, 5 ms");
});

test("the end of the list says that it is not the end of the hits", () => {
  expect(hitText(searchOf(3429, 1000), 999)).toBe(
    "1,000 of 3,429 spans, 5 ms; later hits are not listed: search for a longer name",
  );
  expect(hitText(searchOf(1000), 999)).toBe("1,000 of 1,000 spans, 5 ms");
});
