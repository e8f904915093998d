// Metrics of the machine, grouped by subject.
import type { MetricRow } from "../api/report_tables";

const GROUPS: [string, RegExp][] = [
  ["GPU", /^gpu_/],
  ["Processor", /^(cpu_|tasks_|context_switches)/],
  ["System memory", /^(memory_|free_memory$)/],
  ["Disk", /^(disk_|io_)/],
  ["Network", /^(net_|rdma_)/],
  ["Processes of the job", /^process_/],
  ["Control group of the job", /^cgroup_/],
  ["Data loader", /^loader\./],
  ["Recorder", /^sampler_/],
];
const SETTING = /^setting\./;
const OTHER = "Counters of the program";

export interface MetricGroup {
  title: string;
  rows: MetricRow[];
}

/** Omits empty groups, and settings, which never change. */
export function groupsOf(metrics: MetricRow[]): MetricGroup[] {
  const titleOf = (name: string) => GROUPS.find(([, names]) => names.test(name))?.[0] ?? OTHER;
  const measured = metrics.filter((row) => !SETTING.test(row.name));
  return [...GROUPS.map(([title]) => title), OTHER]
    .map((title) => ({ title, rows: measured.filter((row) => titleOf(row.name) === title) }))
    .filter((group) => group.rows.length > 0);
}

/** Returns the metric to show first: a share that varies, else any that varies, else any. */
export function mostTelling(rows: MetricRow[]): string {
  const changing = rows.filter((row) => row.max > row.min);
  return (changing.find((row) => row.unit === "%") ?? changing[0] ?? rows[0])?.name ?? "";
}

const MEMORY = /memory|rss|oom|swap/;
const NOT_MEMORY = /^setting\.|_clock_|_util_/;

export const memoryMetrics = (metrics: MetricRow[]): MetricRow[] =>
  metrics.filter((row) => MEMORY.test(row.name) && !NOT_MEMORY.test(row.name));

/** Returns minimum, mean and maximum as shares of the full scale: 100 for a percentage, else the maximum. */
export function spreadOf(row: MetricRow): { from: number; mean: number; to: number } {
  const whole = row.unit === "%" && row.max <= 100 ? 100 : row.max;
  const share = (value: number) => (whole > 0 ? Math.min(1, Math.max(0, value / whole)) : 0);
  return { from: share(row.min), mean: share(row.mean), to: share(row.max) };
}
