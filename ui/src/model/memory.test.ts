import { expect, test } from "vitest";
import type { AttributedRow, KernelRow } from "../api/report_tables";
import { copiesOf, moversOf } from "./memory";

test("copies and sets are told by their class", () => {
  const kernels = [{ name: "gemm", class: "matmul" }, { name: "Memset", class: "memset" }, { name: "Memcpy", class: "memcpy" }] as KernelRow[];
  expect(copiesOf(kernels).map((row) => row.name)).toEqual(["Memset", "Memcpy"]);
});

test("who moves how much, how fast", () => {
  const rows = [
    { name: "aten::add", rank: null, bytes: 2.4e9, total_us: 1000 },
    { name: "aten::view", rank: null, bytes: 0, total_us: 0 },
    { name: "custom", rank: null, bytes: null, total_us: 5 },
  ] as AttributedRow[];
  expect(moversOf(rows, 4800)).toEqual([{ name: "aten::add", rank: null, bytes: 2.4e9, totalUs: 1000, bytesPerS: 2.4e12, peakPct: 50 }]);
  expect(moversOf(rows, null)[0]?.peakPct).toBeNull();
});
