// The parts of `job_ranks` of headroom.report/1, and of headroom.rank-step/1, that the page uses.

export interface RankWaits {
  rank: number;
  waited_ms: number | null;
  caused_ms: number | null;
  last_count: number | null;
  culprit_steps: number | null;
  computing_ms: number | null;
  work: number | null;
}

export interface RankPair {
  rank: number;
  waited_for: number;
  waited_ms: number;
  collectives: number;
}

/** A step of one rank. */
export interface StepOfRank {
  rank: number;
  step: number;
  wall_ms: number;
  computing_ms: number;
  communication_ms: number;
  waited_ms: number | null;
  caused_ms: number | null;
}

export interface RankClock {
  rank: number;
  host: string | null;
  aligned: boolean;
  offset_ms: number | null;
  uncertainty_us: number | null;
}

/** Collectives of one kind, group and size. */
export interface CollectiveRow {
  kind: string;
  group: string | null;
  axis: string | null;
  bytes: number | null;
  count: number;
  ranks: number;
  members: number;
  wait_us: number;
  transfer_us: number;
  exposed_us: number;
  hidden_us: number;
  algorithm_gbs: number | null;
  bus_gbs: number | null;
}

export interface PipelineStage {
  ranks: number[];
  step_ms: number;
  computing_ms: number;
  bubble_ms: number;
  idle_ms: number;
}

export interface JobRanks {
  sentence: string;
  straggler: { ranks: number[]; lost_ms: number; uncertainty_us: number };
  waits: RankWaits[];
  pairs: RankPair[];
  steps: StepOfRank[];
  clocks: RankClock[];
  work: { measure: "flops" | "input_bytes" | null };
  groups: { group: string | null; axis_from: "recorded" | "inferred" | null }[];
  collectives: CollectiveRow[];
  matched: number;
  other_kinds: number;
  pipeline: { sentence: string; stages: PipelineStage[] } | null;
}

export interface RankCollective {
  kind: string;
  group: string | null;
  start_ns: number;
  last_arrival_ns: number | null;
  end_ns: number;
  bytes: number | null;
  neighbours: boolean;
}

/** A rank's part of a step, on the clock of all ranks. */
export interface RankTimes {
  rank: number;
  aligned: boolean;
  start_ns: number;
  end_ns: number;
  computing: number[]; // Starts and ends in turn.
  collectives: RankCollective[];
}

export interface RankStep {
  step: number;
  ranks: RankTimes[];
}
