import { expect, test } from "vitest";
import { POSITIONS, positionOf, type Range, valueAt } from "./slider";

const FACTOR: Range = { least: 0.1, most: 10, log: true, whole: false };
const COUNT: Range = { least: 1, most: 64, log: true, whole: true };

test("the ends are exact, the middle of factors is 1", () => {
  expect([0, POSITIONS / 2, POSITIONS].map((position) => valueAt(position, FACTOR))).toEqual([0.1, 1, 10]);
  expect([0.1, 1, 10].map((value) => positionOf(value, FACTOR))).toEqual([0, POSITIONS / 2, POSITIONS]);
});

test("what is beyond the slider is at its end", () => {
  expect(positionOf(1000, FACTOR)).toBe(POSITIONS);
  expect(positionOf(0, FACTOR)).toBe(0);
  expect(positionOf(NaN, FACTOR)).toBe(0);
});

test("counts are whole and come back", () => {
  for (let value = 1; value <= 64; ++value) {
    const again = valueAt(positionOf(value, COUNT), COUNT);
    expect(Number.isInteger(again)).toBe(true);
    expect(Math.abs(again - value)).toBeLessThanOrEqual(2);
  }
});

test("values never fall", () => {
  for (const range of [FACTOR, COUNT, { least: 0, most: 1, log: false, whole: false }]) {
    let before = -Infinity;
    for (let position = 0; position <= POSITIONS; ++position) {
      const value = valueAt(position, range);
      expect(value).toBeGreaterThanOrEqual(before);
      before = value;
    }
  }
});
