// Filters and sorts the rows of a table.

export type Cell = number | string | null;

/** Properties of a column that follow from its rows. */
export interface Trait {
  isNumber: boolean;
  isWorthIt: boolean; // True if rows differ, or if one value in all rows is worth a column.
}

/**
 * Reads each cell once.
 *
 * @param varies  hides the column if all rows have the same value
 */
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

/** Returns a stable key for a row, independent of its position. */
export function keyOf(row: object): number {
  const known = keys.get(row);
  if (known !== undefined) return known;
  keys.set(row, nextKey);
  return nextKey++;
}

/** Returns the rows that contain all words of the filter, ignoring case. */
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

/** Returns true for the text of an integer that JavaScript would round. */
export const isLargeInteger = (text: string): boolean => /^-?\d{16,}$/.test(text);

const isNumber = (cell: string | number): boolean => typeof cell === "number" || isLargeInteger(cell);

/** Compares exactly, even a number with the text of a large integer. */
export function compareNumbers(a: string | number, b: string | number): number {
  if (typeof a === "string" && typeof b === "string") {
    const [one, other] = [BigInt(a), BigInt(b)];
    return one < other ? -1 : one > other ? 1 : 0;
  }
  return Number(a) - Number(b);
}

/** Sorts stably; missing values come last in both orders. */
export function sorted<Row>(rows: Row[], cellOf: (row: Row) => Cell, ascending: boolean): Row[] {
  const compare = (a: Cell, b: Cell) => {
    if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0);
    const order = isNumber(a) && isNumber(b) ? compareNumbers(a, b) : String(a).localeCompare(String(b));
    return ascending ? order : -order;
  };
  return rows
    .map((row) => ({ row, cell: cellOf(row) }))
    .sort((a, b) => compare(a.cell, b.cell))
    .map(({ row }) => row);
}
