// Two reports side by side: what a step of the one takes and what of the other, from the whole down to kernels.
import type { TimedRow } from "../api/report_tables";
import type { Report } from "../api/types";
import { partsOf } from "./breakdown";

/** A row of a report's tables: over the whole trace. */
type TimeRow = Pick<TimedRow, "name" | "rank" | "total_us">;

/** What the comparison reads of a report. */
export interface ComparedReport extends Pick<Report, "steps" | "step_breakdown" | "bottleneck" | "throughput"> {
  inputs: { path: string; devices: { name: string | null }[] }[];
  classes: TimeRow[];
  kernels: TimeRow[];
  operators: TimeRow[];
}

export interface Difference {
  name: string;
  beforeMs: number | null; // null: not there.
  afterMs: number | null;
  deltaMs: number; // What is not there takes none.
}

const US_PER_MS = 1000;

const deltaOf = (name: string, beforeMs: number | null, afterMs: number | null): Difference => ({ name, beforeMs, afterMs, deltaMs: (afterMs ?? 0) - (beforeMs ?? 0) });

/** Of the median steps, part by part; null: one of them cannot be split. */
export function partDifferences(before: ComparedReport, after: ComparedReport): Difference[] | null {
  if (before.step_breakdown === null || after.step_breakdown === null) return null;
  const later = partsOf(after.step_breakdown);
  return partsOf(before.step_breakdown)
    .map((part, index) => deltaOf(part.name, part.ms, later[index]?.ms ?? 0))
    .filter((row) => row.beforeMs !== 0 || row.afterMs !== 0);
}

/** By name, of a step: of the trace's total, which counts what is between steps, too. */
function perStep(report: ComparedReport, rows: TimeRow[]): Map<string, number> {
  const times = new Map<string, number>();
  const steps = Math.max(1, report.steps.count) * Math.max(1, new Set(rows.map((row) => row.rank)).size);
  for (const row of rows) times.set(row.name, (times.get(row.name) ?? 0) + (row.total_us ?? 0) / US_PER_MS / steps);
  return times;
}

export type Table = "classes" | "kernels" | "operators";

/** Those that differ most first. */
export function rowDifferences(before: ComparedReport, after: ComparedReport, table: Table): Difference[] {
  const [earlier, later] = [perStep(before, before[table]), perStep(after, after[table])];
  const names = new Set([...earlier.keys(), ...later.keys()]);
  return [...names]
    .map((name) => deltaOf(name, earlier.get(name) ?? null, later.get(name) ?? null))
    .sort((a, b) => Math.abs(b.deltaMs) - Math.abs(a.deltaMs));
}

/** The median step: less the profiler's cost where both reports tell it, else as recorded. */
export function stepsOf(before: ComparedReport, after: ComparedReport): { beforeMs: number; afterMs: number; corrected: boolean } | null {
  const [b, a] = [before.steps, after.steps];
  if (b.corrected_p50_ms !== null && a.corrected_p50_ms !== null) return { beforeMs: b.corrected_p50_ms, afterMs: a.corrected_p50_ms, corrected: true };
  if (b.p50_ms === null || a.p50_ms === null) return null;
  return { beforeMs: b.p50_ms, afterMs: a.p50_ms, corrected: false };
}

/** Why the two may not be comparable: another GPU, another batch. */
export function doubtsOf(before: ComparedReport, after: ComparedReport): string[] {
  const doubts: string[] = [];
  const gpu = (report: ComparedReport) => [...new Set(report.inputs.flatMap((input) => input.devices.map((device) => device.name ?? "unknown GPU")))].join(", ");
  const [one, other] = [gpu(before), gpu(after)];
  if (one !== other) doubts.push(`Another GPU: ${one || "none"}, then ${other || "none"}.`);
  const [batch, later] = [before.throughput?.batch_size ?? null, after.throughput?.batch_size ?? null];
  if (batch !== null && later !== null && batch !== later) doubts.push(`Another batch: ${batch} samples a step, then ${later}.`);
  return doubts;
}
