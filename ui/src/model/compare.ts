// Compares two recordings: the account of a step's change as a waterfall, and shares of GPU time where a recording has
// no step.
import type { AccountRow, Change, Diff } from "../api/diff";
import type { TimedRow } from "../api/report_tables";
import type { Report } from "../api/types";
import type { Bar } from "./waterfall";

/** A row of a report's tables, with totals over the whole trace. */
type TimeRow = Pick<TimedRow, "name" | "rank" | "share_pct">;

/** The parts of a report that the comparison reads. */
export interface ComparedReport extends Pick<Report, "steps"> {
  classes: TimeRow[];
  kernels: TimeRow[];
  operators: TimeRow[];
}

/** A difference between two reports, in percent of all GPU time. */
export interface Difference {
  name: string;
  before: number | null; // null: missing.
  after: number | null;
  delta: number; // A missing value counts as 0.
}

/** Returns shares by name: the mean over the ranks. */
function sharesOf(rows: TimeRow[]): Map<string, number> {
  const shares = new Map<string, number>();
  const ranks = Math.max(1, new Set(rows.map((row) => row.rank)).size);
  for (const row of rows) shares.set(row.name, (shares.get(row.name) ?? 0) + (row.share_pct ?? 0) / ranks);
  return shares;
}

export type Table = "classes" | "kernels" | "operators";

/** Returns the differences of the shares of GPU time, largest first. */
export function shareDifferences(before: ComparedReport, after: ComparedReport, table: Table): Difference[] {
  const [earlier, later] = [sharesOf(before[table]), sharesOf(after[table])];
  return [...new Set([...earlier.keys(), ...later.keys()])]
    .map((name) => {
      const [b, a] = [earlier.get(name) ?? null, later.get(name) ?? null];
      return { name, before: b, after: a, delta: (a ?? 0) - (b ?? 0) };
    })
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

/** Returns the step that the comparison is about: without the profiler if both sides have that. */
export const changeOf = (diff: Pick<Diff, "step_ms" | "corrected_step_ms">): Change =>
  diff.corrected_step_ms ?? diff.step_ms;

const MAX_BARS = 9;
/** Parts below this share of the larger step are joined. */
const WORTH_A_BAR = 0.001;

/**
 * Returns the account as bars from A's median step to B's: the largest changes, and one bar for all others. They sum to
 * the change.
 */
export function accountBars(account: AccountRow[], step: Change): Bar[] {
  const least = WORTH_A_BAR * Math.max(step.a, step.b);
  const sorted = [...account].sort((a, b) => Math.abs(b.change_ms) - Math.abs(a.change_ms));
  const shown = sorted.slice(0, MAX_BARS - 1).filter((row) => Math.abs(row.change_ms) >= least);
  const rest = sorted.filter((row) => !shown.includes(row)).reduce((sum, row) => sum + row.change_ms, 0);
  const steps = shown.map((row): [string, number] => [row.label, row.change_ms]);
  if (Math.abs(rest) >= least) steps.push(["all others", rest]);
  let at = step.a;
  return steps.map(([label, change]) => {
    const bar = { label, fromMs: at, toMs: at + change };
    at += change;
    return bar;
  });
}
