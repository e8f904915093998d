import { useMemo } from "preact/hooks";
import type { MetricRow } from "../api/report_tables";
import { formatMs, formatQuantity } from "../format";
import { Chart } from "./chart";
import type { Counters } from "./use_counters";

/** More lines would hide the curve. */
const MOST_MARKS = 60;
const HEIGHT_PX = 190;

/** A metric over the recording, a line for each of what it is measured of.
 *
 * @param full  what there can be at most; 0: not known */
export function MetricChart({ name, rows: all, counters, full = 0 }: { name: string; rows: MetricRow[]; counters: Counters; full?: number }) {
  const rows = useMemo(() => all.filter((row) => row.name === name), [all, name]);
  const series = useMemo(
    () =>
      rows.flatMap((row) => {
        const points = counters.curves.find((curve) => curve.name === [name, row.instance ?? ""].join(" ").trim())?.points ?? [];
        return points.length === 0 ? [] : [{ label: row.instance || name, points }];
      }),
    [rows, name, counters],
  );
  const first = rows[0];
  if (first === undefined || series.length === 0) return <p class="dim">Its samples have no times.</p>;
  const marks = counters.steps.length <= MOST_MARKS ? counters.steps.map((step) => ({ x: step.start_ns / 1e6, label: `step ${step.index}` })) : [];
  const most = Math.max(...rows.map((row) => row.max));
  // What is always zero would else have an axis that means nothing.
  const top = Math.max(full, first.unit === "%" && most <= 100 ? 100 : 0, most <= 0 ? 1 : 0);
  return (
    <Chart
      label={`${name} over the recording.`}
      series={series}
      x={{ label: "time since the trace began", format: formatMs, min: 0, max: counters.lengthMs }}
      y={{ label: name, format: (value) => formatQuantity(value, first.unit), ...(rows.every((row) => row.min >= 0) && { min: 0 }), ...(top >= most && top > 0 && { max: top }) }}
      marks={marks}
      height={HEIGHT_PX}
    />
  );
}
