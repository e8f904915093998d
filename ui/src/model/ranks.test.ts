import { expect, test } from "vitest";
import type { RankTimes, StepOfRank } from "../api/ranks";
import { barsPath, computingOf, doneAt, pairsGrid, rangeOf, stepsGrid, transfersOf, waitsOf } from "./ranks";

const step = (rank: number, number: number, waited: number | null): StepOfRank => ({
  rank,
  step: number,
  wall_ms: 10 + rank,
  computing_ms: 5,
  communication_ms: 2,
  waited_ms: waited,
  caused_ms: 0,
});

test("a cell per rank and step; missing and unknown ones are null", () => {
  const grid = stepsGrid([step(3, 7, 2), step(0, 8, 1), step(0, 7, null)], "waited_ms");
  expect(grid.rows).toEqual([0, 3]);
  expect(grid.columns).toEqual([
    { first: 7, last: 7 },
    { first: 8, last: 8 },
  ]);
  expect(grid.values).toEqual([
    [null, 1],
    [2, null],
  ]);
});

test("many steps share columns, which are means", () => {
  const steps = Array.from({ length: 9000 }, (_, index) => step(0, index, index));
  const { columns, values } = stepsGrid(steps, "waited_ms");
  expect(columns.length).toBe(3000);
  expect(columns[1]).toEqual({ first: 3, last: 5 });
  expect(values[0]?.[1]).toBe(4);
});

test("the scale of waits begins at 0, that of times at the smallest", () => {
  expect(rangeOf([[3, null], [5]], true)).toEqual({ low: 0, high: 5 });
  expect(rangeOf([[3, null], [5]], false)).toEqual({ low: 3, high: 5 });
  expect(rangeOf([[null]], false)).toEqual({ low: 0, high: 0 });
});

test("pairs are a matrix without a diagonal", () => {
  const clocks = [4, 1, 6].map((rank) => ({ rank, aligned: rank !== 6 }));
  const grid = pairsGrid([{ rank: 4, waited_for: 1, waited_ms: 8, collectives: 2 }], clocks);
  expect(grid.rows).toEqual([1, 4, 6]);
  expect(grid.values).toEqual([
    [null, 0, null],
    [8, null, null],
    [null, null, null],
  ]);
});

const TIMES: RankTimes = {
  rank: 2,
  aligned: true,
  start_ns: 0,
  end_ns: 1000,
  computing: [100, 200, 300, 500],
  collectives: [
    { kind: "allreduce", group: "0", start_ns: 400, last_arrival_ns: 600, end_ns: 700, bytes: 1e6, neighbours: false },
    { kind: "send", group: null, start_ns: 800, last_arrival_ns: null, end_ns: 900, bytes: null, neighbours: true },
  ],
};

test("a collective is a wait until the last arrival, then a transfer", () => {
  expect(computingOf(TIMES)).toEqual([
    [100, 200],
    [300, 500],
  ]);
  expect(waitsOf(TIMES)).toEqual([[400, 600]]);
  expect(transfersOf(TIMES)).toEqual([
    [600, 700],
    [800, 900],
  ]);
});

test("spans that touch on the screen become one rectangle", () => {
  const toX = (ns: number) => ns / 10;
  const spans: [number, number][] = [
    [500, 600],
    [100, 200],
    [201, 300],
  ];
  expect(barsPath(spans, toX, 5, 10)).toBe("M10.0 5H30.0V15H10.0ZM50.0 5H60.0V15H50.0Z");
  expect(barsPath([], toX, 5, 10)).toBe("");
});

test("it says what a rank does at a time", () => {
  expect(doneAt(TIMES, 150)).toBe("computes");
  expect(doneAt(TIMES, 450)).toBe(
    "computes and waits in allreduce (group 0, 1.00 MB): 300 ns, of which 200 ns until the last rank arrives",
  );
  expect(doneAt(TIMES, 650)).toContain("runs allreduce");
  expect(doneAt(TIMES, 850)).toBe("runs send: 100 ns");
  expect(doneAt(TIMES, 950)).toBe("is idle");
  expect(doneAt(TIMES, 1000)).toBe("is outside the step");
});
