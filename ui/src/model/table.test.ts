import { expect, test } from "vitest";
import { filtered, keyOf, sorted, traitOf } from "./table";

const ROWS = [
  { name: "aten::mm", us: 5 },
  { name: "aten::Add", us: null },
  { name: "aten::copy_", us: 9 },
];

test("a filter wants all its words, in any order and case", () => {
  const names = (filter: string) => filtered(ROWS, (row) => row.name, filter).map((row) => row.name);
  expect(names("ADD aten")).toEqual(["aten::Add"]);
  expect(names("  ")).toHaveLength(3);
  expect(names("gemm")).toEqual([]);
});

test("what is not known comes last either way", () => {
  const us = (ascending: boolean) => sorted(ROWS, (row) => row.us, ascending).map((row) => row.us);
  expect(us(false)).toEqual([9, 5, null]);
  expect(us(true)).toEqual([5, 9, null]);
});

test("large integers are text that sorts as numbers", () => {
  const cells = ["1700000000000000010", 5, "-9007199254740995", "1700000000000000009", "10000000000000000"];
  expect(sorted(cells, (cell) => cell, true)).toEqual([
    "-9007199254740995",
    5,
    "10000000000000000",
    "1700000000000000009",
    "1700000000000000010",
  ]);
});

test("a column is known by one look at each cell", () => {
  const rows = Array.from({ length: 6000 }, (_, i) => ({ i }));
  let looks = 0;
  const look = (row: { i: number }) => {
    ++looks;
    return row.i === 5999 ? 1 : null;
  };
  expect(traitOf(rows, look, false)).toEqual({
    isNumber: true,
    isWorthIt: true,
  });
  expect(looks).toBe(6000);
  expect(traitOf([1, 1], () => null, false).isWorthIt).toBe(false);
  expect(traitOf([1, 1], String, true)).toEqual({ isNumber: false, isWorthIt: false });
  expect(traitOf([1, 1], String, false).isWorthIt).toBe(true);
});

test("a row keeps its key when the order changes", () => {
  const rows = [{ n: 2 }, { n: 1 }];
  const keys = rows.map(keyOf);
  expect(new Set(keys).size).toBe(2);
  expect(sorted(rows, (row) => row.n, true).map(keyOf)).toEqual([...keys].reverse());
});
