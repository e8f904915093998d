import { useMemo } from "preact/hooks";
import type { StepMemory } from "../api/forecasts";
import type { KernelRow, MemoryHolder, MemoryUse } from "../api/report_tables";
import type { Report } from "../api/types";
import { usePrediction } from "../api/use_prediction";
import { Chart } from "../components/chart";
import { type Column, DataTable, useOrder } from "../components/data_table";
import { type Fact, Facts } from "../components/facts";
import { MetricTable } from "../components/metric_table";
import { Purposes } from "../components/purposes";
import { Refusal } from "../components/refusal";
import { linksOfRows } from "../components/row_links";
import { formatByteRate, formatBytes, formatCount, formatMs, formatPercent, formatUs } from "../format";
import { sumsText } from "../model/header";
import { memoryMetrics } from "../model/machine";
import {
  batchSeriesOf,
  copiesOf,
  curveOf,
  headlineOf,
  type Mover,
  modelledPurposes,
  moversOf,
  nameOf,
  recordedPurposes,
  titleOfKind,
  workingGpu,
} from "../model/memory";
import "./memory.css";
import type { ViewProps } from "./view";

const HOLDERS: Column<MemoryHolder>[] = [
  { key: "operator", title: "Allocated by", cell: (row) => row.operator ?? "outside operators", kind: "name" },
  { key: "layer", title: "Layer", cell: (row) => row.layer ?? "", varies: true },
  {
    key: "line",
    title: "Source line",
    meaning: "Innermost Python frame of your code",
    cell: (row) => row.line ?? "",
    kind: "name",
    varies: true,
  },
  { key: "kind", title: "Purpose", cell: (row) => titleOfKind(row.kind) },
  { key: "bytes", title: "At the peak", cell: (row) => row.bytes, format: formatBytes },
  {
    key: "pieces",
    title: "Pieces",
    meaning: "Number of allocations",
    cell: (row) => row.allocations,
    format: formatCount,
  },
];

const STEPS: Column<MemoryUse["steps"][number]>[] = [
  { key: "step", title: "Step", cell: (row) => row.index, format: String },
  { key: "peak", title: "Maximum in the step", cell: (row) => row.peak_bytes, format: formatBytes },
  { key: "end", title: "At its end", cell: (row) => row.end_bytes, format: formatBytes },
];

const COPIES: Column<KernelRow>[] = [
  { key: "name", title: "Copy or set", cell: (row) => row.name, kind: "name" },
  { key: "rank", title: "Rank", cell: (row) => row.rank, format: String, varies: true },
  { key: "count", title: "Count", cell: (row) => row.count, format: formatCount },
  { key: "total", title: "GPU time", cell: (row) => row.total_us, format: formatUs },
  {
    key: "share",
    title: "Share",
    meaning: "Share of all GPU time",
    cell: (row) => row.share_pct,
    format: formatPercent,
    kind: "share",
  },
  { key: "mean", title: "Mean", cell: (row) => row.mean_us, format: formatUs },
  { key: "max", title: "Maximum", cell: (row) => row.max_us, format: formatUs },
];

const MOVERS: Column<Mover>[] = [
  { key: "name", title: "Operator", cell: (row) => row.name, kind: "name" },
  { key: "rank", title: "Rank", cell: (row) => row.rank, format: String, varies: true },
  {
    key: "bytes",
    title: "Traffic",
    meaning: "Minimum traffic of all calls: each input and output once",
    cell: (row) => row.bytes,
    format: formatBytes,
  },
  { key: "total", title: "GPU time", cell: (row) => row.totalUs, format: formatUs },
  { key: "rate", title: "Rate", cell: (row) => row.bytesPerS, format: formatByteRate },
  {
    key: "peak",
    title: "Share of the bandwidth",
    meaning: "Above 100 %, caches serve part of the traffic",
    cell: (row) => row.peakPct,
    format: formatPercent,
    kind: "share",
  },
];

function factsOf(report: Report): Fact[] {
  const facts: Fact[] = [];
  const gpu = workingGpu(report);
  if (gpu?.memory_bytes != null)
    facts.push({ title: "Memory of the GPU", value: formatBytes(gpu.memory_bytes), note: gpu.name ?? "" });
  const bandwidth = report.efficiency.memory_bandwidth_gbs;
  if (bandwidth !== null)
    facts.push({ title: "Bandwidth of the GPU", value: formatByteRate(bandwidth * 1e9), note: "from its data sheet" });
  for (const row of report.gpu_time.slice(0, 1)) {
    const which = report.gpu_time.length > 1 ? `, the first of ${formatCount(report.gpu_time.length)} GPUs` : "";
    facts.push({
      title: "Copies and sets",
      value: formatMs(row.memory_ms),
      note: `of ${formatMs(row.busy_ms)} in which the GPU works${which}`,
    });
    facts.push({
      title: "Without overlapping GPU work",
      value: formatMs(row.exposed_memory_ms),
      note: "cost of copies and sets",
    });
  }
  return facts;
}

const WORTH_SHOWING_BYTES = 1e6; // Hides small uses of the host: most traces have a few scalars there.

const memoryOfGpu = (report: Report, device: number | null): number | null =>
  report.inputs[0]?.devices.find((one) => one.id === device)?.memory_bytes ?? null;

/** Memory from the trace's own records: purposes and holders at the peak, and the use over time. */
function Recorded({ use, id, report }: { use: MemoryUse; id: string; report: Report }) {
  const series = useMemo(() => curveOf(use), [use]);
  const byBytes = useOrder("bytes");
  const byStep = useOrder("step");
  const all = memoryOfGpu(report, use.device);
  const name = nameOf(use);
  const grows = use.growth_bytes_per_step !== null && use.growth_bytes_per_step > 0;
  return (
    <section class="card more" aria-labelledby={id}>
      <h2 id={id}>
        {name}: {formatBytes(use.peak_bytes)} allocated at most
        {use.peak_step === null ? "" : `, in step ${use.peak_step}`}
      </h2>
      <p>
        {use.most_reserved_bytes !== null &&
          use.most_reserved_bytes > 0 &&
          `${formatBytes(use.most_reserved_bytes)} were reserved from the driver`}
        {use.most_reserved_bytes !== null &&
          use.most_reserved_bytes > 0 &&
          all !== null &&
          `, of the GPU's ${formatBytes(all)}`}
        {use.most_reserved_bytes !== null && use.most_reserved_bytes > 0 && ". "}
        {grows && (
          <strong>
            Memory grows by {formatBytes(use.growth_bytes_per_step)} per step: the program keeps tensors of past steps.
          </strong>
        )}
      </p>
      <Purposes label={`Peak of ${name} by purpose`} purposes={recordedPurposes(use)} />
      <h3>Over time</h3>
      <Chart
        label={`Memory of ${name} over time by purpose; at most ${formatBytes(use.peak_bytes)}, at ${formatMs(use.peak_ms)}.`}
        series={series}
        x={{ label: "time since the trace began", format: formatMs }}
        y={{ label: "allocated", format: formatBytes, min: 0 }}
        marks={use.steps.map((step) => ({ x: step.start_ms, label: `step ${step.index}` }))}
        height={260}
      />
      <h3>Holders at the peak</h3>
      {use.holders.length > 0 ? (
        <DataTable
          label={`Holders of the memory of ${name} at its peak`}
          columns={HOLDERS}
          rows={use.holders}
          limit={12}
          {...byBytes}
        />
      ) : (
        <p class="dim">No allocation made during the recording.</p>
      )}
      {use.steps.length > 1 && (
        <DataTable label={`Memory of ${name} in each step`} columns={STEPS} rows={use.steps} limit={12} {...byStep} />
      )}
    </section>
  );
}

/** Memory per step from the shapes of the operators, and its growth with the batch. */
function Modelled({ memory, recorded, gpuBytes }: { memory: StepMemory; recorded: boolean; gpuBytes: number | null }) {
  const series = useMemo(() => batchSeriesOf(memory, gpuBytes), [memory, gpuBytes]);
  return (
    <section class="card more" aria-labelledby="step">
      <h2 id="step">
        A step requires {formatBytes(memory.peak_bytes)}
        {memory.samples === null ? "" : ` with ${formatCount(memory.samples)} samples`}, from the shapes of its
        operators
      </h2>
      <p class="dim">
        At the peak, the allocator reserves {formatBytes(memory.reserved_bytes)} from the driver.
        {!recorded && " Profile with profile_memory=True to record the true allocations over time."}
      </p>
      <Purposes label="Peak of a step by purpose" purposes={modelledPurposes(memory)} />
      {memory.batch_sizes.length > 1 && (
        <>
          <h3>Memory over the batch size</h3>
          <Chart
            label={`Memory of a step against its samples: ${memory.batch_sizes.map((row) => `${formatCount(row.samples)} take ${formatBytes(row.reserved_bytes)}`).join(", ")}.`}
            series={series}
            x={{
              label: "samples per step",
              format: formatCount,
              log: true,
              ticks: memory.batch_sizes.map((row) => row.samples),
            }}
            y={{ label: "memory", format: formatBytes, log: true }}
            height={220}
          />
        </>
      )}
      {memory.sharded.length > 0 && (
        <p>
          With {memory.sharded[0]?.ranks} GPUs that share the state of the job, each with the same batch, one GPU needs{" "}
          {memory.sharded.map((row) => `${formatBytes(row.peak_bytes)} with ZeRO ${row.zero_stage}`).join(", ")}.
        </p>
      )}
    </section>
  );
}

const MOVER_LINKS = linksOfRows<Mover>(
  () => "operators",
  (row) => row.name,
);
const COPY_LINKS = linksOfRows<KernelRow>(
  () => "kernels",
  (row) => row.name,
);

export function Memory({ report }: ViewProps) {
  const facts = factsOf(report);
  const metrics = memoryMetrics(report.metrics);
  const copies = copiesOf(report.kernels);
  const movers = moversOf(report.operators, report.efficiency.memory_bandwidth_gbs);
  const byTime = useOrder("total");
  const byTraffic = useOrder("bytes");
  const uses = (report.memory?.devices ?? []).filter(
    (use) => use.device !== null || use.peak_bytes >= WORTH_SHOWING_BYTES,
  );
  const { answer, error, pending } = usePrediction();
  const modelled = answer?.baseline?.memory ?? null;
  const gpuBytes = workingGpu(report)?.memory_bytes ?? null;
  const unknown = error !== "" ? error : (answer?.baseline?.no_memory ?? "");
  return (
    <>
      <h2>{headlineOf(uses, modelled, gpuBytes)}</h2>
      {facts.length > 0 && (
        <section class="card" aria-label="Memory of the GPU">
          <Facts facts={facts} />
        </section>
      )}
      {uses.map((use, index) => (
        <Recorded key={index} use={use} id={`memory-${index}`} report={report} />
      ))}
      {modelled !== null && <Modelled memory={modelled} recorded={uses.length > 0} gpuBytes={gpuBytes} />}
      {pending && (
        <section class="card more modelling" aria-labelledby="step">
          <h2 id="step">Memory of a step, from its shapes</h2>
          <p class="dim">Computing it from the shapes of the operators …</p>
        </section>
      )}
      {modelled === null && unknown !== "" && (
        <section class="card more" aria-labelledby="step">
          <h2 id="step">The memory of a step is unknown</h2>
          <Refusal isError={false} why={unknown} command="headroom predict" trace={report.inputs[0]?.path ?? "TRACE"} />
          {uses.length === 0 && (
            <p class="dim">
              <code>torch.profiler.profile(profile_memory=True, record_shapes=True)</code> records every allocation and
              free, with its time and holder.
            </p>
          )}
        </section>
      )}
      {metrics.length > 0 && (
        <section aria-labelledby="use">
          <h2 id="use">Used memory over time</h2>
          <MetricTable label="Used memory over time" rows={metrics} />
        </section>
      )}
      <section aria-labelledby="traffic">
        <h2 id="traffic">Operators with the most traffic</h2>
        {movers.length > 0 ? (
          <>
            <p class="dim">{sumsText(report.steps)}</p>
            <DataTable
              label="Operators with the most traffic"
              columns={MOVERS}
              rows={movers}
              limit={20}
              {...byTraffic}
              {...MOVER_LINKS}
            />
          </>
        ) : (
          <p class="dim">
            No operator has known traffic: record GPU activity with ProfilerActivity.CPU and record_shapes=True.
          </p>
        )}
      </section>
      <section aria-labelledby="copies">
        <h2 id="copies">Copies and sets</h2>
        {copies.length > 0 ? (
          <DataTable label="Copies and sets" columns={COPIES} rows={copies} {...byTime} {...COPY_LINKS} />
        ) : (
          <p class="dim">No copies or sets were recorded on a GPU.</p>
        )}
      </section>
    </>
  );
}
