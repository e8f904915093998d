// Texts of the header.
import type { Report } from "../api/types";
import { formatCount } from "../format";

/** Returns the path of the trace; of several ranks, that of their folder. */
export function pathOf({ inputs }: Pick<Report, "inputs">): string {
  const path = inputs[0]?.path ?? "";
  return inputs.length > 1 && path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : path;
}

/** Returns a name for the page as a file: "trace.html" of "runs/trace.json.gz". */
export const fileNameOf = (report: Pick<Report, "inputs">): string =>
  `${(pathOf(report).split("/").pop() ?? "").split(".")[0] || "headroom"}.html`;

/** Returns the ranks of a job with their titles: "rank 3", "rank 3 on node2"; empty: the job has one trace. */
export function ranksOf({ job_ranks }: Pick<Report, "job_ranks">): { rank: number; title: string }[] {
  const clocks = job_ranks?.clocks ?? [];
  const hosts = new Set(clocks.map((row) => row.host));
  return clocks
    .map(({ rank, host }) => ({ rank, title: `rank ${rank}${host !== null && hosts.size > 1 ? ` on ${host}` : ""}` }))
    .sort((a, b) => a.rank - b.rank);
}

/** Returns "rank 3 of 8"; empty: the trace is not one of several ranks. */
export function rankText({ inputs }: Pick<Report, "inputs">): string {
  const { rank, world_size } = inputs[0] ?? { rank: null, world_size: null };
  return rank === null || world_size === null || world_size < 2 ? "" : `rank ${rank} of ${world_size}`;
}

/** Returns the number of steps; ranks share theirs. */
export const stepCount = ({ list }: Report["steps"]): number => new Set(list.map((step) => step.index)).size;

/** Returns "5 steps, 2 to 6": their number and indices; "no steps". */
export function stepsText({ steps }: Pick<Report, "steps">): string {
  if (steps.count === 0) return "no steps";
  const indices = steps.list.map((step) => step.index);
  const count = stepCount(steps);
  const text = count === 1 ? "1 step" : `${formatCount(count)} steps`;
  return count < 2 ? text : `${text}, ${Math.min(...indices)} to ${Math.max(...indices)}`;
}

/** Returns "Times are totals, not times per step. The report covers 3 steps." */
export function sumsText(steps: Report["steps"]): string {
  const count = stepCount(steps);
  if (count === 0) return "Times are totals.";
  return `Times are totals, not times per step. The report covers ${count === 1 ? "1 step" : `${formatCount(count)} steps`}.`;
}

/** Returns "1 x NVIDIA H200": the GPUs that ran work; empty: none did. */
export function gpusText({ inputs, gpu_time }: Pick<Report, "inputs" | "gpu_time">): string {
  const used = new Set(gpu_time.map((row) => `${row.rank} ${row.device}`)).size;
  if (used === 0) return "";
  const device = inputs[0]?.devices[0];
  return `${used} x ${device?.model ?? device?.name ?? "GPU"}`;
}
