// The way of a batch to the step, as far as the report tells (docs/data.md).
import type { Report } from "../api/types";
import type { RegionRow } from "../api/report_tables";
import { formatCount, formatMs, formatNumber, formatPercent } from "../format";

/** One station of the way. */
export interface Station {
  name: string;
  value: string;
  meaning: string;
  waits: boolean; // Time that the loop waits here.
}

export interface Stage {
  name: string;
  meaning: string;
  count: number;
  ownMs: number;
  meanMs: number;
  p99Ms: number;
  sharePct: number;
}

const PARTS: Record<string, [string, string]> = {
  "loader.sample": ["sample, beside its stages", "dataset[i] without the stages below"],
  "loader.collate": ["collation", "samples become a batch"],
  "loader.batch": ["batch, the rest", "what a batch takes beside samples and collation"],
  "loader.send": ["handing over", "a batch is packed for the loop"],
  "loader.pin": ["pinning", "a batch is copied to pinned memory"],
};

/** What preparing batches is made of, with each part's own time; empty where the loader was not recorded. */
export function stagesOf(regions: RegionRow[]): Stage[] {
  const parts = regions.flatMap((row) => {
    if (row.key.startsWith("stage::")) return [{ row, name: row.key.slice("stage::".length), meaning: "a stage of a sample" }];
    const part = PARTS[row.key];
    return part === undefined ? [] : [{ row, name: part[0], meaning: part[1] }];
  });
  const all = parts.reduce((sum, { row }) => sum + row.self_ms, 0);
  return parts
    .map(({ row, name, meaning }) => ({
      name,
      meaning,
      count: row.count,
      ownMs: row.self_ms,
      meanMs: row.mean_ms,
      p99Ms: row.p99_ms,
      sharePct: all > 0 ? (100 * row.self_ms) / all : 0,
    }))
    .sort((a, b) => b.ownMs - a.ownMs);
}

const SETTING = "setting.loader.";
const SETTINGS: [string, string][] = [
  ["workers", "Workers"],
  ["prefetch_factor", "Batches ahead, a worker"],
  ["batch_size", "Batch size"],
  ["dataset_size", "Samples of the dataset"],
  ["pin_memory", "Pinned memory"],
  ["persistent_workers", "Workers stay"],
  ["cpus", "Logical CPUs"],
];
const SWITCHES = ["pin_memory", "persistent_workers"];

/** Settings of the loader that the recording holds. */
export function settingsOf(report: Report): { title: string; value: string }[] {
  return SETTINGS.flatMap(([key, title]) => {
    const row = report.metrics.find((metric) => metric.name === SETTING + key);
    if (row === undefined) return [];
    return [{ title, value: SWITCHES.includes(key) ? (row.last === 0 ? "no" : "yes") : formatCount(row.last) }];
  });
}

/** Those stations of the way that were recorded, in its order. */
export function stationsOf(report: Report): Station[] {
  const region = (key: string) => report.regions.find((row) => row.key === key);
  const timing = (name: string) => report.timings.find((row) => row.name === name);
  const metric = (name: string) => report.metrics.find((row) => row.name === name);
  const workers = metric(`${SETTING}workers`)?.last;
  const stations: Station[] = [];
  const add = (name: string, value: string, meaning: string, waits = false) => stations.push({ name, value, meaning, waits });

  const batch = region("loader.batch");
  if (batch !== undefined) {
    const idle = region("loader.index_wait")?.total_ms ?? 0;
    const rest = idle > 0 ? `, idle for ${formatPercent((100 * idle) / (idle + batch.total_ms))} of its time` : "";
    add("A batch is prepared", formatMs(batch.mean_ms), workers === 0 ? "by the loop itself" : `by a worker${rest}`);
  }
  const ready = metric("loader.ready");
  if (ready !== undefined) {
    const room = (workers ?? 0) * (metric(`${SETTING}prefetch_factor`)?.last ?? 0);
    add("Ready", `${formatNumber(ready.mean)}${room > 0 ? ` of ${formatCount(room)}` : ""}`, "batches in the queue, on average");
  }
  const wait = timing("dataloader_next");
  if (wait !== undefined) add("The loop waits", formatMs(wait.mean_ms), `a step, ${formatPercent(wait.share_pct)} of its time`, true);
  const copy = timing("to_device");
  if (copy !== undefined) add("Copy to GPU", formatMs(copy.mean_ms), "a step, on the host");
  const train = timing("train_batch");
  if (train !== undefined) add("Training", formatMs(train.mean_ms), "a step, on the host");
  return stations;
}

/** Share of the loop's time from which on it counts as waiting for data: XProf's line. */
const WAITS_PCT = 5;

/** What the wait means, in a sentence; null: it was not recorded. */
export function judgementOf(report: Report): { waits: boolean; text: string } | null {
  const breakdown = report.step_breakdown;
  if (breakdown === null || breakdown.wall_ms <= 0) return null;
  const lost = breakdown.data_wait_ms + breakdown.host_to_device_ms;
  const percent = (100 * lost) / breakdown.wall_ms;
  const cost = `${formatMs(lost)} of the median step (${formatPercent(percent)})`;
  return percent >= WAITS_PCT
    ? { waits: true, text: `The input costs ${cost}: waits for batches, and copies that nothing hides.` }
    : { waits: false, text: `The input costs ${cost}: nothing to gain here.` };
}
