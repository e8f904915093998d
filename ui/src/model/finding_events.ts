// Finds the events of a finding in the timeline.
import type { ReportTables } from "../api/report_tables";

export interface FindingEvents {
  find: string; // Part of the span names.
  title: string;
}

type Known = Pick<ReportTables, "kernels" | "idle">;

const ofAll = (find: string): FindingEvents => ({ find, title: "Its events in the timeline" });

const ofGpuTasks = (report: Known, find: string): FindingEvents | null =>
  report.kernels.some((kernel) => kernel.name.toLowerCase().includes(find.toLowerCase())) ? ofAll(find) : null;

/** Returns the kernels of a class: by a text that most names contain, else the kernel with the longest time. */
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

/** Events of each finding, by its id; null: the trace has no such events. */
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

/** Returns the text to search for; null: the trace has no such events, or no name identifies them. */
export const eventsOf = (findingId: string, report: Known): FindingEvents | null => EVENTS[findingId]?.(report) ?? null;
