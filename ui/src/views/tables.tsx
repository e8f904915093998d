import { FileCode } from "lucide-preact";
import { useMemo } from "preact/hooks";
import { embeddedAnswers } from "../api/embedded";
import type { Report } from "../api/types";
import { Choice } from "../components/choice";
import { type Column, DataTable, type RowLink } from "../components/data_table";
import { NodeMap } from "../components/node_map";
import { linksOfEvents } from "../components/row_links";
import { SourceCode } from "../components/source_code";
import { useDraft } from "../components/use_draft";
import { formatBytes, formatCount, formatFlops, formatMs, formatPercent, formatUs } from "../format";
import { isInside, nodeAt, pathOfText, textOfPath, treeOf } from "../model/charts/hierarchy";
import type { MapShape } from "../model/charts/map_layout";
import { sumsText } from "../model/header";
import { filtered } from "../model/table";
import {
  type AnyRow,
  type Clock,
  clocksOf,
  rowsOf,
  sizeOf,
  TABLE_KINDS,
  type TableId,
  type TableKind,
} from "../model/table_kinds";
import { type UrlState, writeState } from "../model/url_state";
import type { ViewProps } from "./view";
import "./tables.css";

type Format = (value: number) => string;

const figure = (key: string, title: string, format: Format, meaning: string): Column<AnyRow> => ({
  key,
  title,
  meaning,
  cell: (row) => row.figures[key] ?? null,
  format,
});

const word = (key: string, title: string, meaning: string): Column<AnyRow> => ({
  key,
  title,
  meaning,
  cell: (row) => row.words[key] ?? null,
});

const NAME: Column<AnyRow> = { key: "name", title: "Name", cell: (row) => row.name, kind: "name" };
const RANK: Column<AnyRow> = { key: "rank", title: "Rank", cell: (row) => row.rank, format: String, varies: true };
const COUNT: Column<AnyRow> = { key: "count", title: "Calls", cell: (row) => row.count, format: formatCount };
const SHARE: Column<AnyRow> = {
  ...figure("share_pct", "Share", formatPercent, "GPU time as a share of all GPU work of the rank"),
  kind: "share",
};

/** Columns of all tables; columns without values are hidden. */
const COLUMNS: Column<AnyRow>[] = [
  NAME,
  RANK,
  COUNT,
  figure("total_us", "GPU time", formatUs, "Sum of the durations of its GPU tasks"),
  SHARE,
  figure("total_ms", "Host time", formatMs, "Sum of the durations; nested entries of the same name count once"),
  figure("self_ms", "Self", formatMs, "Time without nested regions"),
  figure("gpu_ms", "GPU time", formatMs, "GPU work launched inside"),
  figure("self_host_us", "Host, self", formatUs, "Host time without nested calls"),
  figure("forward_us", "Forward", formatUs, "GPU time launched in the forward pass"),
  figure("backward_us", "", formatUs, ""), // Each table has its own title: columnsOf().
  figure("flops", "Work", formatFlops, "Floating-point operations of all calls; a multiply-add is two"),
  figure("bytes", "Traffic", formatBytes, "Minimum device-memory traffic: each input and output once"),
  word("bound", "Bound by", "The nearer roof of the device: arithmetic or memory"),
  figure("roofline_pct", "Share of the roof", formatPercent, "Achieved share of the roofline bound"),
  word("class", "Kind", "Kind of work, by the kernel's name"),
  word("family", "Kind", "Kind of work, by the operator's name"),
  word("part", "In", "Part of the step, or the kind of process"),
  word("tensor_cores", "Tensor cores", "Yes if the kernel's name shows that it uses tensor cores"),
  figure(
    "sm_active_pct",
    "SMs busy",
    formatPercent,
    "Busy multiprocessors, from hardware counters, while it runs alone",
  ),
  figure(
    "tensor_active_pct",
    "Tensor busy",
    formatPercent,
    "Busy tensor cores, from hardware counters, while it runs alone",
  ),
  figure(
    "dram_active_pct",
    "Memory busy",
    formatPercent,
    "Busy device memory, from hardware counters, while it runs alone",
  ),
];

/** Titles and meanings of columns that differ in the table of sampled stacks. */
const OF_STACKS: Record<string, Partial<Column<AnyRow>>> = {
  name: { title: "Innermost frame" },
  count: { title: "Samples" },
  total_ms: { title: "Time", meaning: "The time for which its samples stand" },
  share_pct: { meaning: "Share of the time of all samples" },
};

/** Adjusts the titles for the table. */
const columnsOf = (kind: TableKind, columns: Column<AnyRow>[]): Column<AnyRow>[] =>
  columns.map((column) => {
    if (column.key === "backward_us") return { ...column, ...kind.backward };
    return kind.id === "stacks" ? { ...column, ...OF_STACKS[column.key] } : column;
  });

/** Columns of single calls. */
const CALL_COLUMNS: Column<AnyRow>[] = [
  figure("host_us", "Host, all", formatUs, "Host time of the calls, including nested calls"),
  ...(["mean_us", "p50_us", "min_us", "max_us"] as const).map((key) =>
    figure(key, titleOfCall(key), formatUs, "GPU time per call"),
  ),
  ...(["mean_ms", "p50_ms", "p99_ms", "min_ms", "max_ms"] as const).map((key) =>
    figure(key, titleOfCall(key), formatMs, "Statistics of single entries"),
  ),
];

function titleOfCall(key: string): string {
  const titles: Record<string, string> = { mean: "Mean", p50: "Median", p99: "99 %", min: "Minimum", max: "Maximum" };
  return titles[key.split("_")[0] ?? ""] ?? key;
}

/** Tables whose rows are lines of code. */
const SHOW_CODE: TableId[] = ["lines", "stacks"];

function linksOf(kind: TableKind, row: AnyRow, query: UrlState["query"]): RowLink[] {
  const links = kind.id === "stacks" ? [] : linksOfEvents(kind.id, row.name, (row.figures.total_us ?? 0) > 0);
  if (SHOW_CODE.includes(kind.id))
    links.push({
      title: "Its code",
      href: writeState({ view: "tables", query: { ...query, of: kind.id, code: row.name } }),
      icon: FileCode,
    });
  return links;
}

const CLOCK_TITLES: Record<Clock, string> = { gpu: "GPU time", host: "Host time", sampled: "Sampled time" };
const SHAPES: { id: MapShape; title: string }[] = [
  { id: "icicle", title: "Icicle" },
  { id: "treemap", title: "Tree map" },
];

function Tabs({ report, kind, state }: { report: Report; kind: TableKind; state: UrlState }) {
  return (
    <nav class="tabs" aria-label="Tables">
      {TABLE_KINDS.map((one) => (
        <a
          key={one.id}
          href={writeState({ ...state, query: { of: one.id } })}
          aria-current={one === kind ? "page" : undefined}
        >
          {one.title} <span class="dim">{formatCount(report[one.id].length)}</span>
        </a>
      ))}
    </nav>
  );
}

function Contents({ kind, rows, state, go }: { kind: TableKind; rows: AnyRow[] } & Pick<ViewProps, "state" | "go">) {
  const { query } = state;
  const set = (changes: Record<string, string>) => go({ ...state, query: { ...query, of: kind.id, ...changes } });
  const [filter, setFilter] = useDraft(query.filter ?? "", (text) =>
    go({ ...state, query: { ...query, of: kind.id, filter: text } }, true),
  );
  const clocks = useMemo(() => clocksOf(kind, rows), [kind, rows]);
  const clock = clocks.find((one) => one === query.time) ?? clocks[0];
  const shape = SHAPES.find((one) => one.id === query.map)?.id ?? "icicle";
  const zoomText = query.zoom ?? "";
  const zoomed = useMemo(() => pathOfText(zoomText), [zoomText]);
  const tree = useMemo(
    () =>
      clock === undefined
        ? null
        : treeOf(
            rows.map((row) => ({ path: row.path, value: sizeOf(row, clock) })),
            `All ${kind.title.toLowerCase()}`,
          ),
    [rows, clock, kind],
  );
  const zoom = useMemo(() => (tree === null ? [] : nodeAt(tree, zoomed).path), [tree, zoomed]);
  const shown = useMemo(() => {
    const inside = zoom.length === 0 ? rows : rows.filter((row) => isInside(row.path, zoom));
    return filtered(inside, (row) => `${row.name} ${row.words.class ?? ""} ${row.words.family ?? ""}`, filter);
  }, [rows, zoom, filter]);
  const columns = useMemo(
    () => columnsOf(kind, query.columns === "all" ? [...COLUMNS, ...CALL_COLUMNS] : COLUMNS),
    [kind, query.columns],
  );
  const order = { by: query.sort ?? kind.sort, ascending: query.dir === "asc" };

  return (
    <>
      {tree !== null && tree.value > 0 && clock !== undefined && (
        <section class="card" aria-label="Map">
          <div class="tools">
            <Choice label="Shape of the map" options={SHAPES} value={shape} onValue={(map) => set({ map })} />
            {clocks.length > 1 && (
              <Choice
                label="Size"
                options={clocks.map((id) => ({ id, title: CLOCK_TITLES[id] }))}
                value={clock}
                onValue={(time) => set({ time })}
              />
            )}
            <span class="dim">
              {shape === "icicle" ? "Width" : "Area"} is{" "}
              {CLOCK_TITLES[clock].replace(/^[HS]/, (first) => first.toLowerCase())}. Click a part to go in; the table
              below follows.
            </span>
          </div>
          <NodeMap
            label={`${kind.title} by ${CLOCK_TITLES[clock]}`}
            root={tree}
            zoom={zoom}
            shape={shape}
            format={formatUs}
            onZoom={(path) => set({ zoom: textOfPath(path) })}
          />
        </section>
      )}
      <div class="tools">
        <input
          type="search"
          aria-label="Filter by name"
          placeholder="Filter, such as: gemm fp16"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value, true)}
          onChange={(event) => setFilter(event.currentTarget.value)}
        />
        <label>
          <input
            type="checkbox"
            checked={query.columns === "all"}
            onChange={(event) => set({ columns: event.currentTarget.checked ? "all" : "" })}
          />{" "}
          Figures of single calls
        </label>
        <span class="dim" aria-live="polite">
          {formatCount(shown.length)} of {formatCount(rows.length)} rows
        </span>
      </div>
      {shown.length > 0 && (
        <DataTable
          key={kind.id}
          label={kind.title}
          columns={columns}
          rows={shown}
          order={order}
          onOrder={({ by, ascending }) => set({ sort: by, dir: ascending ? "asc" : "" })}
          {...(embeddedAnswers() === null && { linksOf: (row: AnyRow) => linksOf(kind, row, query) })}
        />
      )}
    </>
  );
}

const TOP = 3;

/** Says how much time the longest rows take: "3 of 46 kernels take 62.1 % of the GPU time". */
function headlineOf(kind: TableKind, rows: AnyRow[]): string {
  const shares = rows.map((row) => row.figures.share_pct ?? 0).sort((a, b) => b - a);
  const top = shares.slice(0, TOP).reduce((sum, share) => sum + share, 0);
  if (rows.length <= TOP || top === 0) return kind.title;
  return `${TOP} of ${formatCount(rows.length)} ${kind.title.toLowerCase()} take ${formatPercent(top)} of the ${kind.id === "stacks" ? "sampled" : "GPU"} time`;
}

export function Tables({ report, state, go }: ViewProps) {
  const code = state.query.code ?? "";
  const kind =
    TABLE_KINDS.find((one) => one.id === state.query.of) ??
    TABLE_KINDS.find((one) => report[one.id].length > 0) ??
    TABLE_KINDS[0];
  const rows = useMemo(() => (kind === undefined ? [] : rowsOf(report, kind.id)), [report, kind]);
  if (kind === undefined) return null;
  return (
    <div class="tables-view">
      <h2>{headlineOf(kind, rows)}</h2>
      <Tabs report={report} kind={kind} state={state} />
      <p>{rows.length === 0 ? kind.missing : `${kind.meaning} ${sumsText(report.steps)}`}</p>
      {code !== "" && SHOW_CODE.includes(kind.id) && <SourceCode key={code} location={code} />}
      {rows.length > 0 && <Contents key={kind.id} kind={kind} rows={rows} state={state} go={go} />}
    </div>
  );
}
