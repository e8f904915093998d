// The tables of headroom.report/1 (docs/report.md). Times are in the unit of their key; null: unknown.

export interface TimedRow {
  name: string;
  rank: number | null;
  count: number;
  total_us: number | null;
  mean_us: number | null;
  p50_us: number | null;
  min_us: number | null;
  max_us: number | null;
  share_pct: number | null;
  flops: number | null;
  bytes: number | null;
  bound: string | null;
  roofline_pct: number | null;
}

export interface KernelRow extends TimedRow {
  class: string | null;
  tensor_cores: string | null;
  sm_active_pct: number | null;
  tensor_active_pct: number | null;
  dram_active_pct: number | null;
}

/** Gaps of a stream by the cause of the wait, regardless of work on other streams. */
export interface IdleRow {
  rank: number | null;
  device: number;
  stream: number;
  host_wait_ms: number | null;
  kernel_wait_ms: number | null;
  other_ms: number | null;
}

/** A row of operators or layers. */
export interface AttributedRow extends TimedRow {
  host_us: number | null;
  self_host_us: number | null;
  forward_us: number | null;
  backward_us: number | null;
  family?: string | null; // Only for operators.
}

export interface LineRow {
  location: string;
  rank: number | null;
  count: number;
  total_us: number;
  forward_us: number | null;
  backward_us: number | null;
  share_pct: number | null;
}

export interface RegionRow {
  key: string;
  rank: number | null;
  count: number;
  total_ms: number;
  self_ms: number;
  min_ms: number;
  mean_ms: number;
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
  gpu_ms: number | null;
}

export type MemoryKind =
  | "before_recording"
  | "optimizer_state"
  | "gradient"
  | "activation"
  | "input"
  | "temporary"
  | "other";

export interface MemoryHolder {
  operator: string | null;
  layer: string | null;
  line: string | null;
  kind: MemoryKind;
  bytes: number;
  allocations: number;
}

/** Memory that a framework allocated on one device; `device` null: on the host. */
export interface MemoryUse {
  rank: number | null;
  device: number | null;
  process?: string | null; // Set if several processes share the device.
  peak_bytes: number;
  peak_ms: number;
  peak_step: number | null;
  most_reserved_bytes: number | null;
  growth_bytes_per_step: number | null;
  parts: { kind: MemoryKind; bytes: number; allocations: number }[];
  holders: MemoryHolder[];
  steps: { index: number; start_ms: number; peak_bytes: number; end_bytes: number }[];
  curve: { ms: number[]; reserved_bytes: (number | null)[]; parts: { kind: MemoryKind; bytes: number[] }[] };
}

export interface TimingRow {
  name: string;
  rank: number | null;
  inside: string | null;
  count: number;
  total_ms: number;
  mean_ms: number;
  p50_ms: number;
  p99_ms: number;
  share_pct: number;
  gpu_ms: number | null;
  source: string;
}

export interface CallbackRow {
  event: string | null;
  callback: string;
  rank: number | null;
  count: number;
  total_ms: number;
  self_ms: number;
  share_pct: number | null;
}

export interface MetricRow {
  name: string;
  rank: number | null;
  unit: string | null;
  host: string | null;
  gpu: number | null;
  instance: string | null;
  mean: number;
  min: number;
  max: number;
  last: number;
  samples: number;
}

export interface GpuTimeRow {
  rank: number | null;
  device: number | null;
  busy_ms: number;
  memory_ms: number;
  exposed_memory_ms: number;
}

export interface EfficiencyFigures {
  device_name: string | null;
  peaks: { dtype: string; tflops: number }[];
  memory_bandwidth_gbs: number | null;
  math_dtype: string | null;
  mfu_pct: number | null;
  costed_pct: number | null;
  compute_bound_pct: number | null;
  memory_bound_pct: number | null;
}

export interface InputWait {
  host_ms: number;
  exposed_ms: number;
  hidden_ms: number;
  batches: number;
  source: string;
}

/** Samples of the stack of Python's main thread. */
export interface StackRow {
  stack: string; // Frames separated by ";", outermost first.
  rank: number | null;
  part: string; // "forward", "other", "outside steps", ...
  samples: number;
  total_ms: number;
  share_pct: number;
}

export interface ReportTables {
  gpu_time: GpuTimeRow[];
  idle: IdleRow[];
  classes: TimedRow[];
  kernels: KernelRow[];
  operators: AttributedRow[];
  layers: AttributedRow[];
  lines: LineRow[];
  stacks: StackRow[];
  regions: RegionRow[];
  timings: TimingRow[];
  callbacks: CallbackRow[];
  metrics: MetricRow[];
  memory: { devices: MemoryUse[] } | null;
  input_wait: InputWait | null;
  efficiency: EfficiencyFigures;
}
