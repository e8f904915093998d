import { useMemo } from "preact/hooks";
import type { MetricsOverTime } from "../api/metrics";
import { formatMs, formatQuantity } from "../format";
import { isNeverNegative, marksOf, noteOf, seriesOf, topOf } from "../model/charts/metric_curves";
import { Chart } from "./chart";

const HEIGHT_PX = 190;

/**
 * A metric over the recording and its steps, with one line per instance.
 *
 * @param full  highest possible value; 0: unknown
 */
export function MetricChart({
  name,
  unit,
  overTime,
  full = 0,
}: {
  name: string;
  unit: string | null;
  overTime: MetricsOverTime;
  full?: number;
}) {
  const metric = overTime.metrics.find((one) => one.name === name && one.unit === unit);
  const series = useMemo(() => (metric === undefined ? [] : seriesOf(metric, overTime)), [metric, overTime]);
  const marks = useMemo(() => marksOf(overTime.steps), [overTime]);
  if (metric === undefined || series.length === 0)
    return <p class="dim">No curve of this metric: the recording has too many metrics to keep a curve of each.</p>;
  const top = topOf(metric, full);
  const note = noteOf(metric, series);
  return (
    <>
      <Chart
        label={`${name} over the recording.`}
        series={series}
        x={{
          label: "time since the trace began",
          format: formatMs,
          min: overTime.begin_ms,
          max: overTime.begin_ms + overTime.length_ms,
        }}
        y={{
          label: name,
          format: (value) => formatQuantity(value, unit),
          ...(isNeverNegative(metric) && { min: 0 }),
          ...(top !== undefined && { max: top }),
        }}
        marks={marks}
        height={HEIGHT_PX}
      />
      {note !== "" && <p class="dim">{note}</p>}
    </>
  );
}
