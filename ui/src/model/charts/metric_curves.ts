// Curves of the metrics of machine and program over the recording.
import type { MetricCurve, MetricOverTime, MetricsOverTime } from "../../api/metrics";
import type { ChartPoint, ChartSeries } from "./chart";

/** More lines would hide the curves. */
const MOST_MARKS = 60;

const labelOf = (curve: MetricCurve, metric: MetricOverTime, all: MetricCurve[]): string => {
  const own = curve.instance ?? metric.name;
  return all.some((other) => other !== curve && other.instance === curve.instance) ? `${own}, ${curve.process}` : own;
};

/** Returns one line per instance of a metric. Each point is the mean of a part of the recording, at its middle. */
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

/** Returns marks where steps begin; for many steps, every Nth. */
export function marksOf(steps: MetricsOverTime["steps"]): { x: number; label: string }[] {
  const every = Math.ceil(steps.length / MOST_MARKS);
  return steps.filter((_, i) => i % every === 0).map((step) => ({ x: step.start_ms, label: `step ${step.index}` }));
}

/**
 * Returns the upper end of the axis; undefined: fit the values.
 *
 * @param full  highest possible value; 0: unknown
 */
export function topOf(metric: MetricOverTime, full: number): number | undefined {
  const most = Math.max(...metric.curves.flatMap((curve) => curve.points.map((point) => point[3])));
  // Without this, a metric that is always zero would have a meaningless axis.
  const top = Math.max(full, metric.unit === "%" ? 100 : 0, most <= 0 ? 1 : 0);
  return top > 0 && top >= most ? top : undefined;
}

export const isNeverNegative = (metric: MetricOverTime): boolean =>
  metric.curves.every((curve) => curve.points.every((point) => point[1] >= 0));

/** Returns a note about the chart; empty: none needed. */
export function noteOf(metric: MetricOverTime, series: ChartSeries[]): string {
  const sentences: string[] = [];
  if (series.some((one) => one.points.some((point) => point.low !== undefined)))
    sentences.push("Lines are means; pale bands are the minimum to maximum of samples too close to draw separately.");
  if (metric.left_out > 0)
    sentences.push(
      `Shows the ${metric.curves.length} of ${metric.curves.length + metric.left_out} curves that vary most.`,
    );
  return sentences.join(" ");
}
