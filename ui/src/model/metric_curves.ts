// Metrics of the machine and of the program as curves over the recording.
import type { MetricCurve, MetricOverTime, MetricsOverTime } from "../api/metrics";
import type { ChartPoint, ChartSeries } from "./chart";

/** More lines would hide the curves. */
const MOST_MARKS = 60;

const labelOf = (curve: MetricCurve, metric: MetricOverTime, all: MetricCurve[]): string => {
  const own = curve.instance ?? metric.name;
  return all.some((other) => other !== curve && other.instance === curve.instance) ? `${own}, ${curve.process}` : own;
};

/** A line for each of what a metric is measured of, through the mean of each part of the recording, in its middle. */
export function seriesOf(metric: MetricOverTime, { begin_ms, length_ms, buckets }: MetricsOverTime): ChartSeries[] {
  const width = length_ms / buckets;
  return metric.curves.map((curve) => ({
    label: labelOf(curve, metric, metric.curves),
    points: curve.points.map(
      ([bucket, low, y, high]): ChartPoint => ({
        x: begin_ms + (bucket + 0.5) * width,
        y,
        ...(low < high && { low, high }),
      }),
    ),
  }));
}

/** Where steps begin; of many, every so many. */
export function marksOf(steps: MetricsOverTime["steps"]): { x: number; label: string }[] {
  const every = Math.ceil(steps.length / MOST_MARKS);
  return steps.filter((_, i) => i % every === 0).map((step) => ({ x: step.start_ms, label: `step ${step.index}` }));
}

/** What the axis ends at; undefined: what the values need.
 *
 * @param full  what there can be at most; 0: not known */
export function topOf(metric: MetricOverTime, full: number): number | undefined {
  const most = Math.max(...metric.curves.flatMap((curve) => curve.points.map((point) => point[3])));
  // What is always zero would else have an axis that means nothing.
  const top = Math.max(full, metric.unit === "%" ? 100 : 0, most <= 0 ? 1 : 0);
  return top > 0 && top >= most ? top : undefined;
}

export const isNeverNegative = (metric: MetricOverTime): boolean =>
  metric.curves.every((curve) => curve.points.every((point) => point[1] >= 0));

/** What the chart does not say by itself; empty: nothing. */
export function noteOf(metric: MetricOverTime, series: ChartSeries[]): string {
  const sentences: string[] = [];
  if (series.some((one) => one.points.some((point) => point.low !== undefined)))
    sentences.push("Means; pale: from the least to the most of samples too close to be drawn apart.");
  if (metric.left_out > 0)
    sentences.push(`${metric.curves.length} of ${metric.curves.length + metric.left_out}: those that vary most.`);
  return sentences.join(" ");
}
