// The parts of headroom.diff/1 that the page uses (docs/schema/diff-1.json). Times are in ms per step; null: unknown.
export interface Change {
  a: number;
  b: number;
  change: number;
  change_pct: number | null;
  low: number | null; // 95 % interval of the change.
  high: number | null;
  noise: boolean;
}

export interface DiffSide {
  baseline: string | null;
  paths: string[];
  steps: number;
  grade: string;
  verdict: string;
}

export interface AccountRow {
  part: string;
  label: string;
  is_operator: boolean;
  a_ms: number;
  b_ms: number;
  change_ms: number;
}

export interface ChangedRow {
  id: string | null;
  name: string;
  operator: string | null; // Only for kernels.
  state: "changed" | "new" | "gone";
  calls_a: number;
  calls_b: number;
  ms: Change;
  by_count_ms: number;
  by_time_ms: number;
}

export interface Diff {
  schema: string;
  a: DiffSide;
  b: DiffSide;
  sentence: string;
  noise: string;
  comparable: boolean;
  facts: {
    name: string;
    state: "same" | "different" | "unknown";
    a: string | null;
    b: string | null;
    blocks: boolean;
    cost: string | null;
  }[];
  step_ms: Change;
  corrected_step_ms: Change | null;
  changed: boolean;
  account: AccountRow[]; // Sums to step_ms.change.
  operators: ChangedRow[];
  kernels: ChangedRow[];
  layers: ChangedRow[];
  swaps: { operator: string; gone: string[]; new: string[]; gone_ms: number; new_ms: number }[];
}
