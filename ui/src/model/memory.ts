// What is known of a job's memory: what it is for, when it was held and by whom, how it grows with the batch, and who
// moves how much of it.
import type { StepMemory } from "../api/forecasts";
import type { AttributedRow, KernelRow, MemoryKind, MemoryUse } from "../api/report_tables";
import type { Report } from "../api/types";
import type { ChartSeries } from "./chart";

/** One purpose of memory, at the peak. */
export interface Purpose {
  key: string;
  title: string;
  meaning: string;
  color: string;
  bytes: number;
  share: number; // Of the peak, from 0 to 1.
}

const PURPOSES: Record<MemoryKind, { title: string; meaning: string; color: string }> = {
  before_recording: {
    title: "from before",
    meaning: "Allocated before the recording began: parameters, and what else the program holds.",
    color: "--dim",
  },
  optimizer_state: {
    title: "optimizer state",
    meaning: "What the update keeps for each parameter.",
    color: "--series-4",
  },
  gradient: { title: "gradients", meaning: "Made in backward and kept for the update.", color: "--series-2" },
  activation: {
    title: "activations",
    meaning: "Kept from forward for the backward; it grows with the batch.",
    color: "--series-1",
  },
  input: { title: "inputs", meaning: "Copies of the host's data.", color: "--series-5" },
  temporary: {
    title: "temporary",
    meaning: "Freed again in the pass that made it; grows with the batch.",
    color: "--series-3",
  },
  other: { title: "other", meaning: "Kept longer, or made outside of the passes.", color: "--series-6" },
};

export const titleOfKind = (kind: MemoryKind): string => PURPOSES[kind].title;

/** By the trace's memory records, the largest first. */
export const recordedPurposes = (use: MemoryUse): Purpose[] =>
  use.parts.map(({ kind, bytes }) => ({
    key: kind,
    ...PURPOSES[kind],
    bytes,
    share: bytes / Math.max(1, use.peak_bytes),
  }));

/** By the shapes of the step's operators, the largest first; those of nothing left out. */
export function modelledPurposes(memory: StepMemory): Purpose[] {
  const optimizer =
    memory.optimizer === null ? PURPOSES.optimizer_state.meaning : `What ${memory.optimizer} keeps for each parameter.`;
  const purposes: [string, string, string, string, number][] = [
    ["parameters", "parameters", "The model's weights.", "--dim", memory.parameters_bytes],
    [
      "gradients",
      "gradients",
      "Of parameters, as far as they are there at that moment.",
      "--series-2",
      memory.gradients_bytes,
    ],
    ["optimizer", "optimizer state", optimizer, "--series-4", memory.optimizer_state_bytes],
    ["activations", "activations", PURPOSES.activation.meaning, "--series-1", memory.activations_bytes],
    ["temporaries", "other tensors", "In use at that moment, and gone soon.", "--series-3", memory.temporaries_bytes],
    [
      "workspace",
      "workspaces",
      "Of the libraries for matrix products and convolutions.",
      "--series-5",
      memory.workspace_bytes,
    ],
  ];
  return purposes
    .filter(([, , , , bytes]) => bytes > 0)
    .map(([key, title, meaning, color, bytes]) => ({
      key,
      title,
      meaning,
      color,
      bytes,
      share: bytes / Math.max(1, memory.peak_bytes),
    }))
    .sort((a, b) => b.bytes - a.bytes);
}

/** Over time: a stack of what it is for, and what was taken from the driver above it. */
export function curveOf(use: MemoryUse): ChartSeries[] {
  const { ms, reserved_bytes, parts } = use.curve;
  const series: ChartSeries[] = parts.map(({ kind, bytes }) => ({
    label: PURPOSES[kind].title,
    kind: "area",
    color: PURPOSES[kind].color,
    points: ms.map((x, index) => ({ x, y: bytes[index] ?? 0 })),
  }));
  const reserved = reserved_bytes.flatMap((y, index) => (y === null || y <= 0 ? [] : [{ x: ms[index] ?? 0, y }]));
  if (reserved.length > 0)
    series.push({ label: "taken from the driver", color: "--text", dashed: true, points: reserved });
  return series;
}

/** Against the batch, with the GPU's own memory where it is near enough to be seen beside them. */
export function batchSeriesOf(memory: StepMemory, gpuBytes: number | null): ChartSeries[] {
  const line = (
    label: string,
    color: string,
    bytes: (row: StepMemory["batch_sizes"][number]) => number,
  ): ChartSeries => ({
    label,
    color,
    points: memory.batch_sizes.map((row) => ({ x: row.samples, y: bytes(row) })),
  });
  const series = [
    line("allocated", "--series-1", (row) => row.peak_bytes),
    line("taken from the driver", "--series-3", (row) => row.reserved_bytes),
  ];
  const most = Math.max(...memory.batch_sizes.map((row) => row.reserved_bytes));
  const NEAR = 2;
  if (gpuBytes !== null && gpuBytes <= NEAR * most)
    series.push({ ...line("all of the GPU's", "--text", () => gpuBytes), dashed: true });
  return series;
}

/** Copies and sets, the longest first. */
export const copiesOf = (kernels: KernelRow[]): KernelRow[] =>
  kernels.filter((row) => row.class === "memcpy" || row.class === "memset");

export interface Mover {
  name: string;
  rank: number | null;
  bytes: number;
  totalUs: number;
  bytesPerS: number;
  peakPct: number | null; // Of the bandwidth of the device.
}

/** Operators by the traffic that their shapes ask for. */
export function moversOf(operators: AttributedRow[], bandwidthGbs: number | null): Mover[] {
  return operators.flatMap((row) => {
    if (row.bytes === null || row.bytes === 0 || row.total_us === null || row.total_us <= 0) return [];
    const bytesPerS = row.bytes / (row.total_us / 1e6);
    const peakPct = bandwidthGbs === null ? null : (100 * bytesPerS) / (bandwidthGbs * 1e9);
    return [{ name: row.name, rank: row.rank, bytes: row.bytes, totalUs: row.total_us, bytesPerS, peakPct }];
  });
}

/** The GPU that worked, first of several; with no GPU work, the only one there is. Undefined: not known. */
export function workingGpu(
  report: Pick<Report, "inputs" | "gpu_time">,
): Report["inputs"][number]["devices"][number] | undefined {
  const devices = report.inputs[0]?.devices ?? [];
  const [row] = report.gpu_time;
  if (row === undefined || row.device === null) return devices.length === 1 ? devices[0] : undefined;
  return devices.find((device) => device.id === row.device);
}

/** "GPU 0 of rank 3, process 1234". */
export function nameOf(use: Pick<MemoryUse, "device" | "rank" | "process">): string {
  const device = use.device === null ? "Host" : `GPU ${use.device}`;
  return `${device}${use.rank === null ? "" : ` of rank ${use.rank}`}${use.process == null ? "" : `, process ${use.process}`}`;
}
