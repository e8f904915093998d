// Requests about more GPUs, and the curves of the answer.
import type { ScalePoint, Scaling, ScalingLimit } from "../api/forecasts";
import type { ChartPoint } from "./charts/chart";
import { quoted } from "./command";

/** Settings of the controls, under their names in the address. */
export interface ScaleSettings {
  cluster: string; // Empty: the bandwidth and GPUs per machine below.
  gbps: number;
  perNode: number;
  most: number; // Largest number of GPUs.
  strong: boolean;
  schedule: string;
  changes: string; // Scenarios applied first; empty: none.
}

export const DEFAULTS: ScaleSettings = {
  cluster: "",
  gbps: 100,
  perNode: 1,
  most: 64,
  strong: false,
  schedule: "ddp",
  changes: "",
};

export const LEAST_GBPS = 1;
export const MOST_GBPS = 3200;
export const PER_NODE = [1, 2, 4, 8];
export const MOST_GPUS = [8, 64, 512, 4096];
export const SCHEDULES: [string, string][] = [
  ["ddp", "all-reduce in buckets (DDP)"],
  ["per-tensor", "all-reduce of each gradient"],
  ["zero-1", "sharded optimizer (ZeRO-1)"],
  ["zero-2", "sharded optimizer and gradients (ZeRO-2)"],
  ["zero-3", "sharded optimizer, gradients and parameters (ZeRO-3, FSDP)"],
  ["p3", "slices by priority (P3)"],
  ["blueconnect", "rings inside and between machines (BlueConnect)"],
  ["parameter-server", "parameter servers"],
];

/** Returns the settings in an address. Invalid values become defaults. */
export function settingsOf(query: Record<string, string>): ScaleSettings {
  const among = (text: string | undefined, known: number[], otherwise: number) =>
    known.find((one) => String(one) === text) ?? otherwise;
  const gbps = Number(query.gbps);
  return {
    cluster: query.cluster ?? "",
    gbps: gbps >= LEAST_GBPS && gbps <= MOST_GBPS ? gbps : DEFAULTS.gbps,
    perNode: among(query.node, PER_NODE, DEFAULTS.perNode),
    most: among(query.most, MOST_GPUS, DEFAULTS.most),
    strong: query.strong === "1",
    schedule: SCHEDULES.find(([name]) => name === query.schedule)?.[0] ?? DEFAULTS.schedule,
    changes: query.with === "1" ? (query.scenario ?? "") : "",
  };
}

/** Returns the settings that differ from the defaults, for the address. */
export function queryOf(settings: ScaleSettings): Record<string, string> {
  const text = <T>(value: T, usual: T) => (value === usual ? "" : String(value));
  return {
    cluster: settings.cluster,
    gbps: text(settings.gbps, DEFAULTS.gbps),
    node: text(settings.perNode, DEFAULTS.perNode),
    most: text(settings.most, DEFAULTS.most),
    strong: settings.strong ? "1" : "",
    schedule: text(settings.schedule, DEFAULTS.schedule),
    with: settings.changes === "" ? "" : "1",
  };
}

/** Returns the powers of two from 1 to at most `most`. */
export function gpusUpTo(most: number): number[] {
  const counts: number[] = [];
  for (let gpus = 1; gpus <= most; gpus *= 2) counts.push(gpus);
  return counts;
}

/** @param room  number of GPUs in the cluster; null: no limit */
export function pathOf(settings: ScaleSettings, room: number | null): string {
  const query = new URLSearchParams({ gpus: gpusUpTo(Math.min(settings.most, room ?? Infinity)).join(",") });
  if (settings.cluster !== "") {
    query.set("cluster", settings.cluster);
  } else {
    query.set("bandwidth-gbps", String(settings.gbps));
    query.set("gpus-per-node", String(settings.perNode));
  }
  if (settings.strong) query.set("strong", "1");
  if (settings.schedule !== DEFAULTS.schedule) query.set("schedule", settings.schedule);
  if (settings.changes !== "") query.set("with", settings.changes);
  return `scale?${query.toString()}`;
}

/** Returns the equivalent command. */
export function commandOf(settings: ScaleSettings, room: number | null, trace: string): string {
  const parts = ["headroom scale", quoted(trace)];
  parts.push(`--gpus ${gpusUpTo(Math.min(settings.most, room ?? Infinity)).join(",")}`);
  if (settings.cluster !== "") parts.push(`--cluster ${quoted(settings.cluster)}`);
  else parts.push(`--bandwidth-gbps ${settings.gbps} --gpus-per-node ${settings.perNode}`);
  if (settings.strong) parts.push("--strong");
  if (settings.schedule !== DEFAULTS.schedule) parts.push(`--schedule ${quoted(settings.schedule)}`);
  if (settings.changes !== "") parts.push(`--with ${quoted(settings.changes)}`);
  return parts.join(" ");
}

/** Returns the points with a forecast. */
export function toldOf(points: ScalePoint[]): ScalePoint[] {
  return points.filter((point) => point.step_ms.mid !== null && point.efficiency_pct !== null);
}

/** Adds the band of the throughput: the inverse of the band of the step time. */
function banded(point: ScalePoint, y: number): ChartPoint {
  const { low, mid, high } = point.step_ms;
  const known = low !== null && mid !== null && high !== null && low > 0 && high > 0;
  return { x: point.gpus, y, ...(known && { low: (y * mid) / high, high: (y * mid) / low }) };
}

export function efficiencyPoints(points: ScalePoint[]): ChartPoint[] {
  return toldOf(points).map((point) => banded(point, point.efficiency_pct ?? 0));
}

/** Returns samples per second; if the trace has no samples per step, multiples of the throughput of one GPU. */
export function throughputPoints(points: ScalePoint[]): {
  points: ChartPoint[];
  ideal: ChartPoint[];
  inSamples: boolean;
} {
  const told = toldOf(points);
  const inSamples = told.every((point) => point.throughput_per_s !== null);
  const done = (point: ScalePoint) =>
    inSamples ? (point.throughput_per_s ?? 0) : (point.gpus * (point.efficiency_pct ?? 0)) / 100;
  const first = told[0];
  const one =
    first === undefined || first.efficiency_pct === null || first.efficiency_pct <= 0
      ? 0
      : done(first) / first.gpus / (first.efficiency_pct / 100);
  return {
    points: told.map((point) => banded(point, done(point))),
    ideal: told.map((point) => ({ x: point.gpus, y: one * point.gpus })),
    inSamples,
  };
}

export const LIMITS: Record<ScalingLimit, string> = {
  gpu: "each GPU's own work",
  host: "the host, which launches the kernels",
  loader: "the data loader",
  bandwidth: "the bytes over the slowest link",
  latency: "the number of messages, regardless of size",
  straggler: "waiting for the slowest rank",
  pipeline: "waits between pipeline stages",
  overlap: "computation that collectives slow down",
  buckets: "copies of gradients into buckets and back",
};

export interface Verdict {
  at: ScalePoint; // Point with the most GPUs.
  since: number | null; // Number of GPUs from which that limit holds; null: from one.
}

/** Returns the limit at the largest number of GPUs; null: no forecast. */
export function verdictOf(scaling: Scaling): Verdict | null {
  const told = toldOf(scaling.points);
  const at = told[told.length - 1];
  if (at === undefined) return null;
  let since: ScalePoint = at;
  for (const point of [...told].reverse()) {
    if (point.limited_by !== at.limited_by) break;
    since = point;
  }
  return { at, since: since === told[0] ? null : since.gpus };
}
