// The views in the order of their tabs. A new view requires its file and a line here.
import {
  Activity,
  ChartNoAxesGantt,
  ChartSpline,
  Cpu,
  Database,
  Gauge,
  GitCompareArrows,
  type LucideIcon,
  MemoryStick,
  Network,
  SlidersHorizontal,
  Table2,
  Terminal,
  Waypoints,
} from "lucide-preact";
import type { ComponentType } from "preact";
import type { Report } from "../api/types";
import { Compare } from "./compare";
import { Data } from "./data";
import { Gpus } from "./gpus";
import { Memory } from "./memory";
import { Overview } from "./overview";
import { hasRanks, Ranks } from "./ranks";
import { Roofline } from "./roofline";
import { Scaling } from "./scaling";
import { Sql } from "./sql";
import { System } from "./system";
import { Tables } from "./tables";
import { Timeline } from "./timeline";
import type { ViewProps } from "./view";
import { WhatIf } from "./what_if";

export interface View {
  id: string;
  title: string;
  icon: LucideIcon;
  Component: ComponentType<ViewProps>;
  /** True: of a job of several ranks, it shows all at once, unless the user chose one. */
  ofAllRanks?: boolean;
  /** Returns why the trace has nothing to show here; empty: it has. */
  missing: (report: Report, traces: number) => string;
}

const never = () => "";
const withoutGpuWork = ({ gpu_time }: Report) => (gpu_time.length === 0 ? "The trace has no GPU work." : "");

export const VIEWS: View[] = [
  { id: "overview", ofAllRanks: true, title: "Overview", icon: Gauge, Component: Overview, missing: never },
  { id: "timeline", title: "Timeline", icon: ChartNoAxesGantt, Component: Timeline, missing: never },
  {
    id: "ranks",
    ofAllRanks: true,
    title: "Ranks",
    icon: Waypoints,
    Component: Ranks,
    missing: (report) => (hasRanks(report) ? "" : "The trace of one rank is open: headroom ui FOLDER opens all ranks."),
  },
  { id: "what-if", title: "What if", icon: SlidersHorizontal, Component: WhatIf, missing: never },
  {
    id: "tables",
    title: "Tables",
    icon: Table2,
    Component: Tables,
    missing: ({ kernels, operators, layers, lines, regions }) =>
      [kernels, operators, layers, lines, regions].every((rows) => rows.length === 0)
        ? "The trace has no kernels, operators, layers, lines or regions."
        : "",
  },
  { id: "roofline", title: "Roofline", icon: ChartSpline, Component: Roofline, missing: withoutGpuWork },
  { id: "memory", title: "Memory", icon: MemoryStick, Component: Memory, missing: withoutGpuWork },
  { id: "gpus", title: "GPUs", icon: Cpu, Component: Gpus, missing: withoutGpuWork },
  { id: "scaling", title: "Scaling", icon: Network, Component: Scaling, missing: withoutGpuWork },
  {
    id: "data",
    title: "Data",
    icon: Database,
    Component: Data,
    missing: ({ steps }) => (steps.count === 0 ? "The trace has no steps." : ""),
  },
  {
    id: "system",
    title: "System",
    icon: Activity,
    Component: System,
    missing: ({ metrics, timings, callbacks, regions }) =>
      [metrics, timings, callbacks, regions].every((rows) => rows.length === 0)
        ? "The trace has no counters, parts of the loop, callbacks or regions."
        : "",
  },
  {
    id: "sql",
    title: "SQL",
    icon: Terminal,
    Component: Sql,
    missing: never,
  },
  {
    id: "compare",
    ofAllRanks: true,
    title: "Compare",
    icon: GitCompareArrows,
    Component: Compare,
    missing: (_report, traces) => (traces < 2 ? "Only one trace is open: headroom ui A B opens two." : ""),
  },
];

export const VIEW_IDS = VIEWS.map((view) => view.id);
