// The figures at the top of the overview. Each appears only if the trace has it.
import type { PredictedGpu, Prediction } from "../api/forecasts";
import type { Report } from "../api/types";
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
import { workingGpu } from "./memory";

export interface Figure {
  title: string;
  value: string;
  note: string;
}

type Known = Pick<
  Report,
  "summary" | "steps" | "stretch" | "step_breakdown" | "efficiency" | "inputs" | "throughput" | "gpu_time"
>;

function stepFigure({ summary, steps }: Known): Figure[] {
  const { step_ms, recorded_ms } = summary;
  if (step_ms === null) return [];
  const notes = [];
  if (step_ms.high > step_ms.low) notes.push(`${formatMs(step_ms.low)} to ${formatMs(step_ms.high)}`);
  if (recorded_ms !== null && formatMs(recorded_ms) !== formatMs(step_ms.mid))
    notes.push(`recorded: ${formatMs(recorded_ms)}`);
  return [
    {
      title: steps.step_time_ms === null ? "Recording" : "Step",
      value: formatMs(step_ms.mid),
      note: notes.join(", "),
    },
  ];
}

/** The share is that of the verdict: of the mean step, which includes slow steps that the step time leaves out. */
function busyFigure({ summary, stretch, step_breakdown }: Known): Figure[] {
  const { gpu_busy_ms, recorded_ms } = summary;
  if (gpu_busy_ms === null || recorded_ms === null) return [];
  const of = stretch ? "the recording" : step_breakdown === null ? "the recorded step" : "the mean step";
  const busy =
    step_breakdown === null ? null : Object.values(step_breakdown.gpu).reduce((sum: number, ms: number) => sum + ms, 0);
  const share = step_breakdown === null || busy === null ? gpu_busy_ms / recorded_ms : busy / step_breakdown.wall_ms;
  return [
    {
      title: "GPU busy",
      value: formatMs(gpu_busy_ms),
      note: `${formatPercent(100 * share)} of ${of}`,
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
      note: `as recorded${peak === undefined ? "" : `, of ${formatNumber(peak.tflops)} TFLOP/s (${peak.dtype})`}`,
    },
  ];
}

function memoryFigure(report: Known): Figure[] {
  const { summary } = report;
  if (summary.peak_memory_bytes === null) return [];
  const whole = workingGpu(report)?.memory_bytes ?? null;
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
  const tokens = tokens_per_s === null ? "" : `${formatRate(tokens_per_s, "tokens")} as recorded`;
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

function computedMemory(prediction: Prediction, report: Known): Figure[] {
  const bytes = prediction.baseline?.memory?.peak_bytes ?? null;
  if (bytes === null) return [];
  const whole = workingGpu(report)?.memory_bytes ?? null;
  return [
    {
      title: "Memory",
      value: formatBytes(bytes),
      note: `from shapes${whole === null ? "" : `, of ${formatBytes(whole)}`}`,
    },
  ];
}

/** Cost of a million samples at the lowest listed price of the recorded GPU. */
const costFigure = ({ money_per_million_samples, currency, gpu }: PredictedGpu): Figure[] =>
  money_per_million_samples === null
    ? []
    : [
        {
          title: "Cost",
          value: formatMoney(money_per_million_samples, currency),
          note: `per million samples, on ${gpu}`,
        },
      ];

const ENERGY_SOURCES: Record<string, string> = { counter: "measured", power: "from power samples", model: "modelled" };

function energyFigure({ energy_joules_per_sample, energy_source, energy_error_pct }: PredictedGpu): Figure[] {
  if (energy_joules_per_sample === null) return [];
  const source = ENERGY_SOURCES[energy_source ?? ""] ?? "";
  const error = energy_error_pct === null ? "" : ` within ${formatPercent(energy_error_pct)}`;
  return [{ title: "Energy", value: formatJoules(energy_joules_per_sample), note: `per sample, ${source}${error}` }];
}

/** The figures that a forecast of the recorded GPU knows. */
export function forecastFigures(prediction: Prediction, report: Known): Figure[] {
  const gpu = prediction.targets.find((target) => target.gpu === prediction.source_gpu);
  return [
    ...(report.summary.peak_memory_bytes === null ? computedMemory(prediction, report) : []),
    ...(gpu === undefined ? [] : [...costFigure(gpu), ...energyFigure(gpu)]),
  ];
}
