// Writes the rows of a table as CSV (RFC 4180), with the values that the page has, not as it rounds them.
import { formatBytes, formatChange, formatFlops, formatMs, formatPercent, formatPoints, formatUs } from "../format";
import type { Cell } from "./table";

export interface CsvColumn<Row> {
  title: string;
  cell: (row: Row) => Cell;
  format?: (value: number, row: Row) => string;
}

/** Units of values, by their format. */
const UNITS = new Map<unknown, string>([
  [formatMs, "ms"],
  [formatChange, "ms"],
  [formatUs, "us"],
  [formatBytes, "bytes"],
  [formatFlops, "FLOP"],
  [formatPercent, "%"],
  [formatPoints, "points"],
]);

/** Text of a trace must not become a formula of a spreadsheet. */
const FORMULA = /^[=+\-@\t\r\n]/;

function field(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const safe = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) || safe !== cell ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const titleOf = <Row>({ title, format }: CsvColumn<Row>): string => {
  const unit = UNITS.get(format);
  const text = title.replaceAll(/\s+/g, " ");
  return unit === undefined ? text : `${text} (${unit})`;
};

export const csvOf = <Row>(columns: CsvColumn<Row>[], rows: Row[]): string =>
  [columns.map((column) => field(titleOf(column))), ...rows.map((row) => columns.map(({ cell }) => field(cell(row))))]
    .map((line) => `${line.join(",")}\r\n`)
    .join("");

/** Returns a name for a file: "gpu-time-per-step.csv" of "GPU time per step". */
export const fileNameOf = (label: string, ending: string): string =>
  `${
    label
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, "-")
      .replaceAll(/^-|-$/g, "")
      .slice(0, 60) || "headroom"
  }.${ending}`;
