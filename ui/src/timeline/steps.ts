// Which steps are told apart at a zoom.
import type { TimelineStep } from "../api/timeline";
import { lengthOf, type Viewport } from "./viewport";

/** A step between CSS pixels, which may lie outside of the drawing. */
export interface SeenStep {
  index: number; // As the trace counts.
  from: number;
  to: number;
}

/** Closer than this, lines are a grey surface. CSS pixels. */
const LEAST_WIDTH = 8;

/** Position of the first step that begins at a time or later. */
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

/** Those in sight that have room for a line of their own. Costs what the width costs, however many steps there are.
 *
 * @param steps  in the order of time
 * @param view  on their clock */
export function stepsSeen(steps: TimelineStep[], view: Viewport, width: number): SeenStep[] {
  const perNs = width / lengthOf(view);
  const leastNs = LEAST_WIDTH / perNs;
  const seen: SeenStep[] = [];
  // The one before the first that begins in sight may end there.
  for (let at = Math.max(0, firstFrom(steps, view.begin) - 1); at < steps.length; ) {
    const step = steps[at] as TimelineStep;
    if (step.start_ns >= view.end) break;
    const room = (steps[at + 1]?.start_ns ?? step.start_ns + step.wall_ns) - step.start_ns;
    if (room < leastNs) {
      // What begins so close behind is as narrow, but for the last of them.
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
