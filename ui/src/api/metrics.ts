// What the page uses of headroom.metrics/1 (docs/schema/metrics-1.json). Times are from the first event; null: not
// known.

/** Of the samples in one of `buckets` equal parts of the recording: which part, the least, the mean, the most. */
export type CurvePoint = [bucket: number, least: number, mean: number, most: number];

export interface MetricCurve {
  instance: string | null; // As in the rows of the report.
  process: string;
  points: CurvePoint[];
}

/** A metric by its name and unit. */
export interface MetricOverTime {
  name: string;
  unit: string | null;
  left_out: number; // Curves that would have been too many: those that vary least.
  curves: MetricCurve[];
}

export interface MetricsOverTime {
  schema: string;
  begin_ms: number;
  length_ms: number;
  buckets: number;
  steps: { index: number; start_ms: number }[];
  metrics: MetricOverTime[];
}
