// Metrics of the machine by what they are of.
import type { MetricRow } from "../api/report_tables";

const GROUPS: [string, RegExp][] = [
  ["GPU", /^gpu_/],
  ["Processor", /^(cpu_|tasks_|context_switches)/],
  ["Memory of the machine", /^(memory_|free_memory$)/],
  ["Disk", /^(disk_|io_)/],
  ["Network", /^(net_|rdma_)/],
  ["The job's processes", /^process_/],
  ["Its control group", /^cgroup_/],
  ["Data loader", /^loader\./],
  ["Recording itself", /^sampler_/],
];
const SETTING = /^setting\./;
const OTHER = "Counters of the program";

export interface MetricGroup {
  title: string;
  rows: MetricRow[];
}

/** Without empty groups, and without settings: they do not change. */
export function groupsOf(metrics: MetricRow[]): MetricGroup[] {
  const titleOf = (name: string) => GROUPS.find(([, names]) => names.test(name))?.[0] ?? OTHER;
  const measured = metrics.filter((row) => !SETTING.test(row.name));
  return [...GROUPS.map(([title]) => title), OTHER]
    .map((title) => ({ title, rows: measured.filter((row) => titleOf(row.name) === title) }))
    .filter((group) => group.rows.length > 0);
}

/** The metric that is looked at first: a share that changes, else what changes, else any. */
export function mostTelling(rows: MetricRow[]): string {
  const changing = rows.filter((row) => row.max > row.min);
  return (changing.find((row) => row.unit === "%") ?? changing[0] ?? rows[0])?.name ?? "";
}

const MEMORY = /memory|rss|oom|swap/;
const NOT_MEMORY = /^setting\.|_clock_|_util_/;

export const memoryMetrics = (metrics: MetricRow[]): MetricRow[] =>
  metrics.filter((row) => MEMORY.test(row.name) && !NOT_MEMORY.test(row.name));

/** Least, mean and most as shares of the largest that makes sense: 100 of a percentage, else the most. */
export function spreadOf(row: MetricRow): { from: number; mean: number; to: number } {
  const whole = row.unit === "%" && row.max <= 100 ? 100 : row.max;
  const share = (value: number) => (whole > 0 ? Math.min(1, Math.max(0, value / whole)) : 0);
  return { from: share(row.min), mean: share(row.mean), to: share(row.max) };
}
