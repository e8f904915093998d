import { expect, test } from "vitest";
import { notesOf, sentenceOf } from "./baseline";

const STEPS = { source: "annotation" };
const WHOLE = { source: "none" };

test("a recording without steps is no step", () => {
  expect(sentenceOf(12.34, WHOLE)).toBe("Now the whole recording takes 12.34 ms without the profiler.");
  expect(sentenceOf(12.34, STEPS)).toBe("Now a step takes 12.34 ms without the profiler.");
});

test("what one should know of the steps is said", () => {
  expect(notesOf({ corrected_step_ms: 1, steps_note: "nothing marks the steps" })).toEqual([
    "Nothing marks the steps.",
  ]);
  expect(notesOf({ corrected_step_ms: 1, steps_note: null })).toEqual([]);
});
