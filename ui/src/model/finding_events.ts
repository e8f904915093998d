// Where the timeline shows what a finding is about.

/** Parts of names of the spans, by the finding's id. */
const NAMES: Record<string, string> = {
  "late-launches": "idle: launched too late",
  "gaps-between-kernels": "idle: waits for other GPU work",
  "data-wait": "DataLoader",
  "exposed-communication": "nccl",
  "exposed-copies": "Memcpy HtoD",
  "exposed-copies-to-host": "Memcpy DtoH",
  "costly-syncs": "Synchronize",
  "unfused-optimizer": "Optimizer.step",
  "idle-tensor-cores": "gemm",
  "unfused-elementwise": "elementwise",
  "device-copies": "Memcpy DtoD",
};

/** What to search for; null: no name tells these events. */
export const eventsOf = (findingId: string): string | null => NAMES[findingId] ?? null;
