import type { LucideIcon } from "lucide-preact";
import type { ComponentChild } from "preact";
import { useMemo, useState } from "preact/hooks";
import { formatCount } from "../format";
import { csvOf, fileNameOf } from "../model/csv";
import { type Cell, keyOf, sorted, traitOf } from "../model/table";
import { Bar } from "./bar";
import { TableButtons } from "./table_buttons";
import "./data_table.css";

export interface Column<Row> {
  key: string;
  title: string; // May contain line breaks.
  meaning?: string; // Tooltip of the title.
  cell: (row: Row) => Cell; // Value to sort by.
  format?: (value: number, row: Row) => string; // Format of numbers.
  draw?: (row: Row) => ComponentChild; // Replaces the text.
  varies?: boolean; // Hidden if all rows have the same value.
  kind?: "name" | "share"; // A long text; a percentage with a bar.
}

export interface RowLink {
  title: string;
  href: string;
  icon: LucideIcon;
}

export interface Order {
  by: string;
  ascending: boolean;
}

const LONG = 70;

/** Shows two lines of a name; a click shows the rest. */
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

/** Rows added per press: adding all rows of a large table at once would block the page. */
const PORTION = 500;

/** Keeps the sort column of a table whose order is not in the address. */
export function useOrder(by: string): { order: Order; onOrder: (order: Order) => void } {
  const [order, onOrder] = useState<Order>({ by, ascending: false });
  return { order, onOrder };
}

/** Hides columns without any value. */
export function DataTable<Row extends object>({
  label,
  columns,
  rows,
  order,
  onOrder,
  linksOf,
  limit = 100,
}: {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  order: Order;
  onOrder: (order: Order) => void;
  linksOf?: (row: Row) => RowLink[]; // Where a row leads on.
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
              {linksOf !== undefined && <td />}
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
                {linksOf !== undefined && (
                  <td class="row-links">
                    {linksOf(row).map(({ title, href, icon: Icon }) => (
                      <a key={title} href={href} title={title} aria-label={title}>
                        <Icon size={15} aria-hidden="true" />
                      </a>
                    ))}
                  </td>
                )}
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
      <div class="table-foot">
        {shown.length < rows.length && (
          <button type="button" onClick={() => setMost(most + PORTION)}>
            {rows.length - most <= PORTION
              ? `Show all ${formatCount(rows.length)} rows`
              : `Show ${formatCount(PORTION)} more of ${formatCount(rows.length)} rows`}
          </button>
        )}
        <TableButtons label={label} fileName={fileNameOf(label, "csv")} csv={() => csvOf(known, ordered)} />
      </div>
    </>
  );
}
