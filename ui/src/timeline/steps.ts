// Selects the steps that are distinguishable at a zoom level.
import type { TimelineStep } from "../api/timeline";
import { lengthOf, type Viewport } from "./viewport";

/** A step in CSS pixels; may lie outside the drawing. */
export interface SeenStep {
  index: number; // Number in the trace.
  from: number;
  to: number;
}

/** Closer lines would merge into a grey surface. CSS pixels. */
const LEAST_WIDTH = 8;

/** Returns the index of the first step that begins at or after a time. */
function firstFrom(steps: TimelineStep[], timeNs: number): number {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle] as TimelineStep).start_ns < timeNs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Returns the visible steps with room for a line. The cost depends on the width, not on the number of steps.
 *
 * @param steps  all steps, in order of time
 * @param view  visible range, on the clock of the steps
 */
export function stepsSeen(steps: TimelineStep[], view: Viewport, width: number): SeenStep[] {
  const perNs = width / lengthOf(view);
  const leastNs = LEAST_WIDTH / perNs;
  const seen: SeenStep[] = [];
  // The step before the first visible start may end in view.
  for (let at = Math.max(0, firstFrom(steps, view.begin) - 1); at < steps.length; ) {
    const step = steps[at] as TimelineStep;
    if (step.start_ns >= view.end) break;
    const room = (steps[at + 1]?.start_ns ?? step.start_ns + step.wall_ns) - step.start_ns;
    if (room < leastNs) {
      // Steps that begin this close are just as narrow, except the last.
      at = Math.max(at + 1, firstFrom(steps, step.start_ns + leastNs) - 1);
      continue;
    }
    const end = step.start_ns + step.wall_ns;
    if (end > view.begin)
      seen.push({ index: step.index, from: (step.start_ns - view.begin) * perNs, to: (end - view.begin) * perNs });
    ++at;
  }
  return seen;
}
