// What is shown, in the address, so that a view can be shared and the browser's back button works.

/** A view and what it is set to, by names of its own: "#what-if?scenario=amp". */
export interface UrlState {
  view: string;
  query: Record<string, string>;
}

/** What all views share: it stays when another view is opened. */
const SHARED = ["scenario"];

/** @param views  known ones; the first stands for whatever is not among them */
export function readState(hash: string, views: string[]): UrlState {
  const [name, query] = hash.replace(/^#/, "").split("?", 2);
  const view = views.find((one) => one === name) ?? views[0] ?? "";
  return { view, query: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

/** Empty values are left out. */
export function writeState(state: UrlState): string {
  const query = new URLSearchParams(Object.entries(state.query).filter(([, value]) => value !== "")).toString();
  return query === "" ? `#${state.view}` : `#${state.view}?${query}`;
}

/** Another view about the same question. */
export function withView(state: UrlState, view: string): UrlState {
  return { view, query: Object.fromEntries(Object.entries(state.query).filter(([name]) => SHARED.includes(name))) };
}
