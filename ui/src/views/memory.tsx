import type { KernelRow } from "../api/report_tables";
import type { Report } from "../api/types";
import { type Column, DataTable, useOrder } from "../components/data_table";
import { type Fact, Facts } from "../components/facts";
import { MetricTable } from "../components/metric_table";
import { formatByteRate, formatBytes, formatCount, formatMs, formatPercent, formatUs } from "../format";
import { memoryMetrics } from "../model/machine";
import { copiesOf, type Mover, moversOf } from "../model/memory";
import type { ViewProps } from "./registry";

const COPIES: Column<KernelRow>[] = [
  { key: "name", title: "Copy or set", cell: (row) => row.name, kind: "name" },
  { key: "rank", title: "Rank", cell: (row) => row.rank, format: String, varies: true },
  { key: "count", title: "Times", cell: (row) => row.count, format: formatCount },
  { key: "total", title: "GPU time", cell: (row) => row.total_us, format: formatUs },
  { key: "share", title: "Share", meaning: "Of all GPU time", cell: (row) => row.share_pct, format: formatPercent, kind: "share" },
  { key: "mean", title: "Mean", cell: (row) => row.mean_us, format: formatUs },
  { key: "max", title: "Most", cell: (row) => row.max_us, format: formatUs },
];

const MOVERS: Column<Mover>[] = [
  { key: "name", title: "Operator", cell: (row) => row.name, kind: "name" },
  { key: "rank", title: "Rank", cell: (row) => row.rank, format: String, varies: true },
  { key: "bytes", title: "Traffic", meaning: "Least traffic of all calls: each input and output once", cell: (row) => row.bytes, format: formatBytes },
  { key: "total", title: "GPU time", cell: (row) => row.totalUs, format: formatUs },
  { key: "rate", title: "Rate", cell: (row) => row.bytesPerS, format: formatByteRate },
  { key: "peak", title: "Of the bandwidth", meaning: "Above 100 %: caches hold some of it", cell: (row) => row.peakPct, format: formatPercent, kind: "share" },
];

function factsOf(report: Report): Fact[] {
  const facts: Fact[] = [];
  for (const device of report.inputs[0]?.devices.slice(0, 1) ?? []) {
    if (device.memory_bytes !== null) facts.push({ title: "Memory of the GPU", value: formatBytes(device.memory_bytes), note: device.name ?? "" });
  }
  const bandwidth = report.efficiency.memory_bandwidth_gbs;
  if (bandwidth !== null) facts.push({ title: "Its bandwidth", value: formatByteRate(bandwidth * 1e9), note: "by its data sheet" });
  for (const row of report.gpu_time.slice(0, 1)) {
    const which = report.gpu_time.length > 1 ? `, the first of ${formatCount(report.gpu_time.length)} GPUs` : "";
    facts.push({ title: "Copies and sets", value: formatMs(row.memory_ms), note: `of ${formatMs(row.busy_ms)} in which the GPU works${which}` });
    facts.push({ title: "Nothing else runs meanwhile", value: formatMs(row.exposed_memory_ms), note: "what copies and sets cost" });
  }
  return facts;
}

export function Memory({ report }: ViewProps) {
  const facts = factsOf(report);
  const metrics = memoryMetrics(report.metrics);
  const copies = copiesOf(report.kernels);
  const movers = moversOf(report.operators, report.efficiency.memory_bandwidth_gbs);
  const byTime = useOrder("total");
  const byTraffic = useOrder("bytes");
  return (
    <>
      <h2>How much memory there is, how full it was, and who moves how much of it.</h2>
      {facts.length > 0 && (
        <section class="card" aria-label="Memory of the GPU">
          <Facts facts={facts} />
        </section>
      )}
      <section aria-labelledby="use">
        <h2 id="use">How full it was</h2>
        {metrics.length > 0 ? (
          <MetricTable label="How full it was" rows={metrics} />
        ) : (
          <p class="card">
            Not recorded. <code>headroom record -o run.pftrace -- python train.py</code> records used and free memory of GPUs and machine. What the
            framework allocates is in a profile with <code>profile_memory=True</code>; the report does not show it yet, but <code>headroom predict</code>{" "}
            and the page <em>What if</em> reckon with its peak.
          </p>
        )}
      </section>
      <section aria-labelledby="traffic">
        <h2 id="traffic">Who moves most of it</h2>
        {movers.length > 0 ? (
          <DataTable label="Who moves most of it" columns={MOVERS} rows={movers} limit={20} {...byTraffic} />
        ) : (
          <p class="dim">No operator has known traffic: record GPU activity, with ProfilerActivity.CPU and record_shapes=True.</p>
        )}
      </section>
      <section aria-labelledby="copies">
        <h2 id="copies">Copies and sets</h2>
        {copies.length > 0 ? (
          <DataTable label="Copies and sets" columns={COPIES} rows={copies} {...byTime} />
        ) : (
          <p class="dim">None were recorded on a GPU.</p>
        )}
      </section>
    </>
  );
}
