import { expect, test } from "vitest";
import { filtered, sorted } from "./table";

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
