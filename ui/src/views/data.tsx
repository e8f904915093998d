import type { Loader, Loading, LoadingStage, Probe } from "../api/loading";
import type { MetricsOverTime } from "../api/metrics";
import type { InputWait } from "../api/report_tables";
import type { Interval, Report } from "../api/types";
import { useAnswer } from "../api/use_answer";
import { type Column, DataTable, useOrder } from "../components/data_table";
import { type Fact, Facts } from "../components/facts";
import { MetricChart } from "../components/metric_chart";
import { formatCount, formatMs, formatPercent, formatSentence, formatUs } from "../format";
import { judgementOf, roomOf, stationsOf, whyNoJudgement, settingsOf as wordsOf } from "../model/input_pipeline";
import { boundOf, pathOf, queryOf, runningOf, settingsOf, titleOf } from "../model/loading";
import { writeState } from "../model/url_state";
import "./data.css";
import { LoaderSettings } from "./data_settings";
import type { ViewProps } from "./view";

/** Metric of the batches that were ready when the loop asked. */
const READY = "loader.ready";

const COLUMNS: Column<LoadingStage>[] = [
  { key: "name", title: "Stage", cell: titleOf, kind: "name" },
  {
    key: "sample",
    title: "Per sample",
    meaning: "Self time: without nested stages",
    cell: (row) => row.per_sample_us,
    format: formatUs,
  },
  {
    key: "share",
    title: "Share",
    meaning: "Share of the time to prepare batches",
    cell: (row) => row.share_pct,
    format: formatPercent,
    kind: "share",
  },
  {
    key: "running",
    title: "Running",
    meaning: "Share of its time on a core; the rest is waiting for files, locks or a core",
    cell: runningOf,
    format: formatPercent,
  },
  { key: "own", title: "Total", cell: (row) => row.own_ms, format: formatMs },
  { key: "count", title: "Count", cell: (row) => row.count, format: formatCount },
];

const waitFacts = (wait: InputWait): Fact[] => [
  {
    title: "Wait of the loop per batch",
    value: formatMs(wait.host_ms),
    note: `mean of ${formatCount(wait.batches)} batches`,
  },
  { title: "GPU idle during the wait", value: formatMs(wait.exposed_ms), note: "cost of the wait" },
  { title: "Hidden behind GPU work", value: formatMs(wait.hidden_ms), note: "no cost" },
];

/** Results of `headroom record --probe-input`. */
function probeFacts(probe: Probe): Fact[] {
  const facts: [string, Interval | null, string][] = [
    ["A normal step", probe.step_ms, ""],
    ["A step with a repeated batch", probe.loop_ms, "the loop without its loader"],
    ["A batch of the loader alone", probe.loader_ms, "the loader without its loop"],
    ["The same samples from memory", probe.again_ms, "read a second time"],
  ];
  return facts.flatMap(([title, time, note]) =>
    time === null
      ? []
      : [
          {
            title,
            value: formatMs(time.mid),
            note: `${formatMs(time.low)} to ${formatMs(time.high)}${note === "" ? "" : `; ${note}`}`,
          },
        ],
  );
}

const loaderTitle = (loader: Loader) =>
  `${formatCount(loader.workers)} workers${loader.batch_size === null ? "" : `, batches of ${formatCount(loader.batch_size)}`}: waited ${formatMs(loader.wait_ms)}`;

const RecordCommand = () => <code>headroom record -o run.pftrace -- python train.py</code>;

/** Shows how many batches were ready when the loop asked for the next. */
function QueueDepth({ report }: { report: Report }) {
  const ready = report.metrics.find((metric) => metric.name === READY);
  const { answer, error } = useAnswer<MetricsOverTime>(ready === undefined ? null : "metrics");
  if (ready === undefined) return null;
  return (
    <section class="card" aria-labelledby="queue">
      <h3 id="queue">Batches in the queue</h3>
      <p class="dim">Batches that were ready when the loop asked for the next one. At zero, the loop waits.</p>
      {error !== "" && <p role="alert">{error}</p>}
      {answer !== null && <MetricChart name={READY} unit={ready.unit} overTime={answer} full={roomOf(report)} />}
      <p>
        <a href={writeState({ view: "timeline", query: { find: READY } })}>{READY} in the timeline</a>
      </p>
    </section>
  );
}

export function Data({ report, state, go }: ViewProps) {
  const chosen = settingsOf(state.query).loader;
  const first = useAnswer<Loading>("data");
  const other = useAnswer<Loading>(chosen === 1 ? null : pathOf(chosen, ""));
  const asked = chosen === 1 ? first : other;
  const { answer, error } = asked;
  const judgement = judgementOf(report);
  const stations = stationsOf(report);
  const { order, onOrder } = useOrder("share");
  const loaders = first.answer?.loaders ?? [];
  const loader = answer?.loaders[0];
  const bound = answer === null ? "" : boundOf(answer);
  const choose = (number: number) =>
    go({ ...state, query: { ...state.query, ...queryOf({ ...settingsOf({}), loader: number }) } });

  return (
    <>
      <section class="card" aria-labelledby="wait">
        <h2 id="wait">{judgement?.text ?? whyNoJudgement(report)}</h2>
        {bound !== "" && (
          <p>
            <bdi>{bound}</bdi>
          </p>
        )}
        {stations.length > 0 && (
          <ol class="stations" aria-label="Stages of a batch">
            {stations.map((station) => (
              <li key={station.name} class={station.waits && judgement?.waits ? "waits" : ""}>
                {station.name}
                <strong>{station.value}</strong>
                <span class="dim">{station.meaning}</span>
              </li>
            ))}
          </ol>
        )}
        {stations.length > 0 && answer !== null && (
          <p class="dim">
            Means over the whole recording. The simulation below treats the first batch of an epoch separately, so its
            means differ a little.
          </p>
        )}
      </section>
      <QueueDepth report={report} />
      {report.input_wait !== null && (
        <section class="card" aria-label="Wait of the loop per batch">
          <Facts facts={waitFacts(report.input_wait)} />
        </section>
      )}
      {loaders.length > 1 && (
        <p>
          <label>
            Loader{" "}
            <select value={String(chosen)} onChange={(event) => choose(Number(event.currentTarget.value))}>
              {loaders.map((one, index) => (
                <option key={index} value={String(index + 1)}>
                  {loaderTitle(one)}
                </option>
              ))}
            </select>
          </label>
        </p>
      )}
      {asked.pending && <p class="dim">Simulating the loader …</p>}
      {error !== "" && (
        <p class="dim">
          {error.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}.
        </p>
      )}
      {error === "" && answer !== null && loader === undefined && (
        <p class="dim">
          A profiler's trace does not show the slow stage of the loader or the remedy: <RecordCommand /> records it,
          without a change of the program.
        </p>
      )}
      {error === "" && answer !== null && loader !== undefined && (
        <>
          {answer.forecast === null ? (
            <p class="dim">The effect of other settings is unknown: {answer.no_forecast}.</p>
          ) : (
            <LoaderSettings
              key={chosen}
              loading={answer}
              loader={loader}
              forecast={answer.forecast}
              state={state}
              go={go}
            />
          )}
          <section aria-labelledby="stages">
            <h2 id="stages">Stages of preparing a batch</h2>
            <DataTable label="Stages" columns={COLUMNS} rows={answer.stages} order={order} onOrder={onOrder} />
          </section>
          <section class="card" aria-labelledby="settings">
            <h2 id="settings">Settings of the loader</h2>
            <Facts facts={wordsOf(loader)} />
          </section>
          {answer.probe !== null && (
            <section class="card" aria-labelledby="probe">
              <h2 id="probe">Probes in this run</h2>
              <Facts facts={probeFacts(answer.probe)} />
              {answer.probe.limit_ms !== null && (
                <p>
                  With these workers, a step takes at least {formatMs(answer.probe.limit_ms)}, the time of the slower of
                  loop and preparation, even with samples in memory.
                </p>
              )}
              {answer.probe.doubts.map((doubt) => (
                <p key={doubt}>{formatSentence(doubt)}.</p>
              ))}
            </section>
          )}
          {answer.failures.length > 0 && (
            <section class="card" aria-labelledby="failures">
              <h2 id="failures">Errors in the loader</h2>
              <ul>
                {answer.failures.map((failure) => (
                  <li key={failure}>
                    <bdi>{formatSentence(failure)}</bdi>
                  </li>
                ))}
              </ul>
            </section>
          )}
        </>
      )}
    </>
  );
}
