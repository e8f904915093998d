// SQL that lists what a row of a table consists of: the calls of a kernel, the kernels of an operator, ...
import type { TableId } from "./table_kinds";

const textOf = (name: string): string => `'${name.replaceAll("'", "''")}'`;

/** Single calls, longest first. */
const CALLS = "start_ns, round(duration_ns / 1e3, 3) as us, operator, layer, line, phase, step, stream, launch_id";

/** Kernels by name, with their sum. */
const kernelsOf = (column: string, name: string): string =>
  `select name, count(*) as calls, round(sum(duration_ns) / 1e3, 1) as us, phase\nfrom kernels where ${column} = ${textOf(name)}\ngroup by name, phase order by us desc`;

export interface RowSql {
  title: string;
  sql: string;
}

/** Returns null if no kernels belong to rows of this kind. */
export function sqlOf(kind: TableId, name: string): RowSql | null {
  switch (kind) {
    case "kernels":
      return {
        title: "Its calls, with operator, layer and line",
        sql: `select ${CALLS}\nfrom kernels where name = ${textOf(name)}\norder by duration_ns desc limit 200`,
      };
    case "operators":
      return { title: "Its kernels, forward and backward", sql: kernelsOf("operator", name) };
    case "layers":
      return { title: "Its kernels, forward and backward", sql: kernelsOf("layer", name) };
    case "lines":
      return { title: "Its kernels, forward and backward", sql: kernelsOf("line", name) };
    case "stacks":
    case "regions":
      return null;
  }
}
