// The parts of headroom.predict/1, headroom.scale/1, headroom.gpus/1 and headroom.clusters/1 that the page uses
// (docs/schema/). Times are in the unit of their key; null: unknown.
import type { Interval } from "./types";

export interface PredictedGpu {
  gpu: string;
  name: string;
  step_ms: Interval;
  speedup: number | null;
  gpu_memory_bytes: number | null;
  energy_joules: number | null;
  energy_error_pct: number | null;
  energy_source: string | null;
  energy_joules_per_sample: number | null;
  money: number | null;
  money_per_million_samples: number | null;
  currency: string | null;
  memory_bytes: number | null;
  fits: boolean | null;
  limited_by: "host" | "gpu" | null;
  extrapolated: boolean;
  extrapolated_why: string | null;
  why: string;
}

export interface PriceOption {
  provider: string;
  instance: string;
  region: string;
  gpu: string;
  /** Number of GPUs in the instance. */
  gpus: number;
  /** Number of instances that hold all GPUs of the job. */
  instances: number;
  price_per_hour: number;
  currency: string;
  date: string;
  source: string;
  money: number;
}

/** Memory that a step allocates, from the shapes of its operators. */
export interface StepMemory {
  peak_bytes: number;
  reserved_bytes: number;
  parameters_bytes: number;
  gradients_bytes: number;
  optimizer_state_bytes: number;
  activations_bytes: number;
  temporaries_bytes: number;
  workspace_bytes: number;
  optimizer: string | null;
  samples: number | null;
  sharded: { zero_stage: number; ranks: number; peak_bytes: number }[];
  batch_sizes: { samples: number; peak_bytes: number; reserved_bytes: number }[];
}

export interface Prediction {
  schema: string;
  source_gpu: string | null;
  baseline: {
    step_ms: number;
    /** Number of GPUs of the whole job. */
    gpus: number;
    memory: StepMemory | null;
    no_memory: string | null;
    steps_note: string | null;
  } | null;
  targets: PredictedGpu[];
  abstained: { trace: string; why: string }[]; // Why the page's trace has no forecast.
  options: PriceOption[];
  prices: string | null;
  constants: string;
}

export interface Gpu {
  gpu: string;
  name: string;
  memory_bytes: number | null;
  recorded: boolean;
  current: boolean; // Commonly bought or rented today.
}

export interface Cluster {
  cluster: string;
  description: string;
  gpus_per_node: number;
  nodes_at_most: number | null;
}

export type ScalingLimit =
  | "gpu"
  | "host"
  | "loader"
  | "bandwidth"
  | "latency"
  | "straggler"
  | "pipeline"
  | "overlap"
  | "buckets";

export interface ScalePoint {
  cluster: string | null;
  gpus: number;
  nodes: number;
  step_ms: { low: number | null; mid: number | null; high: number | null };
  throughput_per_s: number | null;
  efficiency_pct: number | null;
  exposed_communication_ms: number | null;
  communication_ms: number | null;
  limited_by: ScalingLimit | null;
  why: string;
}

export interface Scaling {
  schema: string;
  baseline: {
    step_ms: { low: number | null; mid: number | null; high: number | null };
    recorded_gpus: number | null;
    recorded_network: string | null;
    samples_per_step: number | null;
    steps_note: string | null;
  };
  mode: "weak" | "strong";
  why: string | null;
  points: ScalePoint[];
}
