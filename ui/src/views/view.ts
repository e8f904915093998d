// Properties of every view.
import type { Report, Scenario } from "../api/types";
import type { UrlState } from "../model/url_state";

export interface ViewProps {
  report: Report;
  catalogue: Scenario[];
  state: UrlState;
  /** @param replace  true: replaces the browser's history entry instead of adding one */
  go: (next: UrlState, replace?: boolean) => void;
}
