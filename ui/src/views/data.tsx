import { type Column, DataTable, useOrder } from "../components/data_table";
import { type Fact, Facts } from "../components/facts";
import type { InputWait } from "../api/report_tables";
import { formatCount, formatMs, formatPercent } from "../format";
import { judgementOf, settingsOf, type Stage, stagesOf, stationsOf } from "../model/input_pipeline";
import "./data.css";
import type { ViewProps } from "./registry";

const COLUMNS: Column<Stage>[] = [
  { key: "name", title: "Stage", cell: (row) => row.name, kind: "name" },
  { key: "meaning", title: "What", cell: (row) => row.meaning },
  { key: "count", title: "Times", cell: (row) => row.count, format: formatCount },
  { key: "own", title: "Own time", meaning: "Without stages inside", cell: (row) => row.ownMs, format: formatMs },
  { key: "share", title: "Share", meaning: "Of preparing batches", cell: (row) => row.sharePct, format: formatPercent, kind: "share" },
  { key: "mean", title: "Mean", meaning: "Of one, what is inside included", cell: (row) => row.meanMs, format: formatMs },
  { key: "p99", title: "99 %", cell: (row) => row.p99Ms, format: formatMs },
];

const waitFacts = (wait: InputWait): Fact[] => [
  { title: "A batch makes the loop wait", value: formatMs(wait.host_ms), note: `mean of ${formatCount(wait.batches)} batches` },
  { title: "GPU idle meanwhile", value: formatMs(wait.exposed_ms), note: "what it costs" },
  { title: "Hidden behind GPU work", value: formatMs(wait.hidden_ms), note: "costs nothing" },
];

export function Data({ report }: ViewProps) {
  const judgement = judgementOf(report);
  const stations = stationsOf(report);
  const seen = stations.some((station) => station.waits);
  const stages = stagesOf(report.regions);
  const settings = settingsOf(report);
  const { order, onOrder } = useOrder("own");
  const path = report.inputs[0]?.path ?? "TRACE";

  return (
    <>
      <h2>Whether the loop waits for its batches, and which stage of preparing them is the slow one.</h2>
      <section class="card" aria-labelledby="wait">
        <h3 id="wait">{judgement?.text ?? "What the input costs is not known: no whole step was recorded."}</h3>
        {!seen && (
          <p class="dim">
            No loader was seen in the trace. <code>headroom record -o run.pftrace -- python train.py</code> records PyTorch's.
          </p>
        )}
        {stations.length > 0 && (
          <ol class="stations" aria-label="The way of a batch">
            {stations.map((station) => (
              <li key={station.name} class={station.waits && judgement?.waits ? "waits" : ""}>
                {station.name}
                <strong>{station.value}</strong>
                <span class="dim">{station.meaning}</span>
              </li>
            ))}
          </ol>
        )}
      </section>
      {report.input_wait !== null && (
        <section class="card" aria-label="What a batch makes the loop wait">
          <Facts facts={waitFacts(report.input_wait)} />
        </section>
      )}
      <section aria-labelledby="stages">
        <h2 id="stages">What preparing a batch is made of</h2>
        {stages.length === 0 ? (
          <p class="dim">
            Stages were not recorded: profilers do not look into workers. <code>headroom record -o run.pftrace -- python train.py</code> does, without a
            change of the program.
          </p>
        ) : (
          <DataTable label="Stages" columns={COLUMNS} rows={stages} order={order} onOrder={onOrder} />
        )}
      </section>
      {settings.length > 0 && (
        <section class="card" aria-labelledby="settings">
          <h2 id="settings">Settings of the loader</h2>
          <Facts facts={settings} />
        </section>
      )}
      {seen && (
        <p>
          How many workers, which cache or which faster stage would be enough: <code>headroom data {path}</code>
        </p>
      )}
    </>
  );
}
