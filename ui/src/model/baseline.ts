// The step that forecasts are compared with (docs/whatif.md): what to call it, and what one should know of it.
import type { Report, WhatIf } from "../api/types";
import { formatMs, formatSentence } from "../format";

type Baseline = NonNullable<WhatIf["baseline"]>;
type Steps = Pick<Report["steps"], "source">;

/** A trace in which nothing marks steps is replayed as one. */
export const isWhole = (steps: Steps): boolean => steps.source === "none";

/** "Now a step takes 12.34 ms without the profiler." */
export const sentenceOf = (ms: number, steps: Steps): string =>
  `Now ${isWhole(steps) ? "the whole recording" : "a step"} takes ${formatMs(ms)} without the profiler.`;

/** In sentences. */
export const notesOf = (baseline: Baseline): string[] =>
  baseline.steps_note === null ? [] : [`${formatSentence(baseline.steps_note)}.`];
