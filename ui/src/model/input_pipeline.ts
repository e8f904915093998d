// The stages of a batch up to the step, if the report has them (docs/data.md).
import type { Loader } from "../api/loading";
import type { Report } from "../api/types";
import { formatCount, formatMs, formatNumber, formatPercent } from "../format";

/** One stage of a batch. */
export interface Station {
  name: string;
  value: string;
  meaning: string;
  waits: boolean; // The loop waits during this time.
}

const SETTING = "setting.loader.";

/** Returns the settings of a loader in words. */
export function settingsOf(loader: Loader): { title: string; value: string }[] {
  const count = (title: string, value: number | null) => (value === null ? [] : [{ title, value: formatCount(value) }]);
  const sayYes = (title: string, value: boolean) => [{ title, value: value ? "yes" : "no" }];
  return [
    ...count("Workers", loader.workers),
    ...count("Batches ahead per worker", loader.prefetch_factor),
    ...count("Batch size", loader.batch_size),
    ...count("Samples in the dataset", loader.dataset_size),
    ...sayYes("Pinned memory", loader.pin_memory),
    ...sayYes("Persistent workers", loader.persistent_workers),
    ...count("Logical CPUs", loader.cpus),
  ];
}

const metricOf = (report: Report, name: string) => report.metrics.find((row) => row.name === name);

/** Returns the capacity of the queue in batches; 0: no queue, or its settings were not recorded. */
export function roomOf(report: Report): number {
  const last = (name: string) => metricOf(report, `${SETTING}${name}`)?.last ?? 0;
  return last("workers") * last("prefetch_factor");
}

/** Returns the recorded stages in the order of a batch. */
export function stationsOf(report: Report): Station[] {
  const region = (key: string) => report.regions.find((row) => row.key === key);
  const timing = (name: string) => report.timings.find((row) => row.name === name);
  const workers = metricOf(report, `${SETTING}workers`)?.last;
  const stations: Station[] = [];
  const add = (name: string, value: string, meaning: string, waits = false) =>
    stations.push({ name, value, meaning, waits });

  const batch = region("loader.batch");
  if (batch !== undefined) {
    const idle = region("loader.index_wait")?.total_ms ?? 0;
    const rest = idle > 0 ? `, idle for ${formatPercent((100 * idle) / (idle + batch.total_ms))} of its time` : "";
    add("Preparing a batch", formatMs(batch.mean_ms), workers === 0 ? "by the loop itself" : `by a worker${rest}`);
  }
  const ready = metricOf(report, "loader.ready");
  if (ready !== undefined) {
    const room = roomOf(report);
    add(
      "Ready",
      `${formatNumber(ready.mean)}${room > 0 ? ` of ${formatCount(room)}` : ""}`,
      "batches in the queue, on average",
    );
  }
  const wait = timing("dataloader_next");
  if (wait !== undefined)
    add("The loop waits", formatMs(wait.mean_ms), `per step, ${formatPercent(wait.share_pct)} of its time`, true);
  const copy = timing("to_device");
  if (copy !== undefined) add("Copy to GPU", formatMs(copy.mean_ms), "per step, on the host");
  const train = timing("train_batch");
  if (train !== undefined) add("The rest of the step", formatMs(train.mean_ms), "per step, on the host");
  return stations;
}

/** Share of the loop's time from which it counts as waiting for data. XProf uses the same limit. */
const WAITS_PCT = 5;

/** Returns true if a loader or a copy of the input was recorded. */
const hasInput = ({ input_wait, timings, regions }: Report): boolean =>
  input_wait !== null ||
  timings.some((row) => row.name === "dataloader_next" || row.name === "to_device") ||
  regions.some((row) => row.key.startsWith("loader."));

/** Returns a sentence that judges the wait; null: it was not recorded. */
export function judgementOf(report: Report): { waits: boolean; text: string } | null {
  const breakdown = report.step_breakdown;
  if (breakdown === null || breakdown.wall_ms <= 0) return null;
  const lost = breakdown.data_wait_ms + breakdown.host_to_device_ms;
  const percent = (100 * lost) / breakdown.wall_ms;
  const cost = `${formatMs(lost)} of the mean step (${formatPercent(percent)})`;
  return percent >= WAITS_PCT
    ? { waits: true, text: `The input costs ${cost}: waits for batches, and copies that no GPU work hides.` }
    : lost === 0 && !hasInput(report)
      ? { waits: false, text: "The trace shows no data loader and no copy to the GPU that the step waits for." }
      : { waits: false, text: `The input costs ${cost}: nothing to gain here.` };
}

/** Returns the reason why there is no judgement. */
export const whyNoJudgement = (report: Pick<Report, "steps">): string =>
  report.steps.p50_ms === null
    ? "The cost of the input is unknown: the trace has no complete step."
    : "The cost of the input is unknown: splitting the step requires CPU and GPU activity of complete steps.";
