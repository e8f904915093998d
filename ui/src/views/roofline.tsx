import { useMemo } from "preact/hooks";
import type { Report } from "../api/types";
import { Chart } from "../components/chart";
import { type Column, DataTable, useOrder } from "../components/data_table";
import { Facts } from "../components/facts";
import { linksOfRows } from "../components/row_links";
import {
  formatByteRate,
  formatFlopRate,
  formatFlopTick,
  formatIntensity,
  formatNumber,
  formatPercent,
  formatUs,
} from "../format";
import { headlineOf, type Placed, placedOf, rooflineSeries } from "../model/charts/roofline";
import { sumsText } from "../model/header";
import type { ViewProps } from "./view";
import "./roofline.css";

const nameOf = (one: Placed) => (one.rank === null ? one.name : `${one.name} (rank ${one.rank})`);

/** The name is a button, so that keys can do what a click on a dot does. */
const columnsOf = (picked: string, pick: (operator: string) => void): Column<Placed>[] => [
  {
    key: "name",
    title: "Operator",
    cell: (row) => row.name,
    kind: "name",
    draw: (row) => (
      <button
        type="button"
        class="long-name operator-name"
        aria-pressed={nameOf(row) === picked}
        title="Show only this operator, or all"
        onClick={() => pick(nameOf(row) === picked ? "" : nameOf(row))}
      >
        {row.name}
      </button>
    ),
  },
  { key: "rank", title: "Rank", cell: (row) => row.rank, format: String, varies: true },
  { key: "total", title: "GPU time", cell: (row) => row.totalUs, format: formatUs },
  {
    key: "share",
    title: "Share",
    meaning: "Share of all GPU time",
    cell: (row) => row.sharePct,
    format: formatPercent,
    kind: "share",
  },
  { key: "bound", title: "Bound by", cell: (row) => row.bound },
  {
    key: "roof",
    title: "Share of the roof",
    meaning: "Achieved share of the roofline bound",
    cell: (row) => row.rooflinePct,
    format: formatPercent,
  },
  {
    key: "lost",
    title: "Time beyond the roof",
    meaning: "GPU time beyond the roofline bound",
    cell: (row) => row.lostUs,
    format: formatUs,
  },
  {
    key: "intensity",
    title: "Intensity",
    meaning: "Arithmetic per byte of memory traffic",
    cell: (row) => row.intensity,
    format: formatIntensity,
  },
  { key: "work", title: "Achieved", cell: (row) => row.flopsPerS, format: formatFlopRate },
  {
    key: "traffic",
    title: "Memory",
    meaning: "Minimum traffic divided by time",
    cell: (row) => row.bytesPerS,
    format: formatByteRate,
  },
];

const LINKS = linksOfRows<Placed>(
  () => "operators",
  (row) => row.name,
);

/** Says how the shapes of operators are recorded. */
const shapesAdvice = ({ health }: Report): string =>
  health.issues.find((issue) => issue.code === "no-shapes")?.detail ??
  "record GPU activity with ProfilerActivity.CPU and record_shapes=True";

export function Roofline({ report, state, go }: ViewProps) {
  const { efficiency } = report;
  const placed = useMemo(() => placedOf(report.operators), [report]);
  const picked = state.query.operator ?? "";
  const pick = (operator: string) => go({ ...state, query: { ...state.query, operator } });
  const series = useMemo(() => rooflineSeries(placed, efficiency, nameOf, picked), [placed, efficiency, picked]);
  const { order, onOrder } = useOrder("lost");
  const shown = picked === "" ? placed : placed.filter((one) => nameOf(one) === picked);
  const facts = [
    ["Compute-bound", efficiency.compute_bound_pct],
    ["Memory-bound", efficiency.memory_bound_pct],
    ["With known work", efficiency.costed_pct],
    ["MFU", efficiency.mfu_pct],
  ] as const;

  return (
    <>
      <h2>{headlineOf(placed)}</h2>
      {placed.length === 0 ? (
        <p class="card">No operator has known work and traffic: {shapesAdvice(report)}.</p>
      ) : (
        <>
          <section class="card" aria-label="Roofline">
            <p>
              Each dot is an operator; its area is its share of GPU time. Under the slanted roof it is memory-bound:
              fewer bytes help (fusion, smaller types). Under a flat roof it is compute-bound: tensor cores help.
            </p>
            <Chart
              label={`Roofline of ${efficiency.device_name ?? "an unknown GPU"} with ${placed.length} operators: achieved FLOP/s over arithmetic intensity.`}
              series={series}
              x={{ label: "arithmetic intensity (FLOP/B)", format: formatIntensity, tick: formatNumber, log: true }}
              y={{ label: "achieved FLOP/s", format: formatFlopRate, tick: formatFlopTick, log: true }}
              height={440}
              onPick={(point) => pick(point.name ?? "")}
            />
            {series.length > 0 && efficiency.peaks.length === 0 && (
              <p class="dim">No roofs: the trace does not name its GPU, or Headroom has no data sheet of that GPU.</p>
            )}
          </section>
          <section class="card" aria-label="Shares of GPU time">
            <Facts
              facts={facts.flatMap(([title, percent]) =>
                percent === null
                  ? []
                  : [
                      {
                        title,
                        value: formatPercent(percent),
                        note: title === "MFU" ? "of the peak, in a step" : "of GPU time",
                      },
                    ],
              )}
            />
          </section>
          <p>
            {picked === "" ? (
              <>
                Operators at the top lose the most time against their roof. Copies do no arithmetic, so only the table
                has them. {sumsText(report.steps)}
              </>
            ) : (
              <button type="button" onClick={() => pick("")}>
                Show all operators
              </button>
            )}
          </p>
          <DataTable
            label="Operators under their roofs"
            columns={columnsOf(picked, pick)}
            rows={shown}
            order={order}
            onOrder={onOrder}
            {...LINKS}
          />
        </>
      )}
    </>
  );
}
