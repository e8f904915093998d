import { expect, test } from "vitest";
import { alignedOf, drawable, logTicks, nearestOf, roomy, roomyLog, stacked, thinned } from "./chart";

test("a logarithmic scale drops what has no logarithm, and points come in order", () => {
  const points = [
    { x: 3, y: 1 },
    { x: 0, y: 1 },
    { x: 1, y: -1 },
    { x: 2, y: NaN },
    { x: 1, y: 4 },
  ];
  expect(drawable(points, true, true)).toEqual([
    { x: 1, y: 4 },
    { x: 3, y: 1 },
  ]);
  expect(drawable(points, false, false).map((point) => point.x)).toEqual([0, 1, 1, 3]);
});

test("series share one axis, and two points at one x stay two", () => {
  const { xs, at } = alignedOf([
    [
      { x: 1, y: 10 },
      { x: 1, y: 11 },
      { x: 3, y: 13 },
    ],
    [
      { x: 1, y: 20 },
      { x: 2, y: 22 },
    ],
  ]);
  expect(xs).toEqual([1, 1, 2, 3]);
  expect(at.map((column) => column.map((point) => point?.y ?? null))).toEqual([
    [10, 11, null, 13],
    [20, null, 22, null],
  ]);
  expect(alignedOf([])).toEqual({ xs: [], at: [] });
});

test("thinning keeps both ends", () => {
  expect(thinned([1, 2, 3], 5)).toEqual([1, 2, 3]);
  expect(thinned([0, 1, 2, 3, 4, 5, 6, 7, 8], 3)).toEqual([0, 4, 8]);
});

test("the nearest spot, within reach", () => {
  const spots = [
    { left: 0, top: 0 },
    { left: 10, top: 0 },
  ];
  expect(nearestOf(spots, 7, 0, 5)).toBe(1);
  expect(nearestOf(spots, 50, 0, 5)).toBe(-1);
});

test("a logarithmic scale has room, and ticks in round numbers", () => {
  expect(roomyLog(1, 64).map((value) => Math.round(value * 100) / 100)).toEqual([0.78, 82.14]);
  expect(roomyLog(5, 5)[0]).toBeLessThan(5);
  expect(logTicks(0.9, 1100)).toEqual([1, 10, 100, 1000]);
  expect(logTicks(0.08, 0.6)).toEqual([0.1, 0.2, 0.5]);
  expect(logTicks(0.2, 0.45)).toEqual([0.2, 0.3, 0.4]);
});

test("texts at an axis do not run into each other", () => {
  expect(roomy(["50 ms", "100 ms", "200 ms", "500 ms"], [50, 80, 120, 200], 7)).toEqual([
    "50 ms",
    "",
    "200 ms",
    "500 ms",
  ]);
  expect(roomy(["1", "", "2"], [0, 10, 20], 7)).toEqual(["1", "", "2"]);
});

test("areas stand on those before them; other series stand for themselves", () => {
  const at = [
    [1, 2],
    [10, 20],
    [5, null],
  ].map((ys) => ys.map((y, x) => (y === null ? null : { x, y })));
  expect(stacked(["area", "line", "area"], at)).toEqual([
    [1, 2],
    [null, null],
    [6, null],
  ]);
});
