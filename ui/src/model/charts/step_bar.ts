// The parts of a step as one stacked bar.
import type { Summary } from "../../api/types";

export interface BarPart {
  name: string;
  meaning: string | undefined;
  color: string; // A custom property.
  ms: number | null;
  begin: number; // This and the next two are shares of the whole, from 0 to 1.
  share: number;
  busy: number; // The GPU works; at most `share`.
}

/** Phases keep their colour in every trace. */
const PHASES: Record<string, { color: string; meaning: string }> = {
  "data wait": { color: "--series-5", meaning: "The host waits for the data loader while the GPU is idle." },
  "copy to GPU": { color: "--series-7", meaning: "The GPU copies data from the host and runs nothing else." },
  forward: { color: "--series-1", meaning: "The forward pass, on the GPU or on the host while the GPU is idle." },
  backward: { color: "--series-4", meaning: "The backward pass, on the GPU or on the host while the GPU is idle." },
  optimizer: { color: "--series-3", meaning: "The update of the parameters." },
  communication: { color: "--series-2", meaning: "Exposed communication: GPUs exchange data while none computes." },
  callback: { color: "--series-6", meaning: "The GPU is idle while the host runs a callback of the trainer." },
  other: { color: "--series-8", meaning: "Everything else." },
};
const MAX_PARTS = 8;
const CLASS_COLORS = ["1", "2", "3", "4", "5", "6", "7"].map((number) => `--series-${number}`);

/**
 * Returns the parts in order. Of more than eight, joins the smallest as "other".
 *
 * @param wholeMs  time that the parts sum to; null: unknown
 */
export function barPartsOf(
  { parts, parts_of }: Pick<Summary, "parts" | "parts_of">,
  wholeMs: number | null,
): BarPart[] {
  let rows = parts;
  if (rows.length > MAX_PARTS) {
    const kept = new Set([...rows].sort((a, b) => b.share_pct - a.share_pct).slice(0, MAX_PARTS - 1));
    const rest = rows.filter((row) => !kept.has(row) || row.name === "other");
    const sum = (value: (row: (typeof rows)[number]) => number) => rest.reduce((total, row) => total + value(row), 0);
    rows = [
      ...rows.filter((row) => !rest.includes(row)),
      { name: "other", share_pct: sum((row) => row.share_pct), busy_pct: sum((row) => row.busy_pct) },
    ];
  }
  let begin = 0;
  return rows.map((row, index) => {
    const share = row.share_pct / 100;
    const phase = parts_of === "step" || row.name === "other" ? PHASES[row.name] : undefined;
    const part = {
      name: row.name,
      meaning: phase?.meaning,
      color: phase?.color ?? CLASS_COLORS[index % CLASS_COLORS.length] ?? "--series-8",
      ms: wholeMs === null ? null : wholeMs * share,
      begin,
      share,
      busy: row.busy_pct / 100,
    };
    begin += share;
    return part;
  });
}
