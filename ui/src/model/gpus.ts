// Predictions for GPUs as rows of a table: sorted, filtered, and the best trade-offs.
import type { Gpu, PredictedGpu, Prediction, PriceOption } from "../api/forecasts";
import { formatMs, formatSpeedup } from "../format";

export interface GpuRow extends PredictedGpu {
  spec: Gpu | null;
  recorded: boolean;
  option: PriceOption | null; // The instance that the price is for.
  price: "listed" | "share" | "own"; // Listed for an instance, a GPU's share of a larger instance, or typed by the user.
}

export function rowsOf(prediction: Prediction, gpus: Gpu[]): GpuRow[] {
  const specs = new Map(gpus.map((gpu) => [gpu.gpu, gpu]));
  return prediction.targets.map((target) => ({
    ...target,
    spec: specs.get(target.gpu) ?? null,
    recorded: target.gpu === prediction.source_gpu,
    option: optionOf(target, prediction.options, specs),
    price: "listed",
  }));
}

/** Returns the cheapest option for this GPU. Instances and targets may use different names for a GPU. */
function optionOf(target: PredictedGpu, options: PriceOption[], specs: Map<string, Gpu>): PriceOption | null {
  if (target.money === null) return null;
  const names = [target.gpu, target.name, specs.get(target.gpu)?.name];
  const own = options.filter((option) => option.money === target.money && option.currency === target.currency);
  return own.find((option) => names.includes(option.gpu)) ?? own[0] ?? null;
}

/** The prices per hour of one GPU that the user typed, by GPU name; `error`: what is wrong with the text. */
export type OwnPrices = { prices: Map<string, number>; error: string };

/** Parses "H100=2.10, H200=3.5". */
export function ownPricesOf(text: string): OwnPrices {
  const prices = new Map<string, number>();
  for (const part of text.split(/[,;]/)) {
    if (part.trim() === "") continue;
    const [name = "", price = ""] = part.split("=").map((one) => one.trim());
    const value = Number(price);
    if (name === "" || price === "" || !(value > 0)) {
      const remedy = /^\d+$/.test(part.trim())
        ? "write GPU=PRICE with a decimal point, not a comma, as in H100=2.50"
        : "write GPU=PRICE";
      return { prices, error: `${part.trim()}: ${remedy}` };
    }
    prices.set(name.toUpperCase(), value);
  }
  return { prices, error: "" };
}

/** Returns names of own prices that no GPU has. */
export const unknownNames = ({ prices }: OwnPrices, gpus: Pick<Gpu, "gpu">[]): string[] => {
  const known = new Set(gpus.map(({ gpu }) => gpu.toUpperCase()));
  return [...prices.keys()].filter((name) => !known.has(name));
};

const MS_PER_HOUR = 3.6e6;

/**
 * Returns rows with the price of a run of `steps`.
 *
 * @param answered  number of steps that the prices of `rows` are for
 * @param gpusOfJob  number of GPUs of the whole job; an own price is for one
 * @param samples  samples per step of one GPU; null: unknown
 */
export function withPrices(
  rows: GpuRow[],
  { prices }: OwnPrices,
  steps: number,
  answered: number,
  gpusOfJob: number,
  samples: number | null,
): GpuRow[] {
  const currency = rows.find((row) => row.currency !== null)?.currency ?? null;
  return rows.map((row) => {
    const own = prices.get(row.gpu.toUpperCase());
    if (own === undefined && row.money === null && row.money_per_million_samples !== null && samples !== null)
      return { ...row, money: (row.money_per_million_samples * samples * steps * gpusOfJob) / 1e6, price: "share" };
    if (own === undefined) return { ...row, money: row.money === null ? null : (row.money * steps) / answered };
    const hours = (row.step_ms.mid * steps) / MS_PER_HOUR;
    return { ...row, money: hours * own * gpusOfJob, currency, option: null, price: "own" };
  });
}

export const SORT_KEYS = ["gpu", "step", "speedup", "memory", "money", "energy"] as const;
export type SortKey = (typeof SORT_KEYS)[number];

const VALUES: Record<SortKey, (row: GpuRow) => number | string | null> = {
  gpu: (row) => row.gpu.toLowerCase(),
  step: (row) => row.step_ms.mid,
  speedup: (row) => row.speedup,
  memory: (row) => row.gpu_memory_bytes,
  money: (row) => row.money,
  energy: (row) => row.energy_joules,
};

/** Unknown values come last in both orders. */
export function sorted(rows: GpuRow[], key: SortKey, descending: boolean): GpuRow[] {
  const value = VALUES[key];
  const sign = descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [one, other] = [value(a), value(b)];
    if (one === other) return 0;
    if (one === null) return 1;
    if (other === null) return -1;
    return (one < other ? -1 : 1) * sign;
  });
}

/** Parses "step", or "-step" for descending order. */
export function sortOf(text: string | undefined): { key: SortKey; descending: boolean } {
  const descending = text?.startsWith("-") ?? false;
  const key = SORT_KEYS.find((one) => one === text?.slice(descending ? 1 : 0));
  return key === undefined ? { key: "step", descending: false } : { key, descending };
}

export type Cost = "money" | "energy";

export function costOf(row: GpuRow, cost: Cost): number | null {
  return cost === "money" ? row.money : row.energy_joules;
}

/** Returns rows with a known cost in the most common currency, without rows whose memory is known to be too small. */
export function comparable(rows: GpuRow[], cost: Cost): GpuRow[] {
  const known = rows.filter((row) => costOf(row, cost) !== null && row.fits !== false);
  if (cost !== "money") return known;
  const counts = new Map<string, number>();
  for (const row of known) counts.set(row.currency ?? "", (counts.get(row.currency ?? "") ?? 0) + 1);
  const [most] = [...counts].sort((a, b) => b[1] - a[1]);
  return known.filter((row) => (row.currency ?? "") === most?.[0]);
}

/** Returns the rows that no other row beats in both step time and cost, fastest first. */
export function frontOf(rows: GpuRow[], cost: Cost): GpuRow[] {
  const front: GpuRow[] = [];
  let least = Infinity;
  const byStep = [...rows].sort(
    (a, b) => a.step_ms.mid - b.step_ms.mid || (costOf(a, cost) ?? 0) - (costOf(b, cost) ?? 0),
  );
  for (const row of byStep) {
    const value = costOf(row, cost) ?? Infinity;
    if (value >= least) continue;
    least = value;
    front.push(row);
  }
  return front;
}

/** Returns the reasons why predictions are extrapolated: each reason once, with its GPUs. */
export function doubtsOf(rows: GpuRow[]): { why: string; gpus: string[] }[] {
  const gpus = new Map<string, string[]>();
  for (const row of rows) {
    for (const why of (row.extrapolated_why ?? "").split("; ").filter((part) => part !== ""))
      gpus.set(why, [...(gpus.get(why) ?? []), row.gpu]);
  }
  return [...gpus].map(([why, names]) => ({ why, gpus: names }));
}

/** Returns the best row by a key, except GPUs whose memory is known to be too small; null: all values are unknown. */
export function bestOf(rows: GpuRow[], value: (row: GpuRow) => number | null): GpuRow | null {
  let best: GpuRow | null = null;
  for (const row of rows) {
    const own = value(row);
    const least = best === null ? null : value(best);
    if (row.fits !== false && own !== null && (least === null || own < least)) best = row;
  }
  return best;
}

/** Step times that differ less are equal: a host-bound job takes almost the same time on every GPU. */
const MAX_EQUAL_RATIO = 1.005;

/** Returns the fastest row; of equally fast ones the recorded, else the one with the lowest price. */
export function fastestOf(rows: GpuRow[]): GpuRow | null {
  const fastest = bestOf(rows, (row) => row.step_ms.mid);
  if (fastest === null) return null;
  const equal = rows.filter((row) => row.fits !== false && row.step_ms.mid <= MAX_EQUAL_RATIO * fastest.step_ms.mid);
  return equal.find((row) => row.recorded) ?? bestOf(comparable(equal, "money"), (row) => row.money) ?? fastest;
}

/** A smaller gain is not worth another GPU. */
const WORTH_A_GPU = 1.05;

/** Returns what other GPUs would gain, in one sentence. */
export function headlineOf(rows: GpuRow[], recorded: GpuRow | null): string {
  const best = fastestOf(rows);
  if (recorded === null || best === null) return `This job on ${rows.length === 1 ? "1 GPU" : `${rows.length} GPUs`}`;
  const speedup = best.speedup ?? 1;
  if (speedup >= WORTH_A_GPU)
    return `Fastest: ${best.gpu}${best.extrapolated ? " (extrapolated)" : ""}, ${formatSpeedup(speedup)} of ${recorded.gpu} (${formatMs(best.step_ms.mid)})`;
  return `No GPU here is more than 5 % faster${recorded.limited_by === "host" ? ": the host limits the job" : ""}`;
}
