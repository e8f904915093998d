// The views in the order of their links. A new view requires its file and a line here.
import type { ComponentType } from "preact";
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
import type { ViewProps } from "./view";
import { WhatIf } from "./what_if";

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
  { id: "data", title: "Data", Component: Data },
  { id: "system", title: "System", Component: System },
  { id: "compare", title: "Compare", Component: Compare },
];

export const VIEW_IDS = VIEWS.map((view) => view.id);
