import type { ComponentChild } from "preact";
import { useMemo, useState } from "preact/hooks";
import { formatCount } from "../format";
import { type Cell, keyOf, sorted, traitOf } from "../model/table";
import { Bar } from "./bar";
import "./data_table.css";

export interface Column<Row> {
  key: string;
  title: string; // May hold line breaks.
  meaning?: string; // Shown when the pointer rests on the title.
  cell: (row: Row) => Cell; // What is sorted by.
  format?: (value: number, row: Row) => string; // Of numbers.
  draw?: (row: Row) => ComponentChild; // In place of the text.
  varies?: boolean; // Left out where all rows say the same.
  kind?: "name" | "share"; // A long text; percent of all, with a bar.
}

export interface Order {
  by: string;
  ascending: boolean;
}

const LONG = 70;

/** Two lines of a name; the rest at a click. */
function LongName({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  if (text.length <= LONG) return <span class="long-name">{text}</span>;
  return (
    <button
      type="button"
      class={`long-name ${open ? "" : "short"}`}
      title={text}
      aria-expanded={open}
      onClick={() => setOpen(!open)}
    >
      {text}
    </button>
  );
}

function Value<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const value = column.cell(row);
  if (value === null) return <span class="unknown">–</span>;
  if (column.draw !== undefined) return <>{column.draw(row)}</>;
  if (typeof value === "string") return column.kind === "name" ? <LongName text={value} /> : value;
  const text = (column.format ?? formatCount)(value, row);
  if (column.kind !== "share") return <>{text}</>;
  return (
    <span class="share">
      <span class="share-bar" aria-hidden="true">
        <Bar share={value / 100} label="" />
      </span>
      <span class="share-text">{text}</span>
    </span>
  );
}

/** Rows that a press adds: all of a large table at once would block the page. */
const PORTION = 500;

/** By which column rows are ordered, where the address does not hold it. */
export function useOrder(by: string): { order: Order; onOrder: (order: Order) => void } {
  const [order, onOrder] = useState<Order>({ by, ascending: false });
  return { order, onOrder };
}

/** Columns of which no row knows anything are left out. */
export function DataTable<Row extends object>({
  label,
  columns,
  rows,
  order,
  onOrder,
  limit = 100,
}: {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  order: Order;
  onOrder: (order: Order) => void;
  limit?: number;
}) {
  const [most, setMost] = useState(limit);
  const traits = useMemo(
    () => new Map(columns.map((column) => [column.key, traitOf(rows, column.cell, column.varies === true)])),
    [columns, rows],
  );
  const known = columns.filter((column) => traits.get(column.key)?.isWorthIt);
  const isNumber = (column: Column<Row>) => traits.get(column.key)?.isNumber === true;
  const by = known.find((column) => column.key === order.by);
  const ordered = useMemo(
    () => (by === undefined ? rows : sorted(rows, by.cell, order.ascending)),
    [rows, by, order.ascending],
  );
  const shown = ordered.slice(0, most);
  const sortBy = (column: Column<Row>) =>
    onOrder({ by: column.key, ascending: column === by ? !order.ascending : !isNumber(column) });
  return (
    <>
      <div class="data-table scrolls" role="region" aria-label={`Table: ${label}`} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {known.map((column) => (
                <th
                  key={column.key}
                  scope="col"
                  class={isNumber(column) ? "number" : ""}
                  aria-sort={column !== by ? undefined : order.ascending ? "ascending" : "descending"}
                >
                  <button type="button" title={column.meaning} onClick={() => sortBy(column)}>
                    {column.title}
                    <span aria-hidden="true">{column !== by ? "" : order.ascending ? " ▲" : " ▼"}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={keyOf(row)}>
                {known.map((column) => (
                  <td key={column.key} class={column.kind === "name" ? "name" : isNumber(column) ? "number" : ""}>
                    <Value column={column} row={row} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < rows.length && (
        <p>
          <button type="button" onClick={() => setMost(most + PORTION)}>
            {rows.length - most <= PORTION
              ? `Show all ${formatCount(rows.length)} rows`
              : `Show ${formatCount(PORTION)} more of ${formatCount(rows.length)} rows`}
          </button>
        </p>
      )}
    </>
  );
}
