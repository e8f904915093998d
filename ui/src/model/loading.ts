// Requests for other settings of a loader, and the rows and curves of the answer (docs/data.md).
import type { Loader, Loading, LoadingForecast, LoadingOption, LoadingStage } from "../api/loading";
import { formatPercent } from "../format";
import type { ChartPoint } from "./charts/chart";
import type { Range } from "./charts/slider";
import { quoted } from "./command";

/** Settings of the controls, under their names in the address. null: as recorded. */
export interface LoadingSettings {
  loader: number; // Number of the loader, from 1, ordered by the loop's wait for it.
  workers: number | null;
  prefetch: number | null;
  cached: number; // Percent of the samples.
  stage: string; // Stage to speed up; empty: none.
  factor: number; // Speedup of the stage.
}

export const DEFAULTS: LoadingSettings = { loader: 1, workers: null, prefetch: null, cached: 0, stage: "", factor: 2 };

const MOST_WORKERS = 4096;
const MOST_FACTOR = 1e6;
const LEAST_FACTOR = 1e-3;

export const CACHED: Range = { least: 0, most: 100, log: false, whole: true };
export const PREFETCH: Range = { least: 1, most: 16, log: false, whole: true };
export const FACTOR: Range = { least: 1, most: 20, log: true, whole: false };

/** Includes twice the cores, the recorded number and the best one. */
export function workersRange(loader: Loader, forecast: LoadingForecast): Range {
  const most = Math.max(
    8,
    2 * forecast.cores,
    2 * loader.workers,
    ...forecast.options.map((option) => workersOf(option) ?? 0),
  );
  return { least: 0, most: Math.ceil(most), log: false, whole: true };
}

const within = (text: string | undefined, least: number, most: number): number | null => {
  const value = Number(text);
  return text !== undefined && text.trim() !== "" && value >= least && value <= most ? value : null;
};

const whole = (text: string | undefined, least: number, most: number): number | null => {
  const value = within(text, least, most);
  return value !== null && Number.isInteger(value) ? value : null;
};

/** Returns the settings in an address. Invalid values become defaults. */
export function settingsOf(query: Record<string, string>): LoadingSettings {
  return {
    loader: whole(query.loader, 1, 1e6) ?? DEFAULTS.loader,
    workers: whole(query.workers, 0, MOST_WORKERS),
    prefetch: whole(query.prefetch, 1, MOST_WORKERS),
    cached: within(query.cached, 0, 100) ?? DEFAULTS.cached,
    stage: query.stage ?? "",
    factor: within(query.factor, LEAST_FACTOR, MOST_FACTOR) ?? DEFAULTS.factor,
  };
}

/** Returns the settings that differ from the defaults, for the address. */
export function queryOf(settings: LoadingSettings): Record<string, string> {
  const text = <T>(value: T, usual: T) => (value === usual ? "" : String(value));
  return {
    loader: text(settings.loader, DEFAULTS.loader),
    workers: text(settings.workers, null),
    prefetch: text(settings.prefetch, null),
    cached: text(settings.cached, DEFAULTS.cached),
    stage: settings.stage,
    factor: text(settings.factor, DEFAULTS.factor),
  };
}

/** Returns the stages that a change can name. Names with a comma are excluded, because a comma separates changes. */
export const namableStages = (stages: LoadingStage[]): string[] =>
  stages.flatMap((stage) =>
    stage.kind === "stage" && stage.name !== null && !stage.name.includes(",") ? [stage.name] : [],
  );

/** Returns the change in the command's syntax; empty: all as recorded. */
export function changeOf(settings: LoadingSettings, loader: Loader): string {
  const parts: string[] = [];
  const workers = settings.workers ?? loader.workers;
  if (workers !== loader.workers) parts.push(`workers=${workers}`);
  // Prefetching requires workers.
  if (workers > 0 && settings.prefetch !== null && settings.prefetch !== loader.prefetch_factor)
    parts.push(`prefetch=${settings.prefetch}`);
  if (settings.cached > 0) parts.push(`cached=${settings.cached}%`);
  if (settings.stage !== "" && settings.factor !== 1) parts.push(`stage=${settings.stage}:${settings.factor}`);
  return parts.join(",");
}

/** @param change  result of changeOf(); empty: none */
export function pathOf(loader: number, change: string): string {
  const query = new URLSearchParams();
  if (loader !== 1) query.set("loader", String(loader));
  if (change !== "") query.set("change", change);
  const text = query.toString();
  return text === "" ? "data" : `data?${text}`;
}

/** Returns the equivalent command. */
export function commandOf(trace: string, loader: number, change: string): string {
  return [
    "headroom data",
    quoted(trace),
    ...(change === "" ? [] : [quoted(change)]),
    ...(loader === 1 ? [] : [`--loader ${loader}`]),
  ].join(" ");
}

/** Returns the workers of a setting that only sets workers and batches ahead; null: it changes more. */
function workersOf(option: LoadingOption): number | null {
  const match = /^workers=(\d+)(?:,prefetch=\d+)?$/.exec(option.setting);
  return match === null ? null : Number(match[1]);
}

/** Returns the recorded setting in the syntax of the search. */
export const recordedSetting = (loader: Loader): string =>
  loader.workers === 0 ? "workers=0" : `workers=${loader.workers},prefetch=${loader.prefetch_factor}`;

export interface OptionRow extends LoadingOption {
  asked: boolean;
  notes: string[];
}

/** Returns the requested setting first, then the tried ones. */
export function rowsOf(forecast: LoadingForecast, loader: Loader): OptionRow[] {
  const row = (option: LoadingOption, asked: boolean): OptionRow => {
    const said: [boolean, string][] = [
      [asked, "requested"],
      [!asked && option.setting === recordedSetting(loader), "as recorded"],
      [!asked && option.setting === forecast.cheapest, "enough"],
      [!asked && option.setting === forecast.best, "best"],
      [option.oversubscribed, "oversubscribed"],
      [option.exceeds_memory, "too much memory"],
    ];
    return { ...option, asked, notes: said.flatMap(([holds, note]) => (holds ? [note] : [])) };
  };
  return [
    ...forecast.asked.map((option) => row(option, true)),
    ...forecast.options.map((option) => row(option, false)),
  ];
}

export interface WorkersCurve {
  inSamples: boolean; // Unit: samples; else multiples of the recorded speed.
  line: ChartPoint[]; // The best setting for each number of workers.
  recorded: ChartPoint[];
  enough: ChartPoint[];
  asked: ChartPoint[];
}

/** Returns the throughput over the number of workers. Its band is the inverse of the band of the step time. */
export function curveOf(
  forecast: LoadingForecast,
  loader: Loader,
  asked: LoadingOption | null,
  workers: number,
): WorkersCurve {
  const inSamples = forecast.options.every((option) => option.samples_per_s !== null);
  const point = (option: LoadingOption, x: number): ChartPoint => {
    const { low, mid, high } = option.step_ms;
    const y = inSamples ? (option.samples_per_s ?? 0) : option.speedup;
    return { x, y, ...(low > 0 && high > 0 && { low: (y * mid) / high, high: (y * mid) / low }), name: option.setting };
  };
  const tried = forecast.options.flatMap((option) => {
    const x = workersOf(option);
    return x === null || option.exceeds_memory ? [] : [point(option, x)];
  });
  const best = new Map<number, ChartPoint>();
  for (const one of tried) {
    const before = best.get(one.x);
    if (before === undefined || one.y > before.y) best.set(one.x, one);
  }
  // A band around single points would look like a band around the line.
  const only = (setting: string) =>
    tried.filter((one) => one.name === setting).map(({ x, y, name }) => ({ x, y, name: name ?? "", radius: 6 }));
  return {
    inSamples,
    line: [...best.values()].sort((a, b) => a.x - b.x),
    recorded: only(recordedSetting(loader)),
    enough: only(forecast.cheapest),
    asked: asked === null ? [] : [{ x: workers, y: point(asked, workers).y, name: asked.setting, radius: 7 }],
  };
}

/** Ratio of recorded to simulated time beyond which the simulation misses a cause. */
const FAR_OFF = 1.25;

/** Returns the limits of the forecasts as sentences. */
export function doubtsOf(loading: Loading): string[] {
  const doubts: string[] = [];
  const { forecast } = loading;
  if (forecast !== null && Math.max(forecast.correction, 1 / forecast.correction) > FAR_OFF) {
    doubts.push(
      "The simulation of the recorded setting differs much from the recording. Other programs probably used these cores, and forecasts hold only under the same load. “System” shows the use of the machine.",
    );
  }
  if (forecast !== null && loading.loaders[0]?.workers === 0) {
    doubts.push(
      "The recorded loop prepares its batches itself, so the cost of sending a batch from a worker is a rough guess. Record with one worker to measure it.",
    );
  }
  return doubts;
}

const BOUNDS: Record<string, string> = {
  none: "Batches are ready when the loop needs them: another loader setting gains almost nothing.",
  fetch:
    "Preparing a batch is mostly waiting for files, a network or a lock: read less, closer or earlier; more workers help as long as the storage scales.",
  preparation:
    "Preparing a batch is mostly computing: more workers help while there are cores, then only a cheaper stage or a cache does.",
  cores:
    "Workers are ready but have no core: use fewer threads, more cores or a cheaper stage. More workers gain little or nothing.",
  throttled: "Workers are ready, but the control group's quota throttles them: use a larger quota or fewer threads.",
  transfer:
    "Copies to the device overlap no kernel. pin_memory=True and non_blocking=True hide them; smaller types on the host shorten them.",
  handover:
    "Batches are ready, but receiving them is slow: use fewer, larger tensors per batch, or pin in a separate thread.",
};

/** Limits that a cheaper stage would improve. */
const OF_STAGES = ["fetch", "preparation", "cores", "throttled"];

/** Returns what limits the loop, in sentences; empty: not recorded. */
export function boundOf(loading: Loading): string {
  const text = Object.hasOwn(BOUNDS, loading.bound) ? (BOUNDS[loading.bound] ?? "") : "";
  const [costliest] = loading.stages;
  if (costliest === undefined || !OF_STAGES.includes(loading.bound)) return text;
  return `${text} The most expensive stage is ${titleOf(costliest)}: ${formatPercent(costliest.share_pct)} of the preparation.`;
}

const PARTS: Record<string, string> = {
  sample: "the dataset itself",
  collate: "collation",
  batch: "rest of the batch",
  send: "serializing for the loop",
  pin: "pinning",
};

/** Returns the name of a stage of the program, or of another part of a batch. */
export const titleOf = (stage: LoadingStage): string => stage.name ?? PARTS[stage.kind] ?? stage.kind;

/** Returns the share of a stage's own time on a core, in percent. The rest is waiting for files, locks or a core. */
export const runningOf = (stage: LoadingStage): number | null =>
  stage.cpu_ms === null || stage.own_ms <= 0 ? null : Math.min(100, (100 * stage.cpu_ms) / stage.own_ms);
