// Properties of every view.
import type { Report, Scenario } from "../api/types";
import type { UrlState } from "../model/url_state";

export interface ViewProps {
  report: Report;
  catalogue: Scenario[];
  state: UrlState;
  /** Records the program again; null: no program is known, or it is running. */
  record: (() => void) | null;
  /** @param replace  true: replaces the browser's history entry instead of adding one */
  go: (next: UrlState, replace?: boolean) => void;
}
