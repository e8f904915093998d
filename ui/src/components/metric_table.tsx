import type { MetricRow } from "../api/report_tables";
import { formatQuantity } from "../format";
import { spreadOf } from "../model/machine";
import { type Column, DataTable, useOrder } from "./data_table";
import { Spread } from "./spread";

const quantity = (key: "mean" | "min" | "max" | "last", title: string): Column<MetricRow> => ({
  key,
  title,
  cell: (row) => row[key],
  format: (value, row) => formatQuantity(value, row.unit),
});

const COLUMNS: Column<MetricRow>[] = [
  { key: "name", title: "Metric", cell: (row) => row.name, kind: "name" },
  { key: "instance", title: "Instance", cell: (row) => row.instance },
  { key: "host", title: "Host", cell: (row) => row.host },
  { key: "rank", title: "Rank", cell: (row) => row.rank, format: String, varies: true },
  quantity("mean", "Mean"),
  quantity("min", "Minimum"),
  quantity("max", "Maximum"),
  quantity("last", "Last"),
  {
    key: "spread",
    title: "Minimum to maximum",
    meaning: "Share of 100 % or of the maximum; the mark is the mean",
    cell: (row) => spreadOf(row).mean,
    draw: (row) => <Spread {...spreadOf(row)} />,
  },
  { key: "samples", title: "Samples", cell: (row) => row.samples },
];

export function MetricTable({ label, rows }: { label: string; rows: MetricRow[] }) {
  const { order, onOrder } = useOrder("");
  return <DataTable label={label} columns={COLUMNS} rows={rows} order={order} onOrder={onOrder} />;
}
