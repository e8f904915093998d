import { expect, test } from "vitest";
import { barPartsOf } from "./step_bar";

test("parts follow each other, with their time", () => {
  const parts = barPartsOf(
    {
      parts_of: "step",
      parts: [
        { name: "forward", share_pct: 25, busy_pct: 10 },
        { name: "backward", share_pct: 75, busy_pct: 75 },
      ],
    },
    40,
  );
  expect(parts.map(({ name, ms, begin, share, busy }) => [name, ms, begin, share, busy])).toEqual([
    ["forward", 10, 0, 0.25, 0.1],
    ["backward", 30, 0.25, 0.75, 0.75],
  ]);
  expect(new Set(parts.map((part) => part.color)).size).toBe(2);
});

test("of many classes, the smallest are joined, and the sum stays", () => {
  const shares = [30, 20, 15, 10, 8, 7, 4, 3, 2, 1];
  const parts = barPartsOf(
    {
      parts_of: "gpu_time",
      parts: shares.map((share) => ({ name: `class ${share}`, share_pct: share, busy_pct: share })),
    },
    null,
  );
  expect(parts.length).toBe(8);
  expect(parts.at(-1)).toMatchObject({ name: "other", ms: null });
  expect(parts.at(-1)?.share).toBeCloseTo(0.06);
  expect(parts.reduce((sum, part) => sum + part.share, 0)).toBeCloseTo(1);
});
