// Issues of a trace as the overview lists them.
import type { HealthIssue } from "../api/types";

export interface JoinedIssue {
  key: string; // Differs between rows.
  issue: HealthIssue;
  ranks: string; // Such as "ranks 0 to 7"; empty: the issue is of no rank.
}

/** Returns "rank 3", "ranks 0, 2, 5" or, of consecutive ones, "ranks 0 to 7". */
function ranksText(ranks: number[]): string {
  const [first, last] = [ranks[0], ranks.at(-1)];
  if (first === undefined || last === undefined) return "";
  if (ranks.length === 1) return `rank ${first}`;
  return ranks.length > 2 && last - first === ranks.length - 1
    ? `ranks ${first} to ${last}`
    : `ranks ${ranks.join(", ")}`;
}

/** Returns issues that several ranks share once, with the ranks. */
export function joinedIssues(issues: HealthIssue[]): JoinedIssue[] {
  const joined = new Map<string, { issue: HealthIssue; ranks: Set<number> }>();
  for (const issue of issues) {
    const key = JSON.stringify([issue.code, issue.severity, issue.detail, issue.voids]);
    const known = joined.get(key) ?? { issue, ranks: new Set() };
    if (issue.rank != null) known.ranks.add(issue.rank);
    joined.set(key, known);
  }
  return [...joined].map(([key, { issue, ranks }]) => ({
    key,
    issue,
    ranks: ranksText([...ranks].sort((a, b) => a - b)),
  }));
}
