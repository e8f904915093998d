// What the page uses of headroom.report/1, headroom.whatif/1 and headroom.scenarios/1 (docs/schema/). Times are in the
// unit of their key; null: not known.
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
  check: string;
  whatif: string | null;
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
  gpu: StepParts;
  wall_ms: number;
}

export interface HealthIssue {
  code: string;
  severity: "info" | "warning" | "error";
  count: number;
  detail: string;
  voids: string[];
}

/** The whole steps of a kind. */
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

export interface Report extends ReportTables {
  schema: string;
  inputs: {
    path: string;
    events: number;
    devices: { id: number; name: string | null; memory_bytes: number | null }[];
  }[];
  health: { grade: string; issues: HealthIssue[] };
  steps: {
    source: string;
    count: number;
    p50_ms: number | null;
    min_ms: number | null;
    max_ms: number | null;
    step_time_ms: number | null;
    corrected_step_ms: { low: number; mid: number; high: number } | null;
    /** The main one first; empty or missing: the kinds do not differ. */
    kinds?: StepKind[];
  };
  /** Where the time of the recording went; the main kind of steps first. */
  run?: { wall_ms: number; parts: RunPart[] } | null;
  /** Of a recording without steps: what the breakdown is of. */
  stretch?: { wall_ms: number } | null;
  step_breakdown: StepBreakdown | null;
  bottleneck: {
    verdict: string;
    share_pct: number | null;
    confidence: string | null;
    confidence_reason: string | null;
    evidence: string[];
  };
  /** What forecasts of findings replay; null: there are none. */
  engine_window: { first_step: number; last_step: number; steps: number } | null;
  findings: Finding[];
  throughput?: { batch_size: number | null } | null;
}

/** A row of headroom.traces/1. */
export interface OpenTrace {
  trace: number;
  path: string;
  earlier: boolean; // What changed is told from it to the job; else from the job to it.
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
  at_best: boolean; // The figures are the best case, not the likely one.
  memory_delta_bytes: number | null;
  applies: boolean;
  why: string;
  validated: boolean | "out of range";
  batch_curve?: BatchCurve | null; // Of a change of the batch size.
}

export interface WhatIf {
  schema: string;
  why?: string | null;
  baseline: { corrected_step_ms: number | null; steps_note: string | null } | null;
  scenarios: Forecast[];
  abstaining?: { name: string; why: string }[]; // Of a ranking: those that do not apply.
}

export interface ScenarioKey {
  name: string;
  kind: "factor" | "count" | "choice" | "regex";
  choices: string | null;
  otherwise: string | null;
}

export interface Scenario {
  name: string;
  summary: string;
  ranked: boolean;
  keys: ScenarioKey[];
}
