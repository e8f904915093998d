// Keeps the state of the page in the address, so that users can share a view and use the browser's back button.

/** A view and its settings: "#what-if?scenario=amp". */
export interface UrlState {
  view: string;
  query: Record<string, string>;
}

/** Settings shared by all views: they stay when another view opens. */
const SHARED = ["scenario", "rank"];

/** @param views  valid views; the first replaces an unknown one */
export function readState(hash: string, views: string[]): UrlState {
  const [name, query] = hash.replace(/^#/, "").split("?", 2);
  const view = views.find((one) => one === name) ?? views[0] ?? "";
  return { view, query: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

/** Omits empty values. */
export function writeState(state: UrlState): string {
  const query = new URLSearchParams(Object.entries(state.query).filter(([, value]) => value !== "")).toString();
  return query === "" ? `#${state.view}` : `#${state.view}?${query}`;
}

/** Opens another view with the shared settings. */
export function withView(state: UrlState, view: string): UrlState {
  return { view, query: Object.fromEntries(Object.entries(state.query).filter(([name]) => SHARED.includes(name))) };
}

/** Keeps the rank of the address before, unless the next address names one: links within the page name none. */
export function withRank(next: UrlState, before: UrlState): UrlState {
  const { rank } = before.query;
  return rank === undefined || next.query.rank !== undefined ? next : { ...next, query: { ...next.query, rank } };
}
