// Where the timeline shows what a finding is about.
import type { ReportTables } from "../api/report_tables";

export interface FindingEvents {
  find: string; // A part of the names of the spans.
  title: string;
}

type Known = Pick<ReportTables, "kernels" | "idle">;

const ofAll = (find: string): FindingEvents => ({ find, title: "Its events in the timeline" });

const ofGpuTasks = (report: Known, find: string): FindingEvents | null =>
  report.kernels.some((kernel) => kernel.name.toLowerCase().includes(find.toLowerCase())) ? ofAll(find) : null;

/** The kernels of a class: by a text that most of them have, or else the one that takes most of the time. */
function ofClass(report: Known, name: string, find?: string): FindingEvents | null {
  const kernels = report.kernels.filter((kernel) => kernel.class === name);
  const first = kernels[0];
  if (first === undefined) return null;
  if (find !== undefined && kernels.some((kernel) => kernel.name.toLowerCase().includes(find))) return ofAll(find);
  const longest = kernels.reduce(
    (most, kernel) => ((kernel.total_us ?? 0) > (most.total_us ?? 0) ? kernel : most),
    first,
  );
  return { find: longest.name, title: "The longest of its kernels in the timeline" };
}

/** By the finding's id; null: the trace has none of them. */
const EVENTS: Record<string, (report: Known) => FindingEvents | null> = {
  "late-launches": ({ idle }) =>
    idle.some((row) => (row.host_wait_ms ?? 0) > 0) ? ofAll("idle: launched too late") : null,
  "gaps-between-kernels": ({ idle }) =>
    idle.some((row) => (row.kernel_wait_ms ?? 0) > 0) ? ofAll("idle: waits for other GPU work") : null,
  "data-wait": () => ofAll("DataLoader"),
  "exposed-communication": (report) => ofClass(report, "communication", "nccl"),
  "exposed-copies": (report) => ofGpuTasks(report, "Memcpy HtoD"),
  "exposed-copies-to-host": (report) => ofGpuTasks(report, "Memcpy DtoH"),
  "costly-syncs": () => ofAll("Synchronize"),
  "stalled-copy": () => ofAll("Memcpy"),
  "unfused-optimizer": () => ofAll("Optimizer.step"),
  "idle-tensor-cores": (report) => ofClass(report, "matmul", "gemm") ?? ofClass(report, "convolution"),
  "unfused-elementwise": (report) => ofClass(report, "elementwise", "elementwise"),
  "device-copies": (report) => ofClass(report, "copy"),
};

/** What to search for; null: no name tells these events, or the trace has none. */
export const eventsOf = (findingId: string, report: Known): FindingEvents | null => EVENTS[findingId]?.(report) ?? null;
