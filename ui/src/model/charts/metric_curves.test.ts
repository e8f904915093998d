import { expect, test } from "vitest";
import type { MetricOverTime, MetricsOverTime } from "../../api/metrics";
import { isNeverNegative, marksOf, noteOf, seriesOf, topOf } from "./metric_curves";

const metric = (changes: Partial<MetricOverTime> = {}): MetricOverTime => ({
  name: "loader.ready",
  unit: "1",
  left_out: 0,
  curves: [
    {
      instance: null,
      process: "process 1",
      points: [
        [0, 0, 0.3, 3],
        [2, 1, 1, 1],
      ],
    },
  ],
  ...changes,
});

const OVER_TIME: MetricsOverTime = { schema: "", begin_ms: -10, length_ms: 1000, buckets: 4, steps: [], metrics: [] };

test("a part is its mean, from the least to the most", () => {
  expect(seriesOf(metric(), OVER_TIME)).toEqual([
    {
      label: "loader.ready",
      points: [
        { x: 115, y: 0.3, low: 0, high: 3 },
        { x: 615, y: 1 },
      ],
    },
  ]);
});

test("what only the process tells apart has its name", () => {
  const curve = (instance: string | null, process: string) => ({ instance, process, points: [] });
  const labels = (...curves: MetricOverTime["curves"]) =>
    seriesOf(metric({ curves }), OVER_TIME).map((series) => series.label);
  expect(labels(curve("GPU 0", "process 1"), curve("GPU 1", "process 1"))).toEqual(["GPU 0", "GPU 1"]);
  expect(labels(curve(null, "process 1"), curve(null, "process 2"))).toEqual([
    "loader.ready, process 1",
    "loader.ready, process 2",
  ]);
});

test("of many steps every so many is marked", () => {
  const steps = Array.from({ length: 1000 }, (_, index) => ({ index, start_ms: 10 * index }));
  expect(marksOf(steps.slice(0, 60))).toHaveLength(60);
  expect(
    marksOf(steps)
      .map((mark) => mark.label)
      .slice(0, 2),
  ).toEqual(["step 0", "step 17"]);
  expect(marksOf([])).toEqual([]);
});

test("an axis ends where a value could", () => {
  const of = (unit: string, ...values: number[]) =>
    metric({
      unit,
      curves: [{ instance: null, process: "", points: values.map((value, i) => [i, value, value, value]) }],
    });
  expect(topOf(of("1", 0, 1), 4)).toBe(4);
  expect(topOf(of("%", 3), 0)).toBe(100);
  expect(topOf(of("%", 310), 0)).toBeUndefined(); // Several cores.
  expect(topOf(of("bytes", 5), 0)).toBeUndefined();
  expect(topOf(of("bytes", 0), 0)).toBe(1);
  expect(topOf(of("1", 9), 4)).toBeUndefined();
  expect(isNeverNegative(of("1", 0, 1))).toBe(true);
  expect(isNeverNegative(of("1", -1, 1))).toBe(false);
});

test("what the chart leaves out is said", () => {
  const said = (one: MetricOverTime) => noteOf(one, seriesOf(one, OVER_TIME));
  expect(said(metric())).toContain("Lines are means");
  expect(said(metric({ left_out: 112 }))).toContain("1 of 113");
  expect(said(metric({ curves: [] }))).toBe("");
});
