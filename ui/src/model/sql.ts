// Results of SQL as rows of a table, and the chart that suits them.
import { compareNumbers, isLargeInteger } from "./table";

/** A value of headroom.query/1. */
export type SqlValue = number | string | null;

/** headroom.query/1. */
export interface SqlAnswer {
  columns: string[];
  rows: SqlValue[][];
  cut: boolean; // Further rows are left out.
}

export interface SqlRow {
  index: number;
  values: SqlValue[];
}

export const rowsOf = ({ rows }: SqlAnswer): SqlRow[] => rows.map((values, index) => ({ index, values }));

/** Integers beyond 2^53 are text. */
const isNumeric = ({ rows }: SqlAnswer, column: number): boolean =>
  rows.some((row) => row[column] != null) &&
  rows.every((row) => {
    const value = row[column];
    return value == null || typeof value === "number" || isLargeInteger(value);
  });

/** Columns that a chart draws: the first against each other numeric one. */
export interface SqlChart {
  kind: "lines" | "bars"; // Lines over a number; bars by name.
  values: number[]; // Indices of the drawn columns.
}

/** Returns null if the result has no numbers, or nothing to draw them against. */
export function chartOf(answer: SqlAnswer): SqlChart | null {
  if (answer.columns.length < 2 || answer.rows.length === 0) return null;
  const values = answer.columns.map((_, column) => column).filter((column) => column > 0 && isNumeric(answer, column));
  if (values.length === 0) return null;
  const first = answer.rows.map((row) => row[0] ?? 0);
  const ascends = () => first.every((value, row) => row === 0 || compareNumbers(first[row - 1] ?? 0, value) < 0);
  return { kind: isNumeric(answer, 0) && first.length > 2 && ascends() ? "lines" : "bars", values };
}

/**
 * Returns the place of each row for the timeline's address, "START" or "START,LENGTH" in ns on SQL's clock; null if the
 * result has no times. A column named `start_ns` has the start, `duration_ns` or `us` the length.
 */
export function placeOfRow(answer: SqlAnswer): ((row: SqlRow) => string | null) | null {
  const start = answer.columns.indexOf("start_ns");
  if (start === -1) return null;
  const [ns, us] = [answer.columns.indexOf("duration_ns"), answer.columns.indexOf("us")];
  return ({ values }) => {
    const from = String(values[start]);
    if (!/^-?\d+$/.test(from)) return null;
    const length = ns !== -1 ? Number(values[ns]) : us !== -1 ? 1000 * Number(values[us]) : Number.NaN;
    return Number.isFinite(length) ? `${from},${Math.round(length)}` : from;
  };
}

export interface SqlExample {
  title: string;
  sql: string;
}

/** The page offers these; docs/query.md has more, with their results. */
export const EXAMPLES: SqlExample[] = [
  {
    title: "Kernels that take most time",
    sql: "select name, count(*) as calls, round(sum(duration_ns) / 1e6, 3) as ms\nfrom kernels group by name order by ms desc limit 20",
  },
  {
    title: "GPU busy by step",
    sql: "select number, wall_ns / 1e6 as wall_ms, gpu_busy_ns / 1e6 as busy_ms\nfrom step_times order by number",
  },
  {
    title: "GPU time by phase",
    sql: "select phase, count(*) as kernels, round(sum(duration_ns) / 1e6, 3) as ms\nfrom kernels group by phase order by ms desc",
  },
  {
    title: "Launches by step",
    sql: "select step, count(*) as launches from kernels group by step order by step",
  },
  {
    title: "Longest gaps of the GPU, and what ends them",
    sql: "select round(g.duration_ns / 1e3, 1) as us, a.operator as next_operator, a.phase, g.start_ns\nfrom gpu_gaps g left join gpu_attribution a on a.id = g.next_id\norder by g.duration_ns desc limit 20",
  },
  {
    title: "Copies by direction",
    sql: "select direction, count(*) as copies, sum(bytes) / 1e6 as mb, round(sum(bytes) * 1.0 / sum(duration_ns), 2) as gb_per_s\nfrom copies group by direction",
  },
];

export const TABLES_SQL = "select name from sqlite_master order by name";
