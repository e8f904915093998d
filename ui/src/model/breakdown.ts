// The mean step as parts that sum to it.
import type { StepBreakdown, StepParts } from "../api/types";

export interface Part {
  key: keyof StepParts;
  name: string;
  meaning: string;
  ms: number;
  gpuMs: number;
  share: number; // Share of the step, from 0 to 1.
}

const PARTS: [keyof StepParts, string, string][] = [
  ["data_wait_ms", "data wait", "The host waits for the data loader while the GPU is idle."],
  ["host_to_device_ms", "copy to GPU", "The GPU copies data from the host and runs nothing else."],
  ["forward_ms", "forward", "The forward pass, on the GPU or on the host while the GPU is idle."],
  ["backward_ms", "backward", "The backward pass, on the GPU or on the host while the GPU is idle."],
  ["optimizer_ms", "optimizer", "The update of the parameters."],
  ["communication_ms", "communication", "Exposed communication: GPUs exchange data while none computes."],
  ["callback_ms", "callback", "The GPU is idle while the host runs a callback of the trainer."],
  ["other_ms", "other", "Everything else."],
];

/** Returns all parts in the order of a step, including parts of 0 ms. */
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
