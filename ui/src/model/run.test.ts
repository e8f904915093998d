import { expect, test } from "vitest";
import type { Run } from "../api/run";
import { elapsed, toldOf } from "./run";

const RUN: Run = {
  command: "train",
  phase: "idle",
  ended: 1,
  time_s: 3,
  path: "headroom-ui-2.pftrace",
  exit_code: 0,
  stopped: false,
  problem: null,
  lines: [],
};

test("elapsed time", () => {
  expect([0, 59.9, 60, 187, 3599, 3600, 7530].map(elapsed)).toEqual([
    "0 s",
    "59 s",
    "1 min 00 s",
    "3 min 07 s",
    "59 min 59 s",
    "1 h 00 min",
    "2 h 05 min",
  ]);
});

test("nothing was run yet", () => {
  expect(toldOf({ ...RUN, ended: 0, path: null, exit_code: null })).toBeNull();
});

test("what is shown, and how it ended", () => {
  expect(toldOf(RUN)).toEqual({ text: "Recorded into headroom-ui-2.pftrace.", isBad: false });
  expect(toldOf({ ...RUN, exit_code: 3 })?.text).toContain("ended with exit code 3");
  expect(toldOf({ ...RUN, exit_code: 143, stopped: true })?.text).toContain("was stopped");
});

test("why nothing is shown", () => {
  expect(toldOf({ ...RUN, exit_code: 1, path: null, problem: "nothing of it" })).toEqual({
    text: "The page is unchanged. The program ended with exit code 1. Nothing of it.",
    isBad: true,
  });
  expect(toldOf({ ...RUN, problem: "cannot read it" })?.text).toContain("is kept: headroom-ui-2.pftrace");
});
