import { expect, test } from "vitest";
import { shownOf } from "./use_answer";

const KEPT = { path: "report?trace=1", answer: "one", error: "" };

test("an answer is shown for its own question alone", () => {
  expect(shownOf(KEPT, "report?trace=1", false)).toEqual({ answer: "one", error: "", pending: false });
  expect(shownOf(KEPT, "report?trace=2", false)).toEqual({ answer: null, error: "", pending: true });
  expect(shownOf({ ...KEPT, error: "no" }, "report?trace=1", false)).toEqual({
    answer: null,
    error: "no",
    pending: false,
  });
  expect(shownOf(KEPT, null, false)).toEqual({ answer: null, error: "", pending: false });
});

test("the last stays on request, its error never", () => {
  expect(shownOf(KEPT, "report?trace=2", true)).toEqual({ answer: "one", error: "", pending: true });
  expect(shownOf({ ...KEPT, error: "no" }, "report?trace=2", true)).toEqual({
    answer: "one",
    error: "",
    pending: true,
  });
  expect(shownOf({ ...KEPT, error: "no" }, "report?trace=1", true)).toEqual({
    answer: "one",
    error: "no",
    pending: false,
  });
  expect(shownOf(KEPT, null, true).answer).toBeNull();
});
