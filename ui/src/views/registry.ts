// The views in the order of their links. A new one: its file, and its line here.
import type { ComponentType } from "preact";
import type { Report, Scenario } from "../api/types";
import type { UrlState } from "../model/url_state";
import { Data } from "./data";
import { Memory } from "./memory";
import { Overview } from "./overview";
import { Roofline } from "./roofline";
import { System } from "./system";
import { Tables } from "./tables";
import { WhatIf } from "./what_if";

export interface ViewProps {
  report: Report;
  catalogue: Scenario[];
  state: UrlState;
  go: (next: UrlState) => void;
}

export interface View {
  id: string;
  title: string;
  Component: ComponentType<ViewProps>;
}

export const VIEWS: View[] = [
  { id: "overview", title: "Overview", Component: Overview },
  { id: "what-if", title: "What if", Component: WhatIf },
  { id: "tables", title: "Tables", Component: Tables },
  { id: "roofline", title: "Roofline", Component: Roofline },
  { id: "memory", title: "Memory", Component: Memory },
  { id: "data", title: "Data", Component: Data },
  { id: "system", title: "System", Component: System },
];

export const VIEW_IDS = VIEWS.map((view) => view.id);
