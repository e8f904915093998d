// Steps through the hits of a search.
import type { Search } from "../api/timeline";
import { formatCount, formatNs } from "../format";

/** No hit is selected yet. */
export const NO_HIT = -1;

/**
 * Returns the hit before or after another one, cyclically; without a hit, the last or the first.
 *
 * @param by  direction: 1 or -1
 * @param count  number of hits, at least 1
 */
export function hitFrom(hit: number, by: number, count: number): number {
  if (hit === NO_HIT) return by > 0 ? 0 : count - 1;
  return (hit + by + count) % count;
}

/** Returns the number of hits, and the number of the current hit. */
export function hitText(search: Search, hit: number): string {
  if (search.count === 0) return "nothing";
  const all = `${formatCount(search.count)} ${search.count === 1 ? "span" : "spans"}, ${formatNs(search.total_ns)}`;
  if (hit === NO_HIT) return all;
  const isEndOfList = hit === search.hits.length - 1 && search.hits.length < search.count;
  return `${formatCount(hit + 1)} of ${all}${isEndOfList ? "; later hits are not listed: search for a longer name" : ""}`;
}
