// Figures of a job's ranks as the view Ranks draws them.
import type { RankClock, RankPair, RankTimes, StepOfRank } from "../api/ranks";
import { formatBytes, formatNs } from "../format";

export type Measure = "waited_ms" | "caused_ms" | "wall_ms" | "computing_ms";

/** Values by row and column; null: unknown. */
export interface Grid {
  rows: number[]; // Ranks.
  columns: { first: number; last: number }[]; // Steps, or ranks with first = last.
  values: (number | null)[][];
}

const ascending = (numbers: number[]): number[] => [...new Set(numbers)].sort((a, b) => a - b);

const meanOf = (values: (number | null)[]): number | null => {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
};

/** Cells that a page draws quickly. */
const MAX_CELLS = 4000;
const MIN_COLUMNS = 10;

/**
 * Returns a value per rank and step. If there are too many steps to draw, a column is the mean of several consecutive
 * ones.
 */
export function stepsGrid(steps: StepOfRank[], measure: Measure): Grid {
  const rows = ascending(steps.map((row) => row.rank));
  const numbers = ascending(steps.map((row) => row.step));
  const most = Math.max(MIN_COLUMNS, Math.floor(MAX_CELLS / Math.max(1, rows.length)));
  const size = Math.max(1, Math.ceil(numbers.length / most));
  const columns: Grid["columns"] = [];
  for (let at = 0; at < numbers.length; at += size) {
    const part = numbers.slice(at, at + size);
    columns.push({ first: part[0] ?? 0, last: part.at(-1) ?? 0 });
  }
  const columnOf = new Map(numbers.map((step, index) => [step, Math.floor(index / size)]));
  const cells = rows.map(() => columns.map((): (number | null)[] => []));
  const rowOf = new Map(rows.map((rank, index) => [rank, index]));
  for (const row of steps) cells[rowOf.get(row.rank) ?? 0]?.[columnOf.get(row.step) ?? 0]?.push(row[measure]);
  return { rows, columns, values: cells.map((row) => row.map(meanOf)) };
}

/** Returns how long each rank (row) waited for each other rank (column); null: the clock of one is unknown. */
export function pairsGrid(pairs: RankPair[], clocks: Pick<RankClock, "rank" | "aligned">[]): Grid {
  const rows = ascending(clocks.map((clock) => clock.rank));
  const known = new Set(clocks.filter((clock) => clock.aligned).map((clock) => clock.rank));
  const index = new Map(rows.map((rank, at) => [rank, at]));
  const values = rows.map((row) =>
    rows.map((column): number | null => (row === column || !known.has(row) || !known.has(column) ? null : 0)),
  );
  for (const pair of pairs) {
    const row = values[index.get(pair.rank) ?? -1];
    const column = index.get(pair.waited_for);
    if (row !== undefined && column !== undefined) row[column] = pair.waited_ms;
  }
  return { rows, columns: rows.map((rank) => ({ first: rank, last: rank })), values };
}

/** Returns the scale of a grid: waits from 0, times from the smallest. */
export function rangeOf(values: (number | null)[][], fromZero: boolean): { low: number; high: number } {
  const known = values.flat().filter((value) => value !== null);
  if (known.length === 0) return { low: 0, high: 0 };
  const least = known.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  return {
    low: fromZero ? 0 : least,
    high: known.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
  };
}

/** A span to draw. */
type Span = [from: number, to: number];

export const computingOf = ({ computing }: RankTimes): Span[] =>
  Array.from({ length: computing.length / 2 }, (_, i) => [computing[2 * i] ?? 0, computing[2 * i + 1] ?? 0]);

/** Parts of collectives in which the rank waits for the last to arrive. */
export const waitsOf = ({ collectives }: RankTimes): Span[] =>
  collectives.flatMap((one): Span[] =>
    one.last_arrival_ns === null || one.last_arrival_ns <= one.start_ns
      ? []
      : [[one.start_ns, Math.min(one.last_arrival_ns, one.end_ns)]],
  );

/** The other parts of collectives. */
export const transfersOf = ({ collectives }: RankTimes): Span[] =>
  collectives.map(
    (one): Span => [Math.min(one.end_ns, Math.max(one.start_ns, one.last_arrival_ns ?? one.start_ns)), one.end_ns],
  );

/** Narrower rectangles would be invisible. */
const MIN_WIDTH = 0.6;

/** Returns an SVG path with a rectangle for each span; spans that touch on the screen become one. */
export function barsPath(spans: Span[], toX: (ns: number) => number, top: number, height: number): string {
  const sorted = [...spans].sort((a, b) => a[0] - b[0]);
  let path = "";
  let left = Number.NaN;
  let right = Number.NaN;
  const close = () => {
    if (!Number.isNaN(left))
      path += `M${left.toFixed(1)} ${top}H${right.toFixed(1)}V${top + height}H${left.toFixed(1)}Z`;
  };
  for (const [from, to] of sorted) {
    const begin = toX(from);
    const end = Math.max(toX(to), begin + MIN_WIDTH);
    if (begin <= right + 0.2) {
      right = Math.max(right, end);
      continue;
    }
    close();
    [left, right] = [begin, end];
  }
  close();
  return path;
}

/** Says what a rank does at a time: "computes", or its collective. */
export function doneAt(times: RankTimes, ns: number): string {
  const running = times.collectives.filter((one) => one.start_ns <= ns && ns < one.end_ns);
  const collective = running.at(-1);
  const computes = computingOf(times).some(([from, to]) => from <= ns && ns < to);
  const parts = computes ? ["computes"] : [];
  if (collective !== undefined) {
    const { kind, group, bytes, start_ns, last_arrival_ns, end_ns } = collective;
    const waits = last_arrival_ns !== null && ns < last_arrival_ns;
    const wait = last_arrival_ns === null ? 0 : Math.max(0, last_arrival_ns - start_ns);
    const facts = [group === null ? "" : `group ${group}`, bytes === null ? "" : formatBytes(bytes)].filter(
      (one) => one !== "",
    );
    parts.push(
      `${waits ? "waits in" : "runs"} ${kind}${facts.length > 0 ? ` (${facts.join(", ")})` : ""}: ${formatNs(end_ns - start_ns)}${
        wait > 0 ? `, of which ${formatNs(wait)} until the last rank arrives` : ""
      }`,
    );
  }
  if (parts.length === 0) return ns < times.start_ns || ns >= times.end_ns ? "is outside the step" : "is idle";
  return parts.join(" and ");
}
