// Memory of a job: its purposes, its holders over time, its growth with the batch, and the traffic of operators.
import type { StepMemory } from "../api/forecasts";
import type { AttributedRow, KernelRow, MemoryKind, MemoryUse } from "../api/report_tables";
import type { Report } from "../api/types";
import { formatBytes, formatPercent } from "../format";
import type { ChartSeries } from "./charts/chart";

/** One purpose of memory at the peak. */
export interface Purpose {
  key: string;
  title: string;
  meaning: string;
  color: string;
  bytes: number;
  share: number; // Share of the peak, from 0 to 1.
}

const PURPOSES: Record<MemoryKind, { title: string; meaning: string; color: string }> = {
  before_recording: {
    title: "from before",
    meaning: "Allocated before the recording began: parameters and other data of the program.",
    color: "--dim",
  },
  optimizer_state: {
    title: "optimizer state",
    meaning: "State that the optimizer keeps for each parameter.",
    color: "--series-4",
  },
  gradient: { title: "gradients", meaning: "Computed in backward and kept for the update.", color: "--series-2" },
  activation: {
    title: "activations",
    meaning: "Kept from forward for backward; grows with the batch.",
    color: "--series-1",
  },
  input: { title: "inputs", meaning: "Copies of the host's data.", color: "--series-5" },
  temporary: {
    title: "temporary",
    meaning: "Freed in the pass that allocated it; grows with the batch.",
    color: "--series-3",
  },
  other: { title: "other", meaning: "Kept longer, or allocated outside the passes.", color: "--series-6" },
};

export const titleOfKind = (kind: MemoryKind): string => PURPOSES[kind].title;

/** Purposes from the trace's memory records, largest first. */
export const recordedPurposes = (use: MemoryUse): Purpose[] =>
  use.parts.map(({ kind, bytes }) => ({
    key: kind,
    ...PURPOSES[kind],
    bytes,
    share: bytes / Math.max(1, use.peak_bytes),
  }));

/** Purposes from the shapes of the step's operators, largest first; omits those of 0 bytes. */
export function modelledPurposes(memory: StepMemory): Purpose[] {
  const optimizer =
    memory.optimizer === null
      ? PURPOSES.optimizer_state.meaning
      : `State that ${memory.optimizer} keeps for each parameter.`;
  const purposes: [string, string, string, string, number][] = [
    ["parameters", "parameters", "The model's weights.", "--dim", memory.parameters_bytes],
    ["gradients", "gradients", "Gradients that exist at that moment.", "--series-2", memory.gradients_bytes],
    ["optimizer", "optimizer state", optimizer, "--series-4", memory.optimizer_state_bytes],
    ["activations", "activations", PURPOSES.activation.meaning, "--series-1", memory.activations_bytes],
    [
      "temporaries",
      "other tensors",
      "Temporary tensors in use at that moment.",
      "--series-3",
      memory.temporaries_bytes,
    ],
    [
      "workspace",
      "workspaces",
      "Workspace of the matrix and convolution libraries.",
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

/** Memory over time: a stack of purposes, and above it the memory reserved from the driver. */
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
    series.push({ label: "reserved from the driver", color: "--text", dashed: true, points: reserved });
  return series;
}

/** Memory over the batch size. Adds the GPU's own memory if it is close enough to fit the scale. */
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
    line("reserved from the driver", "--series-3", (row) => row.reserved_bytes),
  ];
  const most = Math.max(...memory.batch_sizes.map((row) => row.reserved_bytes));
  const NEAR = 2;
  if (gpuBytes !== null && gpuBytes <= NEAR * most)
    series.push({ ...line("memory of the GPU", "--text", () => gpuBytes), dashed: true });
  return series;
}

/** Copies and sets, longest first. */
export const copiesOf = (kernels: KernelRow[]): KernelRow[] =>
  kernels.filter((row) => row.class === "memcpy" || row.class === "memset");

export interface Mover {
  name: string;
  rank: number | null;
  bytes: number;
  totalUs: number;
  bytesPerS: number;
  peakPct: number | null; // Share of the device's bandwidth.
}

/** Operators by the traffic that their shapes imply. */
export function moversOf(operators: AttributedRow[], bandwidthGbs: number | null): Mover[] {
  return operators.flatMap((row) => {
    if (row.bytes === null || row.bytes === 0 || row.total_us === null || row.total_us <= 0) return [];
    const bytesPerS = row.bytes / (row.total_us / 1e6);
    const peakPct = bandwidthGbs === null ? null : (100 * bytesPerS) / (bandwidthGbs * 1e9);
    return [{ name: row.name, rank: row.rank, bytes: row.bytes, totalUs: row.total_us, bytesPerS, peakPct }];
  });
}

/** Returns the GPU that worked, the first of several; without GPU work, the only one. Undefined: unknown. */
export function workingGpu(
  report: Pick<Report, "inputs" | "gpu_time">,
): Report["inputs"][number]["devices"][number] | undefined {
  const devices = report.inputs[0]?.devices ?? [];
  const [row] = report.gpu_time;
  if (row === undefined || row.device === null) return devices.length === 1 ? devices[0] : undefined;
  return devices.find((device) => device.id === row.device);
}

/** Returns, for example, "GPU 0 of rank 3, process 1234". */
export function nameOf(use: Pick<MemoryUse, "device" | "rank" | "process">): string {
  const device = use.device === null ? "Host" : `GPU ${use.device}`;
  return `${device}${use.rank === null ? "" : ` of rank ${use.rank}`}${use.process == null ? "" : `, process ${use.process}`}`;
}

/**
 * Returns how much of the GPU's memory the job needs: as recorded, else from the shapes.
 *
 * @param gpuBytes  memory of the GPU; null: unknown
 */
export function headlineOf(uses: MemoryUse[], modelled: StepMemory | null, gpuBytes: number | null): string {
  const recorded = uses.find((use) => use.device !== null);
  const bytes = recorded?.peak_bytes ?? modelled?.peak_bytes ?? null;
  if (bytes === null) return "Memory of the job";
  const of =
    gpuBytes === null ? "" : `, ${formatPercent((100 * bytes) / gpuBytes)} of the GPU's ${formatBytes(gpuBytes)}`;
  return `${recorded === undefined ? "A step needs" : "The peak was"} ${formatBytes(bytes)}${of}`;
}
