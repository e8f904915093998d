import { useMemo } from "preact/hooks";
import type { MetricsOverTime } from "../api/metrics";
import type { CallbackRow, RegionRow, TimingRow } from "../api/report_tables";
import { useAnswer } from "../api/use_answer";
import { type Column, DataTable, useOrder } from "../components/data_table";
import { MetricChart } from "../components/metric_chart";
import { MetricTable } from "../components/metric_table";
import { formatCount, formatMs, formatPercent } from "../format";
import { groupsOf, type MetricGroup, machineHeadline, mostTelling } from "../model/machine";
import type { ViewProps } from "./view";

const TIMINGS: Column<TimingRow>[] = [
  { key: "name", title: "Part", cell: (row) => row.name, kind: "name" },
  { key: "inside", title: "Inside", cell: (row) => row.inside },
  { key: "rank", title: "Rank", cell: (row) => row.rank, format: String, varies: true },
  { key: "count", title: "Steps", cell: (row) => row.count, format: formatCount },
  { key: "total", title: "Total", cell: (row) => row.total_ms, format: formatMs },
  {
    key: "share",
    title: "Share",
    meaning: "Share of the steps' time on the host",
    cell: (row) => row.share_pct,
    format: formatPercent,
    kind: "share",
  },
  { key: "mean", title: "Mean", meaning: "Mean per step", cell: (row) => row.mean_ms, format: formatMs },
  { key: "p50", title: "Median", meaning: "Median per step", cell: (row) => row.p50_ms, format: formatMs },
  { key: "p99", title: "99 %", meaning: "99th percentile per step", cell: (row) => row.p99_ms, format: formatMs },
  {
    key: "gpu",
    title: "GPU work",
    meaning: "GPU work launched in this part",
    cell: (row) => row.gpu_ms,
    format: formatMs,
  },
];

const CALLBACKS: Column<CallbackRow>[] = [
  { key: "callback", title: "Callback", cell: (row) => row.callback, kind: "name" },
  { key: "event", title: "Event", cell: (row) => row.event },
  { key: "rank", title: "Rank", cell: (row) => row.rank, format: String, varies: true },
  { key: "count", title: "Calls", cell: (row) => row.count, format: formatCount },
  { key: "total", title: "Total", cell: (row) => row.total_ms, format: formatMs },
  {
    key: "self",
    title: "Itself",
    meaning: "Self time: without nested callbacks",
    cell: (row) => row.self_ms,
    format: formatMs,
  },
  {
    key: "share",
    title: "Share",
    meaning: "Share of the complete steps",
    cell: (row) => row.share_pct,
    format: formatPercent,
    kind: "share",
  },
];

const REGIONS: Column<RegionRow>[] = [
  { key: "key", title: "Region", cell: (row) => row.key, kind: "name" },
  { key: "rank", title: "Rank", cell: (row) => row.rank, format: String, varies: true },
  { key: "count", title: "Count", cell: (row) => row.count, format: formatCount },
  { key: "total", title: "Total", cell: (row) => row.total_ms, format: formatMs },
  {
    key: "self",
    title: "Itself",
    meaning: "Self time: without nested regions",
    cell: (row) => row.self_ms,
    format: formatMs,
  },
  { key: "p50", title: "Median", cell: (row) => row.p50_ms, format: formatMs },
  { key: "p99", title: "99 %", cell: (row) => row.p99_ms, format: formatMs },
  { key: "max", title: "Maximum", cell: (row) => row.max_ms, format: formatMs },
  { key: "gpu", title: "GPU work", meaning: "GPU work launched inside", cell: (row) => row.gpu_ms, format: formatMs },
];

/** A heading, and the rows or, without rows, how to record them. */
function Section<Row extends object>({
  id,
  title,
  missing,
  note,
  columns,
  rows,
}: {
  id: string;
  title: string;
  missing: string;
  note?: string;
  columns: Column<Row>[];
  rows: Row[];
}) {
  const { order, onOrder } = useOrder("total");
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {rows.length === 0 ? (
        <p class="dim">{missing}</p>
      ) : (
        <>
          {note !== undefined && <p class="dim">{note}</p>}
          <DataTable label={title} columns={columns} rows={rows} order={order} onOrder={onOrder} />
        </>
      )}
    </section>
  );
}

interface GroupProps {
  group: MetricGroup;
  overTime: MetricsOverTime | null;
  asked: string[]; // Metrics in the address, from this and other groups.
  onMetrics: (names: string[]) => void;
}

function Group({ group: { title, rows }, overTime, asked, onMetrics }: GroupProps) {
  const names = [...new Set(rows.map((row) => row.name))];
  const shown = asked.find((name) => names.includes(name)) ?? mostTelling(rows);
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      {overTime !== null && (
        <>
          <label>
            Over time{" "}
            <select
              aria-label={`${title} over time`}
              value={shown}
              onChange={(event) =>
                onMetrics([...asked.filter((name) => !names.includes(name)), event.currentTarget.value])
              }
            >
              {names.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <MetricChart name={shown} unit={rows.find((row) => row.name === shown)?.unit ?? null} overTime={overTime} />
        </>
      )}
      <MetricTable label={title} rows={rows} />
    </section>
  );
}

/** Separates names in the address. A name with a line break is not restored. */
const SEPARATOR = "\n";

export function System({ report, state, go }: ViewProps) {
  const groups = useMemo(() => groupsOf(report.metrics), [report]);
  const { answer: overTime, error } = useAnswer<MetricsOverTime>("metrics");
  const asked = (state.query.metric ?? "").split(SEPARATOR).filter((name) => name !== "");
  return (
    <>
      <h2>{machineHeadline(report.metrics)}</h2>
      {groups.length === 0 && (
        <p class="card">
          No metrics of the machine were recorded. <code>headroom record -o run.pftrace -- python train.py</code>{" "}
          records processors, memory, disks, network and GPUs during the run; <code>headroom monitor</code> shows them
          live.
        </p>
      )}
      {error !== "" && (
        <p class="card error" role="alert">
          {error}
        </p>
      )}
      {groups.map((group) => (
        <Group
          key={group.title}
          group={group}
          overTime={overTime}
          asked={asked}
          onMetrics={(names) => go({ ...state, query: { ...state.query, metric: names.join(SEPARATOR) } })}
        />
      ))}
      <Section
        id="timings"
        title="Parts of the loop"
        note="These are host times. The GPU may run the work later."
        missing={
          report.steps.count > 0
            ? "The trace does not show the parts of the loop."
            : "No complete step was recorded: profile with ProfilerActivity.CPU and call prof.step() after each iteration."
        }
        columns={TIMINGS}
        rows={report.timings}
      />
      <Section
        id="callbacks"
        title="Callbacks"
        missing="No callbacks of a trainer were recorded; headroom.callbacks.wrap(trainer) times each of them."
        columns={CALLBACKS}
        rows={report.callbacks}
      />
      <Section
        id="regions"
        title="Regions"
        missing="The program marks no regions: use torch.profiler.record_function or headroom.scope."
        columns={REGIONS}
        rows={report.regions}
      />
    </>
  );
}
