// Contents of the view of tables, for each kind of row.
import type { Report } from "../api/types";
import { pathOfKernel, pathOfLayer, pathOfLine, pathOfOperator, pathOfStack } from "./charts/hierarchy";

export type TableId = "operators" | "kernels" | "layers" | "lines" | "stacks" | "regions";
export type Clock = "gpu" | "host" | "sampled";

/** A row of any table, with the fields that tables and maps need. */
export interface AnyRow {
  name: string;
  path: string[];
  rank: number | null;
  count: number;
  figures: Record<string, number | null>;
  words: Record<string, string | null>;
}

export interface TableKind {
  id: TableId;
  title: string;
  meaning: string;
  missing: string; // Shown if there are no rows: how to record them.
  clocks: Clock[]; // Clocks that its map can show; empty: no map.
  sort: string;
  backward: { title: string; meaning: string }; // Title of the column `backward_us`, and its tooltip.
}

const BACKWARD = { title: "Backward", meaning: "GPU time launched in the backward pass" };

/** Backward nodes call other operators, which count the time (docs/report.md). */
const BACKWARD_ELSEWHERE = {
  title: "Its backward,\nelsewhere",
  meaning:
    "GPU time of the backward nodes of its forward calls. It counts for the operators that those nodes call, not for this operator",
};

export const TABLE_KINDS: TableKind[] = [
  {
    id: "operators",
    title: "Operators",
    meaning: "Operators of the framework; each GPU task belongs to the innermost operator that launched it.",
    missing: "No operators were recorded: profile with ProfilerActivity.CPU.",
    clocks: ["gpu", "host"],
    sort: "total_us",
    backward: BACKWARD_ELSEWHERE,
  },
  {
    id: "kernels",
    title: "Kernels",
    meaning: "Work on the GPU: kernels, copies and sets.",
    missing:
      "No GPU work was recorded: profile with ProfilerActivity.CUDA, or use headroom record on a machine with a GPU.",
    clocks: ["gpu"],
    sort: "total_us",
    backward: BACKWARD,
  },
  {
    id: "layers",
    title: "Layers",
    meaning:
      "Modules of the model; each GPU task, of backward too, belongs to the innermost module around its forward call.",
    missing:
      "No layers were recorded: profile with with_stack=True, or time the loop with headroom.torch.profile_loop(loader, model, optimizer).",
    clocks: ["gpu", "host"],
    sort: "total_us",
    backward: BACKWARD,
  },
  {
    id: "lines",
    title: "Source lines",
    meaning: "GPU time by the innermost function of your own code.",
    missing: "No Python frames were recorded: profile with with_stack=True.",
    clocks: ["gpu"],
    sort: "total_us",
    backward: BACKWARD,
  },
  {
    id: "stacks",
    title: "Stacks",
    meaning: "Where Python's main thread was, by samples of its stack: a flame graph, callers above.",
    missing: "No stacks were sampled: headroom record samples those of Python programs that train.",
    clocks: ["sampled"],
    sort: "total_ms",
    backward: BACKWARD,
  },
  {
    id: "regions",
    title: "Regions",
    meaning: "Ranges that the program marked: Headroom timers, record_function, framework ranges.",
    missing: "The program marks no regions: use torch.profiler.record_function or headroom.scope.",
    clocks: [],
    sort: "total_ms",
    backward: BACKWARD,
  },
];

/** Numbers and words of a row, by key. */
function anyRow(row: object, name: string, path: string[], rank: number | null, count: number): AnyRow {
  const figures: AnyRow["figures"] = {};
  const words: AnyRow["words"] = {};
  for (const [key, value] of Object.entries(row) as [string, unknown][]) {
    if (typeof value === "number") figures[key] = value;
    else if (typeof value === "string") words[key] = value;
  }
  return { name, path, rank, count, figures, words };
}

export function rowsOf(report: Report, id: TableId): AnyRow[] {
  switch (id) {
    case "operators":
      return report.operators.map((row) => anyRow(row, row.name, pathOfOperator(row), row.rank, row.count));
    case "kernels":
      return report.kernels.map((row) => anyRow(row, row.name, pathOfKernel(row), row.rank, row.count));
    case "layers":
      return report.layers.map((row) => anyRow(row, row.name, pathOfLayer(row), row.rank, row.count));
    case "lines":
      return report.lines.map((row) => anyRow(row, row.location, pathOfLine(row), row.rank, row.count));
    case "stacks":
      return report.stacks.map((row) =>
        anyRow(row, row.stack.split(";").at(-1) ?? "", pathOfStack(row), row.rank, row.samples),
      );
    case "regions":
      return report.regions.map((row) => anyRow(row, row.key, [row.key], row.rank, row.count));
  }
}

/** Microseconds of a row that no other row includes. */
export const sizeOf = (row: AnyRow, clock: Clock): number =>
  clock === "sampled"
    ? 1000 * (row.figures.total_ms ?? 0)
    : (row.figures[clock === "gpu" ? "total_us" : "self_host_us"] ?? 0);

/** Clocks for which the rows have times. */
export function clocksOf(kind: TableKind, rows: AnyRow[]): Clock[] {
  return kind.clocks.filter((clock) => rows.some((row) => sizeOf(row, clock) > 0));
}
