import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { embeddedAnswers } from "../api/embedded";
import type { WhatIf as Answer, BatchCurve, Forecast, Report, Scenario, ScenarioKey } from "../api/types";
import { useAnswer } from "../api/use_answer";
import { type Ranking, useRanking } from "../api/use_ranking";
import { Bar } from "../components/bar";
import { Chart } from "../components/chart";
import { Command } from "../components/command";
import { Slider } from "../components/slider";
import { useDraft } from "../components/use_draft";
import { Waterfall } from "../components/waterfall";
import { formatBytes, formatCount, formatMs, formatRate, formatSentence, formatSpeedup } from "../format";
import { isWhole, notesOf, sentenceOf } from "../model/baseline";
import type { ChartSeries } from "../model/charts/chart";
import { rangeOf } from "../model/charts/key_range";
import { barsOf, prefixesOf } from "../model/charts/waterfall";
import { quoted } from "../model/command";
import {
  type Alone,
  choiceOf,
  defaultsOf,
  groupsOf,
  isUpperBound,
  namesOf,
  textOf,
  titlesOf,
  valuesText,
} from "../model/scenario";
import { ForecastTimeline } from "../timeline/forecast_timeline";
import type { ViewProps } from "./view";
import "./what_if.css";

const pathOf = (scenarios: string[]) =>
  `whatif${scenarios.map((one, index) => `${index === 0 ? "?" : "&"}scenario=${encodeURIComponent(one)}`).join("")}`;

interface KeyInputProps {
  name: string;
  item: ScenarioKey;
  value: string;
  batch: number | null;
  onValue: (value: string) => void;
}

function KeyInput({ name, item, value, batch, onValue }: KeyInputProps) {
  const label = `${item.name} of ${name}`;
  const range = useMemo(() => rangeOf(item, batch), [item, batch]);
  if (item.kind === "choice") {
    return (
      <select aria-label={label} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        {(item.choices ?? "").split("|").map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  }
  if (range !== null) return <Slider label={label} value={value} range={range} onValue={onValue} />;
  return <input aria-label={label} type="text" value={value} onInput={(event) => onValue(event.currentTarget.value)} />;
}

/** The forecast of one combination, in large type. */
function Result({
  forecast,
  baseline,
  samples,
  steps,
}: {
  forecast: Forecast;
  baseline: number;
  samples: number | null; // Chosen batch size.
  steps: Report["steps"];
}) {
  const { low, mid, high } = forecast.step_ms;
  const isBound = isUpperBound(forecast);
  const rate = forecast.batch_curve?.points.find((point) => point.samples === samples)?.samples_per_s;
  if (!forecast.applies || mid === null) return <p>No forecast: {forecast.why}</p>;
  return (
    <>
      <p class="answer">
        {isBound && "At best "}
        <strong>{formatMs(mid)}</strong> {isWhole(steps) ? "in total" : "per step"}, {isBound && "at most "}
        <strong>{formatSpeedup(forecast.speedup)}</strong>
        {rate !== undefined && `, ${formatRate(rate, "samples")}`}
      </p>
      <p class="dim">
        {formatMs(low)} to {formatMs(high)}; now {formatMs(baseline)}, both without the profiler. Memory:{" "}
        {forecast.memory_delta_bytes === null
          ? "unknown"
          : forecast.memory_delta_bytes === 0
            ? "unchanged"
            : `${forecast.memory_delta_bytes > 0 ? "+" : ""}${formatBytes(forecast.memory_delta_bytes)}`}
        .
      </p>
      <p class="why">
        {formatSentence(forecast.why)}.{" "}
        <span class="dim">
          {forecast.validated === true
            ? "Forecasts of this kind were validated against measurements."
            : forecast.validated === "out of range"
              ? "Validated against measurements, but not for these values or this GPU."
              : "Forecasts of this kind were not validated against measurements."}
        </span>
      </p>
    </>
  );
}

function BatchCurves({ curve, asked }: { curve: BatchCurve; asked: number | null }) {
  const fitting = useMemo(() => curve.points.filter((point) => !point.too_large), [curve]);
  const line = (label: string, value: (point: BatchCurve["points"][number]) => number | null): ChartSeries[] => [
    {
      label,
      points: curve.points.flatMap((point) =>
        value(point) === null ? [] : [{ x: point.samples, y: value(point) ?? 0 }],
      ),
      color: "--series-1",
    },
  ];
  const throughput = useMemo(() => line("throughput", (point) => point.samples_per_s), [curve]);
  const step = useMemo(() => line("step", (point) => point.step_ms), [curve]);
  const memory = useMemo(() => line("memory", (point) => point.memory_delta_bytes), [curve]);
  const x = {
    label: "samples per step",
    format: formatCount,
    log: true,
    ticks: curve.points
      .map((point) => point.samples)
      .filter((samples) => samples !== asked || samples === curve.recorded_samples),
  };
  const best = fitting.at(-1);
  return (
    <section class="card more" aria-labelledby="batch">
      <h2 id="batch">Batch size</h2>
      <p>
        {curve.knee_samples === null
          ? "Up to the largest batch here, doubling the batch always gains at least 10 % throughput."
          : `From ${formatCount(curve.knee_samples)} samples on, doubling the batch gains less than 10 % throughput.`}
        {best !== undefined &&
          fitting.length < curve.points.length &&
          ` Above ${formatCount(best.samples)} samples, the job does not fit in the GPU's memory.`}
        <span class="dim"> Recorded: {formatCount(curve.recorded_samples)}.</span>
      </p>
      <div class="curves">
        <Chart
          label="Throughput over the batch size."
          series={throughput}
          x={x}
          y={{ label: "samples per second", format: (value) => formatRate(value, "samples"), min: 0 }}
          height={190}
        />
        <Chart
          label="Step time over the batch size."
          series={step}
          x={x}
          y={{ label: "per step", format: formatMs, min: 0 }}
          height={190}
        />
        {(memory[0]?.points.length ?? 0) > 0 && (
          <Chart
            label="Memory over the batch size."
            series={memory}
            x={x}
            y={{ label: "change of memory", format: formatBytes }}
            height={190}
          />
        )}
      </div>
    </section>
  );
}

/** Shows the contribution of each part of a combination, in the order in which they apply. */
function Parts({
  answer,
  whole,
  baseline,
  catalogue,
}: {
  answer: Answer;
  whole: Forecast;
  baseline: number;
  catalogue: Scenario[];
}) {
  const bars = barsOf(baseline, answer.scenarios, whole)?.map((bar) => ({
    ...bar,
    label: titlesOf(bar.label, catalogue),
  }));
  if (bars === undefined) return null;
  return (
    <section class="card more" aria-labelledby="parts">
      <h2 id="parts">Effect of each change</h2>
      <Waterfall baselineMs={baseline} bars={bars} low={whole.step_ms.low ?? 0} high={whole.step_ms.high ?? 0} />
      {bars.length > 1 && (
        <p class="dim">Each change applies on top of those above it. Alone, a change may save more or less.</p>
      )}
    </section>
  );
}

interface ChangeProps {
  item: Scenario;
  values: Record<string, string> | undefined; // Undefined: not switched on.
  alone: Alone | undefined; // Undefined: not ranked.
  baseline: number;
  batch: number | null;
  why: string; // Why it does not apply; empty: it may.
  onToggle: () => void;
  onKey: (key: string, value: string) => void;
}

function Change({ item, values, alone, baseline, batch, why, onToggle, onKey }: ChangeProps) {
  const savesMs = alone?.saves_ms ?? null;
  const atMost = alone !== undefined && isUpperBound(alone) ? "up to " : "";
  return (
    <li class="card change" data-scenario={item.name}>
      <div class="change-head">
        <label title={item.name}>
          <input type="checkbox" checked={values !== undefined} onChange={onToggle} /> <strong>{item.title}</strong>
        </label>
        {savesMs !== null && (
          <span class={savesMs < 0 ? "alone costs" : "alone"}>
            {savesMs < 0
              ? `costs ${formatMs(-savesMs)}`
              : savesMs === 0
                ? "saves nothing"
                : `saves ${atMost}${formatMs(savesMs)}`}
          </span>
        )}
      </div>
      <div class="dim change-text">
        {item.summary}
        {savesMs !== null && item.keys.length > 0 && ` (with ${valuesText(item)})`}
      </div>
      {why !== "" && <p class="abstains">{formatSentence(why)}.</p>}
      {savesMs !== null && savesMs > 0 && baseline > 0 && (
        <Bar
          share={1}
          busy={savesMs / baseline}
          label={`saves ${atMost}${formatMs(savesMs)} of ${formatMs(baseline)}`}
        />
      )}
      {values !== undefined &&
        item.keys.map((key) => (
          <span key={key.name} class="key">
            {key.name}{" "}
            <KeyInput
              name={item.name}
              item={key}
              value={values[key.name] ?? ""}
              batch={batch}
              onValue={(value) => onKey(key.name, value)}
            />
          </span>
        ))}
    </li>
  );
}

const NONE: Answer = { schema: "", baseline: null, scenarios: [] };

function RankingState({ ranked: { progress, isCancelled, cancel } }: { ranked: Ranking }) {
  if (isCancelled)
    return (
      <p class="dim">The forecasts of all changes were cancelled. A change that you switch on is still replayed.</p>
    );
  return (
    <p class="dim">
      {progress !== null && progress.done > 0 && (
        <>
          <progress value={progress.done} max={progress.of} aria-label="Replayed changes" />{" "}
          <button type="button" onClick={cancel}>
            Cancel
          </button>{" "}
          {progress.done} of {progress.of}:{" "}
        </>
      )}
      Replaying each change …
    </p>
  );
}

export function WhatIf({ report, catalogue, state, go }: ViewProps) {
  const outer = state.query.scenario ?? "";
  const [scenario, setScenario] = useDraft(outer, (next) =>
    go({ ...state, query: { ...state.query, scenario: next } }),
  );
  const flags = useAnswer<{ forecast_arguments: string[] }>("traces").answer?.forecast_arguments ?? [];
  const choice = useMemo(() => choiceOf(scenario, catalogue), [scenario, catalogue]);
  const batch = report.throughput?.batch_size ?? null;

  const askedSamples = Number(choice["batch-size"]?.n ?? "") || null;
  const { answer, error, pending } = useAnswer<Answer>(scenario === "" ? null : pathOf([scenario]), true);
  // The main forecast is requested first, then those of its parts and of each change alone.
  const answered = scenario === "" || answer !== null || error !== "";
  const [asksRanking, setAsksRanking] = useState(answered);
  useEffect(() => {
    if (answered) setAsksRanking(true);
  }, [answered]);
  const ranked = useRanking(asksRanking);
  const ranking = ranked.answer;
  const prefixes = prefixesOf(choice, catalogue);
  const settled = useRef("");
  if (!pending) settled.current = prefixes.length === 0 ? "" : pathOf(prefixes);
  const parts = useAnswer<Answer>(settled.current === "" ? null : settled.current, true);

  const whole = answer?.scenarios[0];
  // Draws the timeline after the slider stops, because each one needs a replay.
  const shownScenario = useRef(scenario);
  if (!pending) shownScenario.current = scenario;
  const hasTimeline = embeddedAnswers() === null && report.gpu_time.length > 0;
  const job = answer?.baseline ?? ranking?.baseline ?? null;
  const baseline = job?.corrected_step_ms ?? 0;
  const notes = job === null ? [] : notesOf(job);
  const shownParts = prefixes.length === 0 ? NONE : parts.answer;
  const partsFit =
    shownParts !== null &&
    (shownParts === NONE || whole?.name.startsWith(`${shownParts.scenarios[0]?.name}+`) === true);
  const alone = useMemo(
    () =>
      new Map(
        (ranking?.scenarios ?? []).map((forecast): [string, Alone] => [forecast.name.split(":")[0] ?? "", forecast]),
      ),
    [ranking],
  );
  const whyNot = useMemo(
    () => new Map((ranking?.abstaining ?? []).map((one): [string, string] => [one.name, one.why])),
    [ranking],
  );
  const { groups, abstaining } = useMemo(() => groupsOf(catalogue, alone, whyNot), [catalogue, alone, whyNot]);

  const toggle = (item: Scenario) => {
    const { [item.name]: off, ...rest } = choice;
    const values = defaultsOf(item);
    if (item.name === "batch-size" && batch !== null) values.n = String(2 * batch);
    setScenario(textOf(off === undefined ? { ...choice, [item.name]: values } : rest, catalogue));
  };
  const setKey = (item: Scenario, key: string, value: string) =>
    setScenario(textOf({ ...choice, [item.name]: { ...choice[item.name], [key]: value } }, catalogue), true);

  const change = (item: Scenario, why = "") => (
    <Change
      key={item.name}
      item={item}
      values={choice[item.name]}
      alone={alone.get(item.name)}
      baseline={baseline}
      batch={batch}
      why={why}
      onToggle={() => toggle(item)}
      onKey={(key, value) => setKey(item, key, value)}
    />
  );
  return (
    <div class="whatif">
      <div class="shown">
        <section class="card sticky" aria-live="polite" aria-labelledby="result">
          <h2 id="result">{scenario === "" ? "Forecast of a change" : titlesOf(scenario, catalogue)}</h2>
          {Object.keys(choice).length > 1 && (
            <p class="chosen">
              {catalogue
                .filter((item) => choice[item.name] !== undefined)
                .map((item) => (
                  <button key={item.name} type="button" title={`Switch off ${item.name}`} onClick={() => toggle(item)}>
                    {item.title} <span aria-hidden="true">×</span>
                  </button>
                ))}
            </p>
          )}
          {scenario === "" && (
            <p class="dim">
              {baseline > 0 && `${sentenceOf(baseline, report.steps)} `}
              Switch on one or more changes; several are replayed together as one combination.
            </p>
          )}
          {error !== "" && <p class="error">{formatSentence(error)}</p>}
          {scenario !== "" && whole !== undefined && error === "" && (
            <div class={pending ? "stale" : ""}>
              <Result forecast={whole} baseline={baseline} samples={askedSamples} steps={report.steps} />
            </div>
          )}
          {scenario !== "" && answer === null && error === "" && <p class="dim">Replaying …</p>}
          {scenario !== "" && (
            <p class="result-foot">
              <Command
                text={["headroom", "whatif", report.inputs[0]?.path ?? "", scenario, ...flags].map(quoted).join(" ")}
              />
              <button type="button" onClick={() => setScenario("")}>
                Switch all off
              </button>
            </p>
          )}
        </section>
        {notes.length > 0 && (
          <section class="card" aria-label="Notes on the figures">
            {notes.map((note) => (
              <p key={note}>
                <span class="severity warning">Steps.</span> {note}
              </p>
            ))}
          </section>
        )}
        {scenario !== "" && error === "" && whole !== undefined && shownParts !== null && partsFit && (
          <div class={`more ${pending || parts.pending ? "stale" : ""}`}>
            <Parts answer={shownParts} whole={whole} baseline={baseline} catalogue={catalogue} />
          </div>
        )}
        {scenario !== "" && whole?.applies === true && hasTimeline && (
          <section class="card more" aria-labelledby="forecast-steps">
            <h2 id="forecast-steps">A step before and after</h2>
            <ForecastTimeline scenario={shownScenario.current} title={namesOf(shownScenario.current, catalogue)} />
          </section>
        )}
        {scenario !== "" && error === "" && whole?.batch_curve != null && (
          <div class={`more ${pending ? "stale" : ""}`}>
            <BatchCurves curve={whole.batch_curve} asked={askedSamples} />
          </div>
        )}
      </div>
      <section class="made" aria-labelledby="changes">
        <h2 id="changes">Changes</h2>
        {ranked.error !== "" && <p class="error">{formatSentence(ranked.error)}</p>}
        {ranking !== null && ranking.scenarios.length === 0 && (
          <p class="error">
            No change can be forecast for this trace
            {ranking.abstaining?.[0] !== undefined && `: ${ranking.abstaining[0].why}`}.
          </p>
        )}
        {ranking === null && ranked.error === "" && answered && <RankingState ranked={ranked} />}
        {groups.map(({ id, title, items }) => (
          <section key={id} aria-labelledby={`group-${id}`}>
            <h3 id={`group-${id}`}>{title}</h3>
            <ul class="changes">{items.map((item) => change(item))}</ul>
          </section>
        ))}
        {abstaining.length > 0 && (
          <details open={abstaining.some(({ item }) => choice[item.name] !== undefined)}>
            <summary>{formatCount(abstaining.length)} changes that do not apply to this job, with the reasons</summary>
            <ul class="changes">{abstaining.map(({ item, why }) => change(item, why))}</ul>
          </details>
        )}
      </section>
    </div>
  );
}
