// Compares two reports: the time of a step in each, from the whole step down to kernels.
import type { TimedRow } from "../api/report_tables";
import type { Report } from "../api/types";
import { partsOf } from "./breakdown";

/** A row of a report's tables, with totals over the whole trace. */
type TimeRow = Pick<TimedRow, "name" | "rank" | "total_us" | "share_pct">;

/** The parts of a report that the comparison reads. */
export interface ComparedReport extends Pick<Report, "steps" | "step_breakdown" | "bottleneck" | "throughput"> {
  inputs: { path: string; devices: { name: string | null }[] }[];
  classes: TimeRow[];
  kernels: TimeRow[];
  operators: TimeRow[];
}

/** A difference between two reports, in milliseconds per step or in percent of all GPU time. */
export interface Difference {
  name: string;
  before: number | null; // null: missing.
  after: number | null;
  delta: number; // A missing value counts as 0.
}

const US_PER_MS = 1000;

const deltaOf = (name: string, before: number | null, after: number | null): Difference => ({
  name,
  before,
  after,
  delta: (after ?? 0) - (before ?? 0),
});

/** Returns the differences of the mean steps by part; null: one step has no breakdown. */
export function partDifferences(before: ComparedReport, after: ComparedReport): Difference[] | null {
  if (before.step_breakdown === null || after.step_breakdown === null) return null;
  const later = partsOf(after.step_breakdown);
  return partsOf(before.step_breakdown)
    .map((part, index) => deltaOf(part.name, part.ms, later[index]?.ms ?? 0))
    .filter((row) => row.before !== 0 || row.after !== 0);
}

/** Returns true if both reports have steps. Otherwise only shares are comparable. */
export const hasSteps = (before: ComparedReport, after: ComparedReport): boolean =>
  before.steps.count > 0 && after.steps.count > 0;

/**
 * Returns values by name. With steps: the trace's total, including work between steps, divided by steps and ranks.
 * Without steps: the mean share over the ranks.
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

/** Returns the differences, largest first; in percent if hasSteps() is false. */
export function rowDifferences(before: ComparedReport, after: ComparedReport, table: Table): Difference[] {
  const ofStep = hasSteps(before, after);
  const [earlier, later] = [valuesOf(before, before[table], ofStep), valuesOf(after, after[table], ofStep)];
  const names = new Set([...earlier.keys(), ...later.keys()]);
  return [...names]
    .map((name) => deltaOf(name, earlier.get(name) ?? null, later.get(name) ?? null))
    .sort((a, b) => Math.abs(b.delta) - Math.abs(a.delta));
}

/** Returns the step times: without the profiler if both reports have that, else as recorded. */
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

/** Returns reasons why the two may not be comparable, such as another GPU or another batch. */
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
