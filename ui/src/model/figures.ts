// The figures at the top of the overview. Each appears only if the trace has it.
import type { PredictedGpu, Prediction } from "../api/forecasts";
import type { Report } from "../api/types";
import { PRICED_STEPS } from "../api/use_prediction";
import {
  formatBytes,
  formatCount,
  formatJoules,
  formatMoney,
  formatMs,
  formatNumber,
  formatPercent,
  formatRate,
} from "../format";

export interface Figure {
  title: string;
  value: string;
  note: string;
}

type Known = Pick<Report, "summary" | "steps" | "stretch" | "efficiency" | "inputs" | "throughput" | "step_breakdown">;

function stepFigure({ summary, steps }: Known): Figure[] {
  const { step_ms, recorded_ms } = summary;
  if (step_ms === null) return [];
  const notes = [];
  if (step_ms.high > step_ms.low) notes.push(`${formatMs(step_ms.low)} to ${formatMs(step_ms.high)}`);
  if (recorded_ms !== null && steps.corrected_step_ms !== null) notes.push(`recorded: ${formatMs(recorded_ms)}`);
  return [
    {
      title: steps.step_time_ms === null ? "Recording" : "Step",
      value: formatMs(step_ms.mid),
      note: notes.join(", "),
    },
  ];
}

function busyFigure({ summary, stretch }: Known): Figure[] {
  const { gpu_busy_ms, recorded_ms } = summary;
  if (gpu_busy_ms === null || recorded_ms === null) return [];
  const of = stretch ? "the recording" : "the recorded step";
  return [
    {
      title: "GPU busy",
      value: formatMs(gpu_busy_ms),
      note: `${formatPercent((100 * gpu_busy_ms) / recorded_ms)} of ${of}`,
    },
  ];
}

function mfuFigure({ efficiency }: Known): Figure[] {
  const { mfu_pct, math_dtype, peaks } = efficiency;
  if (mfu_pct === null) return [];
  const peak = peaks.find((one) => one.dtype === math_dtype);
  return [
    {
      title: "MFU",
      value: formatPercent(mfu_pct),
      note: peak === undefined ? "" : `of ${formatNumber(peak.tflops)} TFLOP/s (${peak.dtype})`,
    },
  ];
}

function memoryFigure({ summary, inputs }: Known): Figure[] {
  if (summary.peak_memory_bytes === null) return [];
  const whole = inputs[0]?.devices[0]?.memory_bytes ?? null;
  return [
    {
      title: "Peak memory",
      value: formatBytes(summary.peak_memory_bytes),
      note: whole === null ? "" : `of ${formatBytes(whole)}`,
    },
  ];
}

function rateFigure({ summary, throughput }: Known): Figure[] {
  const { samples_per_s, tokens_per_s } = summary;
  const tokens = tokens_per_s === null ? "" : formatRate(tokens_per_s, "tokens");
  if (samples_per_s === null) return tokens === "" ? [] : [{ title: "Throughput", value: tokens, note: "" }];
  const batch = throughput?.batch_size ?? null;
  const notes = [batch === null ? "" : `${formatCount(batch)} samples per step`, tokens];
  return [
    {
      title: "Throughput",
      value: formatRate(samples_per_s, "samples"),
      note: notes.filter((note) => note !== "").join(", "),
    },
  ];
}

export const figuresOf = (report: Known): Figure[] =>
  [stepFigure, busyFigure, mfuFigure, rateFigure, memoryFigure].flatMap((figure) => figure(report));

function computedMemory(prediction: Prediction, { inputs }: Known): Figure[] {
  const bytes = prediction.baseline?.memory?.peak_bytes ?? null;
  if (bytes === null) return [];
  const whole = inputs[0]?.devices[0]?.memory_bytes ?? null;
  return [
    {
      title: "Memory",
      value: formatBytes(bytes),
      note: `from shapes${whole === null ? "" : `, of ${formatBytes(whole)}`}`,
    },
  ];
}

const MILLION = 1e6;

/** Cost of a million samples on the recorded GPU; without a batch size, of a number of steps. */
function costFigure(gpu: PredictedGpu, batch: number | null): Figure[] {
  if (gpu.money === null) return [];
  const perStep = gpu.money / PRICED_STEPS;
  const [money, of] =
    batch === null
      ? [gpu.money, `per ${formatCount(PRICED_STEPS)} steps`]
      : [(perStep / batch) * MILLION, "per million samples"];
  return [{ title: "Cost", value: formatMoney(money, gpu.currency), note: `${of}, on ${gpu.gpu}` }];
}

function energyFigure(gpu: PredictedGpu, batch: number | null): Figure[] {
  if (gpu.energy_joules === null) return [];
  const energy = batch === null ? gpu.energy_joules : gpu.energy_joules / batch;
  return [
    {
      title: "Energy",
      value: formatJoules(energy),
      note: `per ${batch === null ? "step" : "sample"}, modelled`,
    },
  ];
}

/** The figures that a forecast of the recorded GPU knows. */
export function forecastFigures(prediction: Prediction, report: Known): Figure[] {
  const gpu = prediction.targets.find((target) => target.gpu === prediction.source_gpu);
  const batch = report.throughput?.batch_size ?? null;
  return [
    ...(report.summary.peak_memory_bytes === null ? computedMemory(prediction, report) : []),
    ...(gpu === undefined ? [] : [...costFigure(gpu, batch), ...energyFigure(gpu, batch)]),
  ];
}
