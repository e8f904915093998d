import { expect, test } from "vitest";
import { chartOf, placeOfRow, rowsOf, type SqlAnswer } from "./sql";

const answer = (columns: string[], ...rows: SqlAnswer["rows"]): SqlAnswer => ({ columns, rows, cut: false });

test("numbers over ascending numbers are lines, others are bars", () => {
  expect(chartOf(answer(["step", "ms", "name"], [1, 5, "a"], [2, null, "b"], [3, 7, "c"]))).toEqual({
    kind: "lines",
    values: [1],
  });
  expect(chartOf(answer(["name", "n", "ms"], ["a", 1, 2], ["b", 3, 4]))).toEqual({ kind: "bars", values: [1, 2] });
  expect(chartOf(answer(["step", "ms"], [2, 5], [1, 5], [3, 5]))?.kind).toBe("bars");
});

test("a result without numbers has no chart", () => {
  expect(chartOf(answer(["name"], ["a"]))).toBeNull();
  expect(chartOf(answer(["name", "kind"], ["a", "b"]))).toBeNull();
  expect(chartOf(answer(["name", "n"]))).toBeNull();
  expect(chartOf(answer(["name", "n"], ["a", null]))).toBeNull();
});

test("integers that JavaScript would round are numbers, too", () => {
  const late = ["1700000000000000001", "1700000000000000002", "1700000000000000009"];
  expect(chartOf(answer(["start_ns", "us"], ...late.map((start): [string, number] => [start, 5])))?.kind).toBe("lines");
});

test("rows keep their order", () => {
  expect(rowsOf(answer(["a"], ["x"], [2])).map((row) => row.values)).toEqual([["x"], [2]]);
});

test("rows with a start lead to their place in the timeline", () => {
  const calls = answer(
    ["name", "start_ns", "us"],
    ["a", 1500, 2.001],
    ["b", null, 1],
    ["c", "1700000000000000001", null],
  );
  const place = placeOfRow(calls);
  expect(rowsOf(calls).map((row) => place?.(row))).toEqual(["1500,2001", null, "1700000000000000001,0"]);
  expect(placeOfRow(answer(["name"], ["a"]))).toBeNull();
});
