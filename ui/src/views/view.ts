// What the page hands to each of its views.
import type { Report, Scenario } from "../api/types";
import type { UrlState } from "../model/url_state";

export interface ViewProps {
  report: Report;
  catalogue: Scenario[];
  state: UrlState;
  /** @param replace  the browser's back button does not lead to what is shown now */
  go: (next: UrlState, replace?: boolean) => void;
}
