// Compares two recordings: the account of a step's change as a waterfall, and shares of GPU time where a recording has
// no step.
import type { AccountRow, Change } from "../api/diff";
import type { TimedRow } from "../api/report_tables";
import type { Report } from "../api/types";
import type { Bar } from "./charts/waterfall";

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

const MAX_BARS = 9;
const ROUNDING_MS = 1e-6;
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
  if (Math.abs(rest) > ROUNDING_MS) steps.push(["all others", rest]);
  let at = step.a;
  return steps.map(([label, change]) => {
    const bar = { label, fromMs: at, toMs: at + change };
    at += change;
    return bar;
  });
}
