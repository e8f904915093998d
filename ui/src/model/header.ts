// Texts of the header.
import type { Report } from "../api/types";
import { formatCount } from "../format";

/** Returns a name for the page as a file: "trace.html" of "runs/trace.json.gz". */
export const fileNameOf = ({ inputs }: Pick<Report, "inputs">): string =>
  `${(inputs[0]?.path.split("/").pop() ?? "").split(".")[0] || "headroom"}.html`;

/** Returns "rank 3 of 8"; empty: the trace is not one of several ranks. */
export function rankText({ inputs }: Pick<Report, "inputs">): string {
  const { rank, world_size } = inputs[0] ?? { rank: null, world_size: null };
  return rank === null || world_size === null || world_size < 2 ? "" : `rank ${rank} of ${world_size}`;
}

/** Returns "5 steps, 2 to 6": their number and indices; "no steps". */
export function stepsText({ steps }: Pick<Report, "steps">): string {
  if (steps.count === 0) return "no steps";
  const indices = steps.list.map((step) => step.index);
  const text = steps.count === 1 ? "1 step" : `${formatCount(steps.count)} steps`;
  return indices.length < 2 ? text : `${text}, ${Math.min(...indices)} to ${Math.max(...indices)}`;
}

/** Returns "1 x NVIDIA H200": the GPUs that ran work; empty: none did. */
export function gpusText({ inputs, gpu_time }: Pick<Report, "inputs" | "gpu_time">): string {
  const used = new Set(gpu_time.map((row) => `${row.rank} ${row.device}`)).size;
  if (used === 0) return "";
  const device = inputs[0]?.devices[0];
  return `${used} x ${device?.model ?? device?.name ?? "GPU"}`;
}
