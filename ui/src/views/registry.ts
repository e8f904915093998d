// The views in the order of their links. A new one: its file, and its line here.
import type { ComponentType } from "preact";
import type { Report, Scenario } from "../api/types";
import type { UrlState } from "../model/url_state";
import { Compare } from "./compare";
import { Data } from "./data";
import { Gpus } from "./gpus";
import { Memory } from "./memory";
import { Overview } from "./overview";
import { Roofline } from "./roofline";
import { Scaling } from "./scaling";
import { System } from "./system";
import { Tables } from "./tables";
import { Timeline } from "./timeline";
import { WhatIf } from "./what_if";

export interface ViewProps {
  report: Report;
  catalogue: Scenario[];
  state: UrlState;
  /** @param replace  the browser's back button does not lead to what is shown now */
  go: (next: UrlState, replace?: boolean) => void;
}

export interface View {
  id: string;
  title: string;
  Component: ComponentType<ViewProps>;
}

export const VIEWS: View[] = [
  { id: "overview", title: "Overview", Component: Overview },
  { id: "timeline", title: "Timeline", Component: Timeline },
  { id: "what-if", title: "What if", Component: WhatIf },
  { id: "tables", title: "Tables", Component: Tables },
  { id: "roofline", title: "Roofline", Component: Roofline },
  { id: "memory", title: "Memory", Component: Memory },
  { id: "gpus", title: "GPUs", Component: Gpus },
  { id: "scaling", title: "Scaling", Component: Scaling },
  { id: "compare", title: "Compare", Component: Compare },
  { id: "data", title: "Data", Component: Data },
  { id: "system", title: "System", Component: System },
];

export const VIEW_IDS = VIEWS.map((view) => view.id);
