import { useMemo, useState } from "preact/hooks";
import type { OpenTrace } from "../api/types";
import { useAnswer } from "../api/use_answer";
import { DeltaBar } from "../components/delta_bar";
import { formatChange, formatCount, formatMs, formatPercent, formatPoints, formatSpeedup } from "../format";
import {
  type ComparedReport,
  type Difference,
  doubtsOf,
  hasSteps,
  partDifferences,
  rowDifferences,
  stepsOf,
  type Table,
} from "../model/compare";
import "./compare.css";
import type { ViewProps } from "./view";

const TABLES: [Table, string][] = [
  ["classes", "classes of kernels"],
  ["kernels", "kernels"],
  ["operators", "operators"],
];
const ROWS = 25;

const UNITS = {
  ms: { format: formatMs, formatDelta: formatChange },
  percent: { format: formatPercent, formatDelta: formatPoints },
};

function Rows({ rows, label, unit = "ms" }: { rows: Difference[]; label: string; unit?: keyof typeof UNITS }) {
  const most = Math.max(...rows.map((row) => Math.abs(row.delta)), 0);
  const { format, formatDelta } = UNITS[unit];
  const value = (size: number | null) => (size === null ? <span class="dim">missing</span> : format(size));
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label={label}>
      <table class="compare-table">
        <thead>
          <tr>
            <th scope="col" class="name">
              Name
            </th>
            <th scope="col" class="number">
              First
            </th>
            <th scope="col" class="number">
              Then
            </th>
            <th scope="col" class="number">
              Difference
            </th>
            <th scope="col" class="delta">
              less | more
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row" title={row.name}>
                {row.name}
              </th>
              <td class="number">{value(row.before)}</td>
              <td class="number">{value(row.after)}</td>
              <td class="number">{formatDelta(row.delta)}</td>
              <td class="delta">
                <DeltaBar delta={row.delta} most={most} label={formatDelta(row.delta)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Whole({ before, after }: { before: ComparedReport; after: ComparedReport }) {
  const steps = stepsOf(before, after);
  const path = (report: ComparedReport) => report.inputs[0]?.path ?? "";
  return (
    <section class="card" aria-labelledby="whole">
      <h2 id="whole">Two recordings</h2>
      {steps === null ? (
        <p>One of the recordings has no complete step.</p>
      ) : (
        <p class="answer">
          <strong>
            {formatMs(steps.beforeMs)} → {formatMs(steps.afterMs)}
          </strong>{" "}
          per step, <strong>{formatSpeedup(steps.afterMs > 0 ? steps.beforeMs / steps.afterMs : null)}</strong>
        </p>
      )}
      <dl class="compare-pair">
        <dt>First</dt>
        <dd>
          {path(before)}{" "}
          <span class="dim">
            verdict: {before.bottleneck.verdict}, {formatCount(before.steps.count)} steps
          </span>
        </dd>
        <dt>Then</dt>
        <dd>
          {path(after)}{" "}
          <span class="dim">
            verdict: {after.bottleneck.verdict}, {formatCount(after.steps.count)} steps
          </span>
        </dd>
      </dl>
      {steps !== null && (
        <p class="dim">
          {steps.corrected ? "Medians without the profiler's cost." : "Medians, as recorded with the profiler."}
        </p>
      )}
      {doubtsOf(before, after).map((doubt) => (
        <p key={doubt}>
          <span class="severity warning">Not comparable.</span> {doubt}
        </p>
      ))}
    </section>
  );
}

/** Returns the two reports in order: before, after. */
function orderOf(job: ComparedReport, other: ComparedReport, isEarlier: boolean): [ComparedReport, ComparedReport] {
  return isEarlier ? [other, job] : [job, other];
}

function Differences({
  before,
  after,
  state,
  go,
}: { before: ComparedReport; after: ComparedReport } & Pick<ViewProps, "state" | "go">) {
  const [all, setAll] = useState(false);
  const table = TABLES.find(([name]) => name === state.query.table)?.[0] ?? "classes";
  const parts = useMemo(() => partDifferences(before, after), [before, after]);
  const rows = useMemo(() => rowDifferences(before, after, table), [before, after, table]);
  const ofStep = hasSteps(before, after);
  const shown = all ? rows : rows.slice(0, ROWS);
  return (
    <>
      <Whole before={before} after={after} />
      <section class="card" aria-labelledby="parts">
        <h2 id="parts">Parts of the mean step</h2>
        {parts === null ? (
          <p class="dim">One of the recordings has no breakdown of the step.</p>
        ) : (
          <Rows rows={parts} label="Parts of the step" />
        )}
        <p class="dim">As recorded; each moment belongs to one part.</p>
      </section>
      <section class="card" aria-labelledby="rows">
        <h2 id="rows">{ofStep ? "GPU time of a step" : "Shares of the GPU time"}</h2>
        {!ofStep && (
          <p>One of the recordings has no complete step, so this compares shares of GPU time instead of times.</p>
        )}
        <p class="choices">
          {TABLES.map(([name, title]) => (
            <label key={name}>
              <input
                type="radio"
                name="table"
                checked={table === name}
                onChange={() => go({ ...state, query: { ...state.query, table: name === "classes" ? "" : name } })}
              />{" "}
              {title}
            </label>
          ))}
        </p>
        <Rows rows={shown} label={ofStep ? "GPU time" : "Shares of the GPU time"} unit={ofStep ? "ms" : "percent"} />
        {rows.length > ROWS && (
          <button type="button" onClick={() => setAll(!all)}>
            {all ? "Show only the largest differences" : `Show all ${formatCount(rows.length)}`}
          </button>
        )}
        <p class="dim">
          {ofStep
            ? "GPU time under that name, divided by the number of steps"
            : "GPU time under that name, as a share of all GPU work"}
          ; those that differ most first.
        </p>
      </section>
    </>
  );
}

export function Compare({ report, state, go }: ViewProps) {
  const open = useAnswer<{ traces: OpenTrace[] }>("traces");
  const traces = open.answer?.traces ?? null;
  const others = traces?.slice(1) ?? [];
  const chosen = others.find((one) => String(one.trace) === state.query.with) ?? others[0];
  const other = useAnswer<ComparedReport>(chosen === undefined ? null : `report?trace=${chosen.trace}`);

  if (open.error !== "") return <p class="card error">{open.error}</p>;
  if (traces === null) return <p class="dim">Listing the open traces …</p>;
  if (chosen === undefined)
    return (
      <section class="card" aria-labelledby="none">
        <h2 id="none">One trace is open</h2>
        <p>
          Start the page with two traces to see the changes from the first to the second:{" "}
          <code>headroom ui before.json.gz after.json.gz</code>
        </p>
      </section>
    );
  const pair = other.answer === null ? null : orderOf(report, other.answer, chosen.earlier);
  return (
    <>
      {others.length > 1 && (
        <label>
          Compared with{" "}
          <select
            value={String(chosen.trace)}
            onChange={(event) => go({ ...state, query: { ...state.query, with: event.currentTarget.value } })}
          >
            {others.map((one) => (
              <option key={one.trace} value={String(one.trace)}>
                {one.path}
              </option>
            ))}
          </select>
        </label>
      )}
      {other.error !== "" && <p class="card error">{other.error}</p>}
      {other.pending && <p class="dim">Reading the other report …</p>}
      {pair !== null && <Differences before={pair[0]} after={pair[1]} state={state} go={go} />}
    </>
  );
}
