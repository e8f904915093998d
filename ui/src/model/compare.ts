// Two reports side by side: what a step of the one takes and what of the other, from the whole down to kernels.
import type { TimedRow } from "../api/report_tables";
import type { Report } from "../api/types";
import { partsOf } from "./breakdown";

/** A row of a report's tables: over the whole trace. */
type TimeRow = Pick<TimedRow, "name" | "rank" | "total_us" | "share_pct">;

/** What the comparison reads of a report. */
export interface ComparedReport extends Pick<Report, "steps" | "step_breakdown" | "bottleneck" | "throughput"> {
  inputs: { path: string; devices: { name: string | null }[] }[];
  classes: TimeRow[];
  kernels: TimeRow[];
  operators: TimeRow[];
}

/** In milliseconds of a step, or in percent of all GPU time. */
export interface Difference {
  name: string;
  before: number | null; // null: not there.
  after: number | null;
  delta: number; // What is not there takes none.
}

const US_PER_MS = 1000;

const deltaOf = (name: string, before: number | null, after: number | null): Difference => ({
  name,
  before,
  after,
  delta: (after ?? 0) - (before ?? 0),
});

/** Of the mean steps, part by part; null: one of them cannot be split. */
export function partDifferences(before: ComparedReport, after: ComparedReport): Difference[] | null {
  if (before.step_breakdown === null || after.step_breakdown === null) return null;
  const later = partsOf(after.step_breakdown);
  return partsOf(before.step_breakdown)
    .map((part, index) => deltaOf(part.name, part.ms, later[index]?.ms ?? 0))
    .filter((row) => row.before !== 0 || row.after !== 0);
}

/** Whether rows are of a step: where one of the two has none, nothing but shares can be held against each other. */
export const hasSteps = (before: ComparedReport, after: ComparedReport): boolean =>
  before.steps.count > 0 && after.steps.count > 0;

/**
 * By name: the trace's total, which counts what is between steps, too, over steps and ranks; or the mean share of the
 * ranks.
 */
function valuesOf(report: ComparedReport, rows: TimeRow[], ofStep: boolean): Map<string, number> {
  const values = new Map<string, number>();
  const ranks = Math.max(1, new Set(rows.map((row) => row.rank)).size);
  const amountOf = (row: TimeRow) =>
    ofStep ? (row.total_us ?? 0) / US_PER_MS / report.steps.count : (row.share_pct ?? 0);
  for (const row of rows) values.set(row.name, (values.get(row.name) ?? 0) + amountOf(row) / ranks);
  return values;
}

export type Table = "classes" | "kernels" | "operators";

/** Those that differ most first; in percent where hasSteps() denies steps. */
export function rowDifferences(before: ComparedReport, after: ComparedReport, table: Table): Difference[] {
  const ofStep = hasSteps(before, after);
  const [earlier, later] = [valuesOf(before, before[table], ofStep), valuesOf(after, after[table], ofStep)];
  const names = new Set([...earlier.keys(), ...later.keys()]);
  return [...names]
    .map((name) => deltaOf(name, earlier.get(name) ?? null, later.get(name) ?? null))
    .sort((a, b) => Math.abs(b.delta) - Math.abs(a.delta));
}

/** The step time: without the profiler where both reports tell it, else as recorded. */
export function stepsOf(
  before: ComparedReport,
  after: ComparedReport,
): { beforeMs: number; afterMs: number; corrected: boolean } | null {
  const [b, a] = [before.steps, after.steps];
  if (b.corrected_step_ms !== null && a.corrected_step_ms !== null)
    return { beforeMs: b.corrected_step_ms.mid, afterMs: a.corrected_step_ms.mid, corrected: true };
  if (b.step_time_ms === null || a.step_time_ms === null) return null;
  return { beforeMs: b.step_time_ms, afterMs: a.step_time_ms, corrected: false };
}

/** Why the two may not be comparable: another GPU, another batch. */
export function doubtsOf(before: ComparedReport, after: ComparedReport): string[] {
  const doubts: string[] = [];
  const gpu = (report: ComparedReport) =>
    [...new Set(report.inputs.flatMap((input) => input.devices.map((device) => device.name ?? "unknown GPU")))].join(
      ", ",
    );
  const [one, other] = [gpu(before), gpu(after)];
  if (one !== other) doubts.push(`Another GPU: ${one || "none"}, then ${other || "none"}.`);
  const [batch, later] = [before.throughput?.batch_size ?? null, after.throughput?.batch_size ?? null];
  if (batch !== null && later !== null && batch !== later)
    doubts.push(`Another batch: ${batch} samples per step, then ${later}.`);
  return doubts;
}
