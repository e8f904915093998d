import { expect, test } from "vitest";
import type { Timeline } from "../api/timeline";
import { aligned, medianStep } from "./step_pairs";

const timeline = (...steps: [index: number, start_ns: number, wall_ns: number][]) =>
  ({
    recorded_begin_ns: 0,
    steps: steps.map(([index, start_ns, wall_ns]) => ({ index, start_ns, wall_ns })),
  }) as Timeline;

test("the median steps of two traces begin together, and nothing begins before 0", () => {
  const short = timeline([1, 100, 10], [2, 110, 30], [3, 140, 20]);
  const long = timeline([7, 500, 50]);
  expect(medianStep(short.steps)?.index).toBe(3);
  for (const [a, b] of [
    [short, long],
    [long, short],
  ] as const) {
    const both = aligned(a, b);
    expect(both).not.toBeNull();
    if (both === null) continue;
    const [stepA, stepB] = [medianStep(a.steps), medianStep(b.steps)];
    expect(both.a.recorded_begin_ns + (stepA?.start_ns ?? 0)).toBe(both.start_ns);
    expect(both.b.recorded_begin_ns + (stepB?.start_ns ?? 0)).toBe(both.start_ns);
    expect(Math.min(both.a.recorded_begin_ns, both.b.recorded_begin_ns)).toBe(0);
    expect(both.wall_ns).toBe(50);
  }
  expect(aligned(short, timeline())).toBeNull();
});
