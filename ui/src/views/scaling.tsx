import { useMemo } from "preact/hooks";
import type { Scaling as Answer, Cluster, ScalePoint } from "../api/forecasts";
import { useAnswer } from "../api/use_answer";
import { Chart } from "../components/chart";
import { Refusal } from "../components/refusal";
import { Slider } from "../components/slider";
import { useDraft } from "../components/use_draft";
import { formatCount, formatGbps, formatMs, formatPercent, formatRate, formatSentence, formatSpeedup } from "../format";
import type { ChartSeries } from "../model/charts/chart";
import {
  commandOf,
  efficiencyPoints,
  LEAST_GBPS,
  LIMITS,
  MOST_GBPS,
  MOST_GPUS,
  PER_NODE,
  pathOf,
  queryOf,
  SCHEDULES,
  type ScaleSettings,
  settingsOf,
  throughputPoints,
  toldOf,
  verdictOf,
} from "../model/scaling";
import type { ViewProps } from "./view";
import "./scaling.css";

const GBPS = { least: LEAST_GBPS, most: MOST_GBPS, log: true, whole: true };

interface ControlsProps {
  settings: ScaleSettings;
  clusters: Cluster[];
  scenario: string;
  onChange: (change: Partial<ScaleSettings>) => void;
}

function Controls({ settings, clusters, scenario, onChange }: ControlsProps) {
  const select = (title: string, value: string, options: [string, string][], pick: (value: string) => void) => (
    <label>
      <span>{title}</span>
      <select value={value} onChange={(event) => pick(event.currentTarget.value)}>
        {options.map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
  const numbers = (values: number[]): [string, string][] => values.map((value) => [String(value), formatCount(value)]);
  return (
    <div class="scale-controls">
      {select(
        "Machines and network",
        settings.cluster,
        [["", "custom bandwidth"], ...clusters.map((one): [string, string] => [one.cluster, one.description])],
        (cluster) => onChange({ cluster }),
      )}
      {settings.cluster === "" && (
        <fieldset>
          <legend>Bandwidth between machines, each way</legend>
          <Slider
            label="Bandwidth"
            value={String(settings.gbps)}
            range={GBPS}
            unit="Gbit/s"
            onValue={(value) => {
              const gbps = Number(value);
              if (gbps >= LEAST_GBPS && gbps <= MOST_GBPS) onChange({ gbps });
            }}
          />
        </fieldset>
      )}
      {settings.cluster === "" &&
        select("GPUs per machine", String(settings.perNode), numbers(PER_NODE), (value) =>
          onChange({ perNode: Number(value) }),
        )}
      {select("Largest number of GPUs", String(settings.most), numbers(MOST_GPUS), (value) =>
        onChange({ most: Number(value) }),
      )}
      {select("Gradient exchange", settings.schedule, SCHEDULES, (schedule) => onChange({ schedule }))}
      <fieldset>
        <legend>More GPUs</legend>
        <label>
          <input type="radio" name="mode" checked={!settings.strong} onChange={() => onChange({ strong: false })} />{" "}
          take more samples (weak)
        </label>
        <label>
          <input type="radio" name="mode" checked={settings.strong} onChange={() => onChange({ strong: true })} /> split
          the batch (strong scaling)
        </label>
      </fieldset>
      {scenario !== "" && (
        <label>
          <span>From “What if”</span>
          <input
            type="checkbox"
            checked={settings.changes !== ""}
            onChange={(event) => onChange({ changes: event.currentTarget.checked ? scenario : "" })}
          />
          <span>
            with <code>{scenario}</code>
          </span>
        </label>
      )}
    </div>
  );
}

/** Says what the largest number of GPUs gains: "64 GPUs: 82.1 % efficiency, limited by communication". */
function scalingHeadline(scaling: Answer): string {
  const verdict = verdictOf(scaling);
  if (verdict === null) return "No forecast for more GPUs";
  const { at } = verdict;
  const limit = at.limited_by === null ? "" : `, limited by ${at.limited_by}`;
  return `${formatCount(at.gpus)} ${at.gpus === 1 ? "GPU" : "GPUs"}: ${formatPercent(at.efficiency_pct)} efficiency${limit}`;
}

/** A sentence on the limit, and the figures behind it. */
function Verdict({ scaling }: { scaling: Answer }) {
  const verdict = verdictOf(scaling);
  if (verdict === null)
    return <p>No forecast: {scaling.why ?? scaling.points[0]?.why ?? "no number of GPUs has a forecast"}.</p>;
  const { at, since } = verdict;
  const limit = at.limited_by === null ? "" : LIMITS[at.limited_by];
  const { baseline } = scaling;
  const exposed = at.exposed_communication_ms ?? 0;
  return (
    <>
      <p>
        Limit{since === null ? "" : ` from ${formatCount(since)} GPUs on`}: {limit}.
        {exposed > 0 &&
          ` On ${formatCount(at.gpus)}, ${formatMs(exposed)} of the ${formatMs(at.step_ms.mid)} step wait for the network.`}
        {at.why !== "" && ` ${formatSentence(at.why)}.`}
      </p>
      <p class="dim">
        One GPU: {formatMs(baseline.step_ms.mid)} ({formatMs(baseline.step_ms.low)} to {formatMs(baseline.step_ms.high)}
        ){baseline.samples_per_step !== null && `, ${formatCount(baseline.samples_per_step)} samples per step`}.
        {baseline.recorded_gpus !== null &&
          baseline.recorded_gpus > 1 &&
          ` Recorded on ${formatCount(baseline.recorded_gpus)} GPUs: ${baseline.recorded_network}.`}
        {baseline.steps_note !== null && ` ${formatSentence(baseline.steps_note)}.`}
      </p>
    </>
  );
}

/** Returns evenly spaced counts that fit below a chart, including the last. */
function evenly(counts: number[]): number[] {
  const every = Math.ceil(counts.length / 9);
  return counts.filter((_, index) => (counts.length - 1 - index) % every === 0);
}

function Curves({ points }: { points: ScalePoint[] }) {
  const throughput = useMemo(() => throughputPoints(points), [points]);
  const formatDone = throughput.inSamples ? (value: number) => formatRate(value, "samples") : formatSpeedup;
  const done = useMemo((): ChartSeries[] => {
    const ideal: ChartSeries = {
      label: "linear scaling",
      points: throughput.ideal,
      dashed: true,
      color: "--dim",
    };
    return [
      { label: "forecast, with its range", points: throughput.points, color: "--series-1", format: formatDone },
      { ...ideal, format: formatDone },
    ];
  }, [throughput]);
  const efficiency = useMemo(
    (): ChartSeries[] => [{ label: "efficiency", points: efficiencyPoints(points), color: "--series-1" }],
    [points],
  );
  const count = (value: number) => formatCount(Math.round(value));
  const x = { label: "GPUs", format: count, log: true, ticks: evenly(points.map((point) => point.gpus)) };
  const last = toldOf(points).at(-1);
  if (last === undefined) return null;
  return (
    <div class="scale-curves">
      <div>
        <h3>Throughput</h3>
        <Chart
          label={`Throughput over GPUs: ${formatDone(throughput.points.at(-1)?.y ?? 0)} on ${last.gpus}.`}
          series={done}
          x={x}
          y={{
            label: throughput.inSamples ? "samples per second" : "throughput of one GPU = 1",
            format: (value) => (value < 10 ? String(value) : count(value)),
            log: true,
          }}
          height={260}
        />
      </div>
      <div>
        <h3>Efficiency</h3>
        <Chart
          label={`Efficiency over GPUs: ${formatPercent(last.efficiency_pct)} on ${last.gpus}.`}
          series={efficiency}
          x={x}
          y={{ label: "share of linear scaling", format: formatPercent, min: 0, max: 110 }}
          height={260}
        />
      </div>
    </div>
  );
}

function Table({ points }: { points: ScalePoint[] }) {
  const limits = [...new Set(points.map((point) => point.limited_by))].filter((limit) => limit !== null);
  return (
    <>
      <div class="scrolls" tabIndex={0} role="region" aria-label="Forecasts for each number of GPUs">
        <table class="scale-table">
          <thead>
            <tr>
              {["GPUs", "Machines", "Step", "Range", "Throughput", "Efficiency", "Waits for network"].map((title) => (
                <th key={title} scope="col" class="number">
                  {title}
                </th>
              ))}
              <th scope="col">Limited by</th>
            </tr>
          </thead>
          <tbody>
            {points.map((point) => (
              <tr key={point.gpus} class={point.step_ms.mid === null ? "dim" : ""}>
                <th scope="row" class="number">
                  {formatCount(point.gpus)}
                </th>
                <td class="number">{formatCount(point.nodes)}</td>
                {point.step_ms.mid === null ? (
                  <td colSpan={6}>{formatSentence(point.why)}</td>
                ) : (
                  <>
                    <td class="number">{formatMs(point.step_ms.mid)}</td>
                    <td class="number">
                      {formatMs(point.step_ms.low)} to {formatMs(point.step_ms.high)}
                    </td>
                    <td class="number">{formatRate(point.throughput_per_s, "samples")}</td>
                    <td class="number">{formatPercent(point.efficiency_pct)}</td>
                    <td class="number">{formatMs(point.exposed_communication_ms)}</td>
                    <td title={point.why}>{point.limited_by}</td>
                  </>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <ul class="dim">
        {limits.map((limit) => (
          <li key={limit}>
            {limit}: {LIMITS[limit]}
          </li>
        ))}
      </ul>
    </>
  );
}

export function Scaling({ report, state, go }: ViewProps) {
  const scenario = state.query.scenario ?? "";
  const outer = new URLSearchParams(queryOf(settingsOf(state.query))).toString();
  const [draft, setDraft] = useDraft(outer, (text) =>
    go({ ...state, query: { ...state.query, ...Object.fromEntries(new URLSearchParams(text)) } }),
  );
  const settings = useMemo(
    () => settingsOf({ ...Object.fromEntries(new URLSearchParams(draft)), scenario }),
    [draft, scenario],
  );
  const known = useAnswer<{ clusters: Cluster[] }>("clusters");
  const clusters = known.answer?.clusters ?? null;
  const cluster = clusters?.find((one) => one.cluster === settings.cluster);
  const room = cluster?.nodes_at_most == null ? null : cluster.nodes_at_most * cluster.gpus_per_node;
  const {
    answer,
    error: refused,
    pending,
  } = useAnswer<Answer>(clusters === null ? null : pathOf(settings, room), true);
  const error = known.error !== "" ? known.error : refused;
  const onChange = (change: Partial<ScaleSettings>) =>
    setDraft(new URLSearchParams(queryOf({ ...settings, ...change })).toString(), change.gbps !== undefined);
  // No setting helps a trace that cannot be replayed.
  const isRefused = error !== "" && report.engine_window === null;
  const network =
    cluster?.description ??
    `${formatGbps(settings.gbps)} between machines of ${formatCount(settings.perNode)} ${settings.perNode === 1 ? "GPU" : "GPUs"}`;

  return (
    <>
      <section class="card" aria-labelledby="question">
        <h2 id="question">{answer === null ? "This job on more GPUs" : scalingHeadline(answer)}</h2>
        {!isRefused && (
          <Controls settings={settings} clusters={clusters ?? []} scenario={scenario} onChange={onChange} />
        )}
      </section>
      <section class={`card ${pending ? "stale" : ""}`} aria-live="polite" aria-labelledby="limit">
        <h2 id="limit">{network}</h2>
        {error !== "" && <Refusal why={error} command="headroom scale" trace={report.inputs[0]?.path ?? "TRACE"} />}
        {error === "" && answer === null && <p class="dim">Replaying the job with its gradients on the network …</p>}
        {error === "" && answer !== null && <Verdict scaling={answer} />}
        {error === "" && answer !== null && <Curves points={answer.points} />}
      </section>
      {error === "" && answer !== null && answer.points.length > 0 && (
        <section class={`card ${pending ? "stale" : ""}`} aria-labelledby="points">
          <h2 id="points">Each number of GPUs</h2>
          <Table points={answer.points} />
          <p class="dim">
            The same as a command: <code>{commandOf(settings, room, report.inputs[0]?.path ?? "TRACE")}</code>
          </p>
        </section>
      )}
    </>
  );
}
