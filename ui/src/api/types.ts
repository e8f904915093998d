// The parts of headroom.report/1, headroom.whatif/1 and headroom.scenarios/1 that the page uses (docs/schema/). Times
// are in the unit of their key; null: unknown.
import type { JobRanks } from "./ranks";
import type { ReportTables } from "./report_tables";

export interface Interval {
  low: number;
  mid: number;
  high: number;
}

export interface Finding {
  id: string;
  title: string;
  share_pct: number | null;
  saves_ms: Interval | null;
  saves_note: string | null;
  evidence: string[];
  action: string;
  rank?: number | null; // Only in a report of several ranks.
  check: string;
  whatif: string | null;
  scenario: string | null;
}

export interface StepParts {
  data_wait_ms: number;
  host_to_device_ms: number;
  forward_ms: number;
  backward_ms: number;
  optimizer_ms: number;
  communication_ms: number;
  callback_ms: number;
  other_ms: number;
}

export interface StepBreakdown extends StepParts {
  rank?: number | null; // Only if the job has several ranks.
  gpu: StepParts;
  wall_ms: number;
}

export interface HealthIssue {
  code: string;
  severity: "info" | "warning" | "error";
  count: number;
  detail: string;
  voids: string[];
  rank?: number | null; // Only if the job has several ranks.
}

/** Complete steps of one kind. */
export interface StepKind {
  kind: string | null;
  count: number;
  share_pct: number;
  mean_ms: number;
  tokens: number | null;
  tokens_per_s: number | null;
}

export interface RunPart {
  name: string;
  time_ms: number;
  share_pct: number;
  count: number;
  longest: string | null;
}

/** A change to make. */
export interface Action {
  finding: string; // id of the finding.
  title: string;
  saves_ms: Interval | null;
  upper_bound: boolean;
  speedup: number | null;
  scenario: string | null;
  command: string;
}

/** The figures of the first screen. */
export interface Summary {
  step_ms: Interval | null; // Without the profiler; without steps, of the recording.
  recorded_ms: number | null;
  gpu_busy_ms: number | null;
  samples_per_s: number | null;
  tokens_per_s: number | null;
  peak_memory_bytes: number | null;
  parts_of: "step" | "gpu_time";
  parts: { name: string; share_pct: number; busy_pct: number }[];
  actions: Action[];
  no_action: string | null;
  note: string | null;
  rank: number | null; // The slowest of several ranks, whose figures these are.
  rank_note: string | null; // "rank 3, the slowest of 8".
}

export interface Report extends ReportTables {
  schema: string;
  inputs: {
    path: string;
    events: number;
    rank: number | null;
    world_size: number | null;
    devices: { id: number; name: string | null; model: string | null; memory_bytes: number | null }[];
  }[];
  health: { grade: string; issues: HealthIssue[] };
  steps: {
    source: string;
    count: number;
    p50_ms: number | null;
    mean_ms: number | null;
    min_ms: number | null;
    max_ms: number | null;
    step_time_ms: number | null;
    corrected_step_ms: { low: number; mid: number; high: number } | null;
    /** The main kind first; empty or missing: there is only one kind. */
    kinds?: StepKind[];
    list: { index: number }[];
  };
  /** Time of the recording by part; the main kind of steps first. */
  run?: { wall_ms: number; parts: RunPart[] } | null;
  /** Time that the breakdown covers in a recording without steps. */
  stretch?: { wall_ms: number } | null;
  step_breakdown: StepBreakdown | null;
  summary: Summary;
  bottleneck: {
    verdict: string;
    sentence: string;
    share_pct: number | null;
    confidence: string | null;
    confidence_reason: string | null;
    evidence: string[];
  };
  /** Steps that forecasts of findings replay; null: none. */
  engine_window: { first_step: number; last_step: number; steps: number } | null;
  findings: Finding[];
  throughput?: { batch_size: number | null } | null;
  job_ranks?: JobRanks | null;
}

/** A row of headroom.traces/1. */
export interface OpenTrace {
  trace: number;
  path: string;
  earlier: boolean; // True: the comparison goes from this trace to the job; false: from the job to it.
}

export interface BatchCurve {
  recorded_samples: number;
  knee_samples: number | null;
  points: {
    samples: number;
    step_ms: number;
    samples_per_s: number;
    memory_delta_bytes: number | null;
    too_large: boolean;
  }[];
}

export interface Forecast {
  name: string;
  step_ms: { low: number | null; mid: number | null; high: number | null };
  speedup: number | null;
  saves_ms: number | null;
  upper_bound: boolean; // A real change saves at most this.
  at_best: boolean; // The figures are the best case, not the expected one.
  memory_delta_bytes: number | null;
  applies: boolean;
  why: string;
  validated: boolean | "out of range";
  batch_curve?: BatchCurve | null; // Only for a change of the batch size.
}

export interface WhatIf {
  schema: string;
  why?: string | null;
  baseline: { corrected_step_ms: number | null; steps_note: string | null } | null;
  scenarios: Forecast[];
  abstaining?: { name: string; why: string }[]; // In a ranking: the scenarios that do not apply.
}

export interface ScenarioKey {
  name: string;
  kind: "factor" | "count" | "choice" | "regex";
  choices: string | null;
  otherwise: string | null;
}

export type ScenarioGroup = "usual" | "training" | "memory" | "many-gpus" | "research" | "bound";

export interface Scenario {
  name: string;
  title: string; // For people.
  group: ScenarioGroup;
  summary: string;
  ranked: boolean;
  keys: ScenarioKey[];
}
