import { expect, test } from "vitest";
import type { HealthIssue } from "../api/types";
import { joinedIssues } from "./health";

const issue = (detail: string, rank: number | null): HealthIssue => ({
  code: "no-stacks",
  severity: "info",
  count: 1,
  detail,
  voids: [],
  rank,
});

test("an issue that several ranks share is one row with its ranks", () => {
  const rows = joinedIssues([
    issue("a", 2),
    issue("b", 0),
    issue("a", 1),
    issue("a", 0),
    issue("c", null),
    issue("b", 7),
  ]);
  expect(rows.map(({ issue: { detail }, ranks }) => [detail, ranks])).toEqual([
    ["a", "ranks 0 to 2"],
    ["b", "ranks 0, 7"],
    ["c", ""],
  ]);
});
