import { expect, test } from "vitest";
import { answerIn, answersOf } from "./embedded";

const ANSWERS = answersOf(
  '{"report": {"steps": 3}, "whatif?scenario=a%2Bb": [], "name": "\\u003c/script>", "predict": {"schema": "headroom.error/1", "error": "no steps"}}',
);

test("what was asked when the file was written has its answer", () => {
  expect(answerIn(ANSWERS, "report")).toEqual({ steps: 3 });
  expect(answerIn(ANSWERS, "whatif?scenario=a%2Bb")).toEqual([]);
  expect(answerIn(ANSWERS, "name")).toBe("</script>");
});

test("anything else needs a server", () => {
  for (const path of ["whatif", "reports", "constructor", "__proto__", ""])
    expect(() => answerIn(ANSWERS, path)).toThrow("headroom ui TRACE");
});

test("another rank's answer is not in the file, but that of the saved rank is", () => {
  const ranks = answersOf('{"traces": {"first_rank": 5}, "data": {}, "data?rank=5": {}}');
  expect(() => answerIn(ranks, "data?rank=3")).toThrow("only for rank 5");
  expect(() => answerIn(ranks, "predict?rank=3")).toThrow("headroom ui TRACE");
});

test("a question that failed fails again", () => {
  expect(() => answerIn(ANSWERS, "predict")).toThrow("no steps");
});
