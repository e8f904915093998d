import { expect, test } from "vitest";
import type { AttributedRow, EfficiencyFigures } from "../../api/report_tables";
import { headlineOf, placedOf, rooflineSeries, roofsOf } from "./roofline";

const row = (changes: Partial<AttributedRow>): AttributedRow => ({
  name: "aten::mm",
  rank: null,
  count: 1,
  total_us: 1e6,
  mean_us: 10,
  p50_us: 10,
  min_us: 10,
  max_us: 10,
  share_pct: 25,
  flops: 4e14,
  bytes: 2e12,
  bound: "compute",
  roofline_pct: 80,
  host_us: null,
  self_host_us: null,
  forward_us: null,
  backward_us: null,
  ...changes,
});

const EFFICIENCY: EfficiencyFigures = {
  device_name: "NVIDIA H200",
  peaks: [
    { dtype: "fp32", tflops: 67 },
    { dtype: "bf16", tflops: 989.4 },
    { dtype: "fp16", tflops: 989.4 },
  ],
  memory_bandwidth_gbs: 4800,
  math_dtype: "bf16",
  mfu_pct: null,
  costed_pct: null,
  compute_bound_pct: null,
  memory_bound_pct: null,
};

test("a place is work over traffic, and work over time", () => {
  const [one] = placedOf([row({})]);
  expect(one).toMatchObject({ intensity: 200, flopsPerS: 4e14, bytesPerS: 2e12 });
  expect(one?.lostUs).toBeCloseTo(2e5);
});

test("what is not known has no place", () => {
  expect(placedOf([row({ flops: null }), row({ bytes: 0 }), row({ total_us: null }), row({ total_us: 0 })])).toEqual(
    [],
  );
  expect(placedOf([row({ roofline_pct: null })])[0]?.lostUs).toBeNull();
});

test("types of one peak share a roof, the highest first", () => {
  expect(roofsOf(EFFICIENCY)).toEqual([
    { label: "bf16, fp16", flopsPerS: 989.4e12, main: true },
    { label: "fp32", flopsPerS: 67e12, main: false },
  ]);
});

test("flat roofs begin where the slanted one reaches them", () => {
  const series = rooflineSeries(placedOf([row({}), row({ flops: 0, bound: "memory" })]), EFFICIENCY, (one) => one.name);
  expect(series.map((one) => one.label)).toEqual([
    "memory bandwidth",
    "peak of bf16, fp16",
    "peak of fp32",
    "compute-bound",
  ]);
  const [slanted, highest, lower] = series;
  expect(slanted?.points.at(-1)).toEqual(highest?.points[0]);
  expect(lower?.points[0]?.x).toBeCloseTo(67e12 / 4800e9);
  expect(series.at(-1)?.points).toHaveLength(1);
});

test("of an unknown device there are operators alone", () => {
  const unknown = { ...EFFICIENCY, peaks: [], memory_bandwidth_gbs: null };
  const series = rooflineSeries(placedOf([row({ bound: null })]), unknown, (one) => one.name);
  expect(series.map((one) => one.label)).toEqual(["bound unknown"]);
});

test("the picked operator is told from the others", () => {
  const series = rooflineSeries(
    placedOf([row({}), row({ name: "aten::add" })]),
    EFFICIENCY,
    (one) => one.name,
    "aten::add",
  );
  expect(series.at(-1)).toMatchObject({ label: "aten::add", kind: "points" });
  expect(series.at(-1)?.points).toHaveLength(1);
});

test("operators that take no time do not stretch the axes, unless one is picked", () => {
  const rows = placedOf([row({}), row({ name: "aten::tiny", share_pct: 0.01, flops: 1 })]);
  const dots = (picked: string) =>
    rooflineSeries(rows, EFFICIENCY, (one) => one.name, picked)
      .filter((one) => one.kind === "points")
      .flatMap((one) => one.points.map((point) => point.name));
  expect(dots("")).toEqual(["aten::mm"]);
  expect(dots("aten::tiny")).toContain("aten::tiny");
});

test("the headline names the operator that loses most", () => {
  const rows = placedOf([row({}), row({ name: "aten::add", total_us: 5e5, roofline_pct: 10 })]);
  expect(headlineOf(rows)).toBe("aten::add loses the most time against its roof: 450.00 ms");
  expect(headlineOf([])).toBe("Operators and the GPU's peaks");
});
