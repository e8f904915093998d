// Slider ranges of scenario keys. The engine accepts other values too; users enter them in the field next to the
// slider.
import type { ScenarioKey } from "../../api/types";
import type { Range } from "./slider";

const RANGES: Record<string, Range> = {
  factor: { least: 0.1, most: 10, log: true, whole: false },
  "pcie-gbps": { least: 16, most: 1024, log: true, whole: true },
  "link-gbps": { least: 16, most: 7200, log: true, whole: true },
  "bandwidth-gbps": { least: 1, most: 3200, log: true, whole: true },
  "latency-us": { least: 1, most: 1000, log: true, whole: true },
  "bucket-mb": { least: 1, most: 400, log: true, whole: true },
  ratio: { least: 1, most: 1000, log: true, whole: true },
  sparsity: { least: 0, most: 1, log: false, whole: false },
  gpus: { least: 1, most: 1024, log: true, whole: true },
  "gpus-per-node": { least: 1, most: 16, log: false, whole: true },
  jobs: { least: 1, most: 16, log: false, whole: true },
  workers: { least: 0, most: 32, log: false, whole: true },
  every: { least: 1, most: 100, log: true, whole: true },
};

/** Largest batch on the slider, as a multiple of the recorded batch. The engine's curve ends there too. */
const TIMES_BATCH = 16;

/**
 * Returns null for keys without a slider, such as choices and regular expressions.
 *
 * @param batch  recorded samples per step; null: unknown
 */
export function rangeOf(key: ScenarioKey, batch: number | null): Range | null {
  if (key.kind !== "factor" && key.kind !== "count") return null;
  if (key.name === "n") return { least: 1, most: TIMES_BATCH * (batch ?? 16), log: true, whole: true };
  const known = RANGES[key.name];
  if (known !== undefined) return known;
  const usual = Number(key.otherwise ?? "1") || 1;
  return { least: usual / 10, most: usual * 10, log: true, whole: key.kind === "count" };
}
