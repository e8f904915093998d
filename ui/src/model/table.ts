// Rows of a table: which, and in which order.

export type Cell = number | string | null;

/** Rows that hold all words of the filter, in any case. */
export function filtered<Row>(rows: Row[], textOf: (row: Row) => string, filter: string): Row[] {
  const words = filter.toLowerCase().split(/\s+/).filter((word) => word !== "");
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
