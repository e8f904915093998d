// What is shown, in the address, so that a view can be shared and the browser's back button works.

export const VIEWS = ["overview", "what-if"] as const;
export type View = (typeof VIEWS)[number];

export interface UrlState {
  view: View;
  scenario: string;
}

/** Of "#what-if?scenario=amp"; what is not known counts as not there. */
export function readState(hash: string): UrlState {
  const [name, query] = hash.replace(/^#/, "").split("?", 2);
  const view = VIEWS.find((one) => one === name) ?? "overview";
  return { view, scenario: new URLSearchParams(query ?? "").get("scenario") ?? "" };
}

export function writeState(state: UrlState): string {
  return state.scenario === "" ? `#${state.view}` : `#${state.view}?${new URLSearchParams({ scenario: state.scenario })}`;
}
