import { expect, test } from "vitest";
import { notesOf, sentenceOf } from "./baseline";

const STEPS = { source: "annotation", corrected_p50_ms: null };
const WHOLE = { source: "none", corrected_p50_ms: null };

test("a recording without steps is no step", () => {
  expect(sentenceOf(12.34, WHOLE)).toBe("Now the whole recording takes 12.34 ms, replayed without the profiler.");
  expect(sentenceOf(12.34, STEPS)).toBe("Now a step takes 12.34 ms in the long run, replayed without the profiler.");
});

test("what one should know of the steps is said", () => {
  expect(notesOf({ corrected_step_ms: 1, steps_note: "nothing marks the steps" }, WHOLE)).toEqual([
    "Nothing marks the steps.",
  ]);
  expect(notesOf({ corrected_step_ms: 1, steps_note: null }, STEPS)).toEqual([]);
});

test("two figures for a step are told apart where they differ", () => {
  const notes = (replayed: number, median: number | null) =>
    notesOf({ corrected_step_ms: replayed, steps_note: null }, { ...STEPS, corrected_p50_ms: median });
  expect(notes(48.3, 34.49)[0]).toContain("The median step, less the profiler's cost, is 34.49 ms");
  expect(notes(34.49, 48.3)).toHaveLength(1);
  expect(notes(50.49, 49.67)).toEqual([]);
  expect(notes(48.3, null)).toEqual([]);
});
