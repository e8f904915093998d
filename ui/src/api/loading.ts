// The parts of headroom.data/1 that the page uses (docs/schema/data-1.json). Times are in the unit of their key; null:
// unknown.
import type { Interval } from "./types";

export interface LoadingStage {
  name: string | null; // null: not a stage of the program.
  kind: string;
  count: number;
  own_ms: number;
  cpu_ms: number | null;
  per_sample_us: number | null;
  share_pct: number;
}

export interface LoadingOutcome {
  step_ms: Interval;
  speedup: number;
  samples_per_s: number | null;
  wait_ms: number;
  busy_cpus: number;
  worker_use: number;
}

export interface LoadingOption extends LoadingOutcome {
  setting: string;
  memory_bytes: number | null;
  exceeds_memory: boolean;
  oversubscribed: boolean;
}

export interface Loader {
  workers: number;
  prefetch_factor: number | null; // null: no workers.
  batch_size: number | null;
  dataset_size: number | null;
  pin_memory: boolean;
  persistent_workers: boolean;
  cpus: number | null;
  batches: number;
  wait_ms: number;
}

export interface LoadingForecast {
  simulated_step_ms: number;
  correction: number;
  cores: number;
  ideal: LoadingOutcome;
  best: string;
  cheapest: string;
  asked: LoadingOption[];
  options: LoadingOption[];
}

/** Milliseconds, with their 95 % interval. */
export interface Probe {
  step_ms: Interval | null;
  loop_ms: Interval | null;
  loader_ms: Interval | null;
  again_ms: Interval | null;
  limit_ms: number | null;
  doubts: string[];
}

export interface Loading {
  schema: string;
  path: string;
  bound: string;
  loop: { step_ms: number; wait_ms: number };
  stages: LoadingStage[];
  loaders: Loader[]; // All other members describe the first loader; empty: the trace has only the loop.
  failures: string[];
  probe: Probe | null; // Result of `headroom record --probe-input`.
  forecast: LoadingForecast | null;
  no_forecast: string | null;
}
