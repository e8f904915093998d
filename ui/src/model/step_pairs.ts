// Steps of two traces, placed on one scale.
import type { Timeline, TimelineStep } from "../api/timeline";

/** Returns the step whose time is the median; null: the trace has no steps. */
export function medianStep(steps: TimelineStep[]): TimelineStep | null {
  const sorted = [...steps].sort((a, b) => a.wall_ns - b.wall_ns);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}

/** Two timelines on the clock of the first, whose median steps begin together. */
export interface AlignedTimelines {
  a: Timeline;
  b: Timeline;
  steps: [a: number, b: number]; // Their numbers.
  start_ns: number;
  wall_ns: number; // The longer of both.
}

/** Returns null if a trace has no steps. */
export function aligned(a: Timeline, b: Timeline): AlignedTimelines | null {
  const [stepA, stepB] = [medianStep(a.steps), medianStep(b.steps)];
  if (stepA === null || stepB === null) return null;
  // Both begin at 0 or later, because a view does not show negative times.
  const shift = Math.max(0, stepB.start_ns - stepA.start_ns);
  const start_ns = stepA.start_ns + shift;
  return {
    a: { ...a, recorded_begin_ns: shift },
    b: { ...b, recorded_begin_ns: start_ns - stepB.start_ns },
    steps: [stepA.index, stepB.index],
    start_ns,
    wall_ns: Math.max(stepA.wall_ns, stepB.wall_ns),
  };
}
