// Metrics of the machine, grouped by subject.
import type { MetricRow } from "../api/report_tables";
import { formatBytes, formatNumber, formatPercent } from "../format";

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

/** Returns the mean of a metric over its rows; null: not recorded. */
function meanOf(metrics: MetricRow[], name: string): number | null {
  const rows = metrics.filter((row) => row.name === name);
  return rows.length === 0 ? null : rows.reduce((sum, row) => sum + row.mean, 0) / rows.length;
}

/** Says how busy the machine was: "CPU 42.0 % busy, GPU 63.1 %, 12.3 of 64.0 GB of memory in use". */
export function machineHeadline(metrics: MetricRow[]): string {
  const cpu = meanOf(metrics, "cpu_util_simple");
  const gpu = meanOf(metrics, "gpu_util");
  const [free, total] = [meanOf(metrics, "free_memory"), meanOf(metrics, "memory_total_bytes")];
  const power = meanOf(metrics, "gpu_power_w");
  const parts = [
    cpu === null ? "" : `CPU ${formatPercent(cpu)} busy`,
    gpu === null ? "" : `GPU ${formatPercent(gpu)} busy`,
    power === null ? "" : `${formatNumber(power)} W per GPU`,
    free === null || total === null ? "" : `${formatBytes(total - free)} of ${formatBytes(total)} of memory in use`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "The host's time by part of the loop" : `${parts.join(", ")}, on average`;
}
