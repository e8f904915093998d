// The mean step as parts that sum to it.
import type { StepBreakdown, StepParts } from "../api/types";

export interface Part {
  key: keyof StepParts;
  name: string;
  meaning: string;
  ms: number;
  gpuMs: number;
  share: number; // Of the step, from 0 to 1.
}

const PARTS: [keyof StepParts, string, string][] = [
  ["data_wait_ms", "data wait", "The host waits for the data loader while the GPU is idle."],
  ["host_to_device_ms", "copy to GPU", "Data are copied to the GPU, and nothing else runs there."],
  ["forward_ms", "forward", "The forward pass, on the GPU or on the host while the GPU is idle."],
  ["backward_ms", "backward", "The backward pass, on the GPU or on the host while the GPU is idle."],
  ["optimizer_ms", "optimizer", "The update of the parameters."],
  ["communication_ms", "communication", "GPUs exchange data and none computes meanwhile."],
  ["callback_ms", "callback", "The GPU is idle and the host is in a trainer's callback."],
  ["other_ms", "other", "Everything else."],
];

/** All parts, in the order in which a step has them; those of no time too. */
export function partsOf(breakdown: StepBreakdown): Part[] {
  return PARTS.map(([key, name, meaning]) => ({
    key,
    name,
    meaning,
    ms: breakdown[key],
    gpuMs: breakdown.gpu[key],
    share: breakdown.wall_ms > 0 ? breakdown[key] / breakdown.wall_ms : 0,
  }));
}
