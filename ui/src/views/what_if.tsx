import { useEffect, useMemo, useState } from "preact/hooks";
import { fetchWhatIf } from "../api/client";
import type { Forecast, Scenario, ScenarioKey, WhatIf as Answer } from "../api/types";
import { Bar } from "../components/bar";
import { formatBytes, formatMs, formatSentence, formatSpeedup } from "../format";
import { bySavings, choiceOf, defaultsOf, textOf } from "../model/scenario";
import type { ViewProps } from "./registry";

function KeyInput({ name, item, value, onValue }: { name: string; item: ScenarioKey; value: string; onValue: (value: string) => void }) {
  const label = `${item.name} of ${name}`;
  if (item.kind === "choice") {
    return (
      <select aria-label={label} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        {(item.choices ?? "").split("|").map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  }
  const numeric = item.kind !== "regex";
  return (
    <input
      aria-label={label}
      type={numeric ? "number" : "text"}
      min={numeric ? 0 : undefined}
      step={item.kind === "count" ? 1 : "any"}
      value={value}
      onChange={(event) => onValue(event.currentTarget.value)}
    />
  );
}

/** The answer to one combination, as large as it deserves. */
function Result({ forecast, baseline }: { forecast: Forecast; baseline: number }) {
  if (!forecast.applies || forecast.step_ms.mid === null) {
    return (
      <p>
        Cannot be told: {forecast.why}
      </p>
    );
  }
  const { low, mid, high } = forecast.step_ms;
  return (
    <>
      <p class="answer">
        <strong>{formatMs(mid)}</strong> a step, {formatSpeedup(forecast.speedup)}
      </p>
      <p class="dim">
        {formatMs(low)} to {formatMs(high)}; now {formatMs(baseline)} without the profiler. Memory:{" "}
        {forecast.memory_delta_bytes === null ? "not known" : formatBytes(forecast.memory_delta_bytes)}.{" "}
        {forecast.validated === true ? "Held against measurements." : "Not held against measurements."}
      </p>
      <Bar share={1} busy={mid / Math.max(mid, baseline)} label={`${formatMs(mid)} of ${formatMs(baseline)}`} />
      <p>{formatSentence(forecast.why)}</p>
    </>
  );
}

export function WhatIf({ catalogue, state, go }: ViewProps) {
  const scenario = state.query.scenario ?? "";
  const onChange = (next: string) => go({ ...state, query: { ...state.query, scenario: next } });
  const [ranking, setRanking] = useState<Answer | null>(null);
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState("");
  const choice = useMemo(() => choiceOf(scenario, catalogue), [scenario, catalogue]);

  useEffect(() => {
    fetchWhatIf([]).then(setRanking, (failure: Error) => setError(failure.message));
  }, []);
  useEffect(() => {
    if (scenario === "") return setAnswer(null);
    const abort = new AbortController();
    fetchWhatIf([scenario], abort.signal).then(
      (value) => {
        setError("");
        setAnswer(value);
      },
      (failure: Error) => {
        if (!abort.signal.aborted) setError(failure.message);
      },
    );
    return () => abort.abort();
  }, [scenario]);

  const toggle = (item: Scenario) => {
    const { [item.name]: off, ...rest } = choice;
    onChange(textOf(off === undefined ? { ...choice, [item.name]: defaultsOf(item) } : rest, catalogue));
  };
  const setKey = (item: Scenario, key: string, value: string) =>
    onChange(textOf({ ...choice, [item.name]: { ...choice[item.name], [key]: value } }, catalogue));
  const byName = new Map(ranking?.scenarios.map((forecast) => [forecast.name.split(":")[0], forecast]));
  const baseline = ranking?.baseline?.corrected_step_ms ?? answer?.baseline?.corrected_step_ms ?? 0;

  return (
    <>
      <section class="card sticky" aria-live="polite" aria-labelledby="result">
        <h2 id="result">{scenario === "" ? "What would a change buy?" : scenario}</h2>
        {error !== "" && <p class="error">{error}</p>}
        {scenario === "" && <p class="dim">Switch changes on; several together are one combination, replayed at once.</p>}
        {answer?.scenarios[0] !== undefined && error === "" && <Result forecast={answer.scenarios[0]} baseline={baseline} />}
      </section>
      <section aria-labelledby="changes">
        <h2 id="changes">Changes</h2>
        <ul class="changes">
          {bySavings(catalogue, (name) => byName.get(name)?.saves_ms ?? null).map((item) => {
            const values = choice[item.name];
            const alone = byName.get(item.name);
            return (
              <li key={item.name} class="card">
                <label>
                  <input type="checkbox" checked={values !== undefined} onChange={() => toggle(item)} /> <strong>{item.name}</strong>
                </label>
                <span class="dim"> {item.summary}</span>
                {alone?.saves_ms != null && <span class="alone">alone: saves {formatMs(alone.saves_ms)}</span>}
                {values !== undefined &&
                  item.keys.map((key) => (
                    <span key={key.name} class="key">
                      {key.name}{" "}
                      <KeyInput name={item.name} item={key} value={values[key.name] ?? ""} onValue={(value) => setKey(item, key.name, value)} />
                    </span>
                  ))}
              </li>
            );
          })}
        </ul>
      </section>
    </>
  );
}
