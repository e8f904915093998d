// Rows of a table: which, and in which order.

export type Cell = number | string | null;

/** What a table knows of a column by its rows. */
export interface Trait {
  isNumber: boolean;
  isWorthIt: boolean; // Some row knows something, and where it may be left out, rows differ.
}

/** Reads each cell once.
 *
 * @param varies  the column is worth nothing where all rows say the same */
export function traitOf<Row>(rows: Row[], cellOf: (row: Row) => Cell, varies: boolean): Trait {
  const cells = new Set<Cell>();
  let isNumber = false;
  for (const row of rows) {
    const cell = cellOf(row);
    cells.add(cell);
    isNumber ||= typeof cell === "number";
  }
  return { isNumber, isWorthIt: cells.size > 1 || (!varies && !cells.has(null)) };
}

const keys = new WeakMap<object, number>();
let nextKey = 0;

/** The same for the same row, wherever it stands. */
export function keyOf(row: object): number {
  const known = keys.get(row);
  if (known !== undefined) return known;
  keys.set(row, nextKey);
  return nextKey++;
}

/** Rows that hold all words of the filter, in any case. */
export function filtered<Row>(rows: Row[], textOf: (row: Row) => string, filter: string): Row[] {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const text = textOf(row).toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** What is not known comes last either way; of equals the first stays first. */
export function sorted<Row>(rows: Row[], cellOf: (row: Row) => Cell, ascending: boolean): Row[] {
  const compare = (a: Cell, b: Cell) => {
    if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0);
    const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    return ascending ? order : -order;
  };
  return rows
    .map((row) => ({ row, cell: cellOf(row) }))
    .sort((a, b) => compare(a.cell, b.cell))
    .map(({ row }) => row);
}
