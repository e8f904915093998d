// The step that forecasts are compared with (docs/whatif.md): what to call it, and what one should know of it.
import type { Report, WhatIf } from "../api/types";
import { formatMs, formatSentence } from "../format";

type Baseline = NonNullable<WhatIf["baseline"]>;
type Steps = Pick<Report["steps"], "source" | "corrected_p50_ms">;

/** A larger share between the two figures for a step is to be explained. */
const APART = 0.05;

/** A trace in which nothing marks steps is replayed as one. */
export const isWhole = (steps: Steps): boolean => steps.source === "none";

/** What the figure is: the median step of the report, less the profiler's cost, is another one. */
export const replayedAs = (steps: Steps): string =>
  isWhole(steps) ? "replayed without the profiler" : "in the long run, replayed without the profiler";

/** "Now a step takes 12.34 ms in the long run, replayed without the profiler." */
export function sentenceOf(ms: number, steps: Steps): string {
  return isWhole(steps)
    ? `Now the whole recording takes ${formatMs(ms)}, ${replayedAs(steps)}.`
    : `Now a step takes ${formatMs(ms)} ${replayedAs(steps)}.`;
}

/** In sentences. */
export function notesOf(baseline: Baseline, steps: Steps): string[] {
  const notes = baseline.steps_note === null ? [] : [`${formatSentence(baseline.steps_note)}.`];
  const [replayed, median] = [baseline.corrected_step_ms, steps.corrected_p50_ms];
  if (replayed !== null && median !== null && Math.abs(replayed - median) > APART * Math.max(replayed, median)) {
    notes.push(
      `The median step, less the profiler's cost, is ${formatMs(median)}, as “Overview” says: that is of steps as they were recorded; the replay repeats them, one right behind the other, until each takes as long as the one before. Savings are of the replayed step.`,
    );
  }
  return notes;
}
