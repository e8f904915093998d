// The step that forecasts are compared with (docs/whatif.md): its name, and notes about it.
import type { Report, WhatIf } from "../api/types";
import { formatMs, formatSentence } from "../format";

type Baseline = NonNullable<WhatIf["baseline"]>;
type Steps = Pick<Report["steps"], "source">;

/** A trace without marked steps is replayed as one step. */
export const isWhole = (steps: Steps): boolean => steps.source === "none";

/** Returns, for example, "Now a step takes 12.34 ms without the profiler." */
export const sentenceOf = (ms: number, steps: Steps): string =>
  `Now ${isWhole(steps) ? "the whole recording" : "a step"} takes ${formatMs(ms)} without the profiler.`;

/** Returns the notes as sentences. */
export const notesOf = (baseline: Baseline): string[] =>
  baseline.steps_note === null ? [] : [`${formatSentence(baseline.steps_note)}.`];
