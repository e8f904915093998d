import { useMemo, useState } from "preact/hooks";
import type { Change, ChangedRow, Diff, DiffSide } from "../api/diff";
import type { Source, Timeline } from "../api/timeline";
import type { OpenTrace, Report } from "../api/types";
import { useAnswer } from "../api/use_answer";
import { type Column, DataTable, useOrder } from "../components/data_table";
import { DeltaBar } from "../components/delta_bar";
import { linksOfRows } from "../components/row_links";
import { Waterfall } from "../components/waterfall";
import {
  formatChange,
  formatCount,
  formatMs,
  formatNumber,
  formatPercent,
  formatPoints,
  formatSentence,
  formatSpeedup,
} from "../format";
import { accountBars, type ComparedReport, type Difference, shareDifferences, type Table } from "../model/compare";
import { aligned } from "../model/step_pairs";
import { StackedTimelines } from "../timeline/stacked_timelines";
import { around } from "../timeline/viewport";
import type { ViewProps } from "./view";
import "./compare.css";
import "./what_if.css";

type ChangedTable = "operators" | "kernels" | "layers";
const CHANGED_TABLES: [ChangedTable, string][] = [
  ["operators", "operators"],
  ["kernels", "kernels"],
  ["layers", "layers"],
];
const STATES = { changed: null, new: "new", gone: "gone" };

function Side({ name, side }: { name: string; side: DiffSide }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        {side.baseline ?? side.paths.join(", ")}{" "}
        <span class="dim">
          verdict: {side.verdict}, {formatCount(side.steps)} steps, trace health {side.grade}
        </span>
      </dd>
    </>
  );
}

/** Facts that differ between the two; those that make the comparison invalid come first. */
function Facts({ diff }: { diff: Diff }) {
  const different = diff.facts.filter((fact) => fact.state === "different");
  if (different.length === 0) return null;
  return (
    <ul>
      {[...different]
        .sort((a, b) => Number(b.blocks) - Number(a.blocks))
        .map((fact) => (
          <li key={fact.name}>
            {fact.blocks && <span class="severity warning">Not comparable. </span>}
            {formatSentence(fact.name.replaceAll("_", " "))}: {fact.a ?? "unknown"} → {fact.b ?? "unknown"}
            {fact.cost !== null && <span class="dim"> ({fact.cost})</span>}
          </li>
        ))}
    </ul>
  );
}

const intervalText = ({ change, low, high }: Change): string =>
  low === null || high === null
    ? formatChange(change)
    : `${formatChange(change)}, 95 % interval ${formatChange(low)} to ${formatChange(high)}`;

function Whole({ diff }: { diff: Diff }) {
  const step = diff.step_ms;
  const corrected = diff.corrected_step_ms;
  const change = (corrected ?? step).change;
  return (
    <section class="card" aria-labelledby="whole">
      <h2 id="whole">{diff.changed ? (change < 0 ? "Faster" : "Slower") : "No change beyond noise"}</h2>
      <p class="answer">
        <strong>
          {formatMs(step.a)} → {formatMs(step.b)}
        </strong>
        , the median step as recorded
      </p>
      <p class="dim">
        {intervalText(step)}. {diff.noise}
      </p>
      {corrected !== null && (
        <p>
          Without the profiler:{" "}
          <strong>
            {formatMs(corrected.a)} → {formatMs(corrected.b)}
          </strong>
          , <strong>{formatSpeedup(corrected.b > 0 ? corrected.a / corrected.b : null)}</strong>{" "}
          <span class="dim">({intervalText(corrected)})</span>
        </p>
      )}
      <dl class="compare-pair">
        <Side name="A" side={diff.a} />
        <Side name="B" side={diff.b} />
      </dl>
      <Facts diff={diff} />
    </section>
  );
}

function Account({ diff }: { diff: Diff }) {
  const bars = useMemo(() => accountBars(diff.account, diff.step_ms), [diff]);
  if (bars.length === 0) return null;
  return (
    <section class="card" aria-labelledby="account">
      <h2 id="account">Where the change is</h2>
      <Waterfall
        baselineMs={diff.step_ms.a}
        bars={bars}
        low={diff.step_ms.b}
        high={diff.step_ms.b}
        ends={["A", "B"]}
        caption="Parts of the median step as recorded. Their changes sum to the change of the step."
      />
    </section>
  );
}

const columnsOf = (table: ChangedTable, most: number): Column<ChangedRow>[] => [
  { key: "name", title: "Name", cell: (row) => row.name, kind: "name" },
  ...(table === "kernels"
    ? [{ key: "operator", title: "Operator", cell: (row: ChangedRow) => row.operator, varies: true }]
    : []),
  {
    key: "state",
    title: "State",
    meaning: "New: only in B. Gone: only in A",
    cell: (row) => STATES[row.state],
    varies: true,
  },
  { key: "calls_a", title: "Calls A", meaning: "Calls per step", cell: (row) => row.calls_a, format: formatNumber },
  { key: "calls_b", title: "Calls B", meaning: "Calls per step", cell: (row) => row.calls_b, format: formatNumber },
  { key: "a", title: "A", meaning: "GPU time per step", cell: (row) => row.ms.a, format: formatMs },
  { key: "b", title: "B", meaning: "GPU time per step", cell: (row) => row.ms.b, format: formatMs },
  { key: "change", title: "Change", cell: (row) => row.ms.change, format: formatChange },
  {
    key: "by_count",
    title: "by number\nof calls",
    meaning: "Part of the change from more or fewer calls",
    cell: (row) => row.by_count_ms,
    format: formatChange,
  },
  {
    key: "by_time",
    title: "by time\nof a call",
    meaning: "Part of the change from longer or shorter calls",
    cell: (row) => row.by_time_ms,
    format: formatChange,
  },
  {
    key: "size",
    title: "less | more",
    cell: (row) => Math.abs(row.ms.change),
    draw: (row) => <DeltaBar delta={row.ms.change} most={most} label={formatChange(row.ms.change)} />,
  },
];

/** Links lead to events of the open trace: A, or B if the other was recorded earlier. */
const linksOfSide = (table: ChangedTable, isB: boolean) =>
  linksOfRows<ChangedRow>(
    (row) => (row.state === (isB ? "gone" : "new") ? null : table),
    (row) => row.name,
  );

function Tables({ diff, isB, state, go }: { diff: Diff; isB: boolean } & Pick<ViewProps, "state" | "go">) {
  const known = CHANGED_TABLES.filter(([name]) => diff[name].length > 0);
  const table = known.find(([name]) => name === state.query.table)?.[0] ?? known[0]?.[0] ?? "operators";
  const rows = diff[table];
  const most = Math.max(...rows.map((row) => Math.abs(row.ms.change)), 0);
  const sorting = useOrder("size");
  const columns = useMemo(() => columnsOf(table, most), [table, most]);
  if (known.length === 0) return null;
  return (
    <section class="card" aria-labelledby="rows">
      <h2 id="rows">GPU time per step</h2>
      <p class="choices">
        {known.map(([name, title]) => (
          <label key={name}>
            <input
              type="radio"
              name="table"
              checked={table === name}
              onChange={() => go({ ...state, query: { ...state.query, table: name } })}
            />{" "}
            {title}
          </label>
        ))}
      </p>
      <DataTable rows={rows} columns={columns} {...sorting} {...linksOfSide(table, isB)} label="GPU time per step" />
    </section>
  );
}

/** The median step of each job on the busiest streams. */
function StepsOfBoth({ chosen }: { chosen: OpenTrace }) {
  const own = useAnswer<Timeline>("timeline");
  const other = useAnswer<Timeline>(`timeline?trace=${chosen.trace}`);
  const [error, setError] = useState("");
  const both = useMemo(() => {
    if (own.answer === null || other.answer === null) return null;
    return chosen.earlier ? aligned(other.answer, own.answer) : aligned(own.answer, other.answer);
  }, [own.answer, other.answer, chosen]);
  const failure = error || own.error || other.error;
  const source: Source = `trace=${chosen.trace}`;
  if (failure === "" && both === null && own.answer !== null && other.answer !== null) return null;
  return (
    <section class="card" aria-labelledby="steps-of-both">
      <h2 id="steps-of-both">A step of each, on one scale</h2>
      {failure !== "" && <p class="error">{failure}</p>}
      {failure === "" && both === null && <p class="dim">Reading both timelines …</p>}
      {failure === "" && both !== null && (
        <StackedTimelines
          drawings={[
            { source: chosen.earlier ? source : "", name: `A: step ${both.steps[0]}`, timeline: both.a },
            { source: chosen.earlier ? "" : source, name: `B: step ${both.steps[1]}`, timeline: both.b },
          ]}
          view={around(both.start_ns, both.wall_ns)}
          onFailure={(cause) => setError(cause.message)}
        />
      )}
    </section>
  );
}

function Swaps({ diff }: { diff: Diff }) {
  if (diff.swaps.length === 0) return null;
  return (
    <section class="card" aria-labelledby="swaps">
      <h2 id="swaps">Operators that run other kernels</h2>
      <ul>
        {diff.swaps.map((swap) => (
          <li key={swap.operator}>
            <strong>{swap.operator}</strong>: kernels that took {formatMs(swap.gone_ms)} per step are gone. The new
            kernels take {formatMs(swap.new_ms)}, including their calls from other operators.
            <details>
              <summary class="dim">
                {formatCount(swap.gone.length)} kernels gone, {formatCount(swap.new.length)} new
              </summary>
              <ul>
                {swap.gone.map((name) => (
                  <li key={name}>− {name}</li>
                ))}
                {swap.new.map((name) => (
                  <li key={name}>+ {name}</li>
                ))}
              </ul>
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}

const SHARE_TABLES: [Table, string][] = [
  ["classes", "classes of kernels"],
  ["kernels", "kernels"],
  ["operators", "operators"],
];

const SHARE_COLUMNS: Column<Difference>[] = [
  { key: "name", title: "Name", cell: (row) => row.name, kind: "name" },
  { key: "a", title: "A", cell: (row) => row.before, format: formatPercent },
  { key: "b", title: "B", cell: (row) => row.after, format: formatPercent },
  { key: "change", title: "Change", cell: (row) => row.delta, format: formatPoints },
];

/** Compares recordings without steps. */
function Shares({ why, before, after }: { why: string; before: ComparedReport; after: ComparedReport }) {
  const sorting = useOrder("change");
  return (
    <section class="card" aria-labelledby="rows">
      <h2 id="rows">Shares of the GPU time</h2>
      <p>{formatSentence(why)}. So this compares shares of GPU time instead of times.</p>
      {SHARE_TABLES.map(([table, title]) => (
        <details key={table} open={table === "classes"}>
          <summary>{formatSentence(title)}</summary>
          <DataTable
            rows={shareDifferences(before, after, table)}
            columns={SHARE_COLUMNS}
            {...sorting}
            label={`Shares of ${title}`}
          />
        </details>
      ))}
    </section>
  );
}

function WithoutSteps({ why, report, chosen }: { why: string; report: Report; chosen: OpenTrace }) {
  const other = useAnswer<ComparedReport>(`report?trace=${chosen.trace}`);
  if (other.error !== "") return <p class="card error">{other.error}</p>;
  if (other.answer === null) return <p class="dim">Reading the other report …</p>;
  const [before, after] = chosen.earlier ? [other.answer, report] : [report, other.answer];
  const haveSteps = [before, after].every(({ steps }) => steps.step_time_ms !== null);
  if (haveSteps) return <p class="card error">{formatSentence(why)}.</p>;
  return <Shares why={why} before={before} after={after} />;
}

function Pair({ report, chosen, state, go }: { chosen: OpenTrace } & Pick<ViewProps, "report" | "state" | "go">) {
  const { answer, error } = useAnswer<Diff>(`diff?trace=${chosen.trace}`);
  if (error !== "") return <WithoutSteps why={error} report={report} chosen={chosen} />;
  if (answer === null) return <p class="dim">Comparing …</p>;
  return (
    <>
      <Whole diff={answer} />
      <Account diff={answer} />
      <StepsOfBoth chosen={chosen} />
      <Swaps diff={answer} />
      <Tables diff={answer} isB={chosen.earlier} state={state} go={go} />
    </>
  );
}

export function Compare({ report, state, go }: ViewProps) {
  const open = useAnswer<{ traces: OpenTrace[] }>("traces");
  const traces = open.answer?.traces ?? null;
  const others = traces?.slice(1) ?? [];
  const chosen = others.find((one) => String(one.trace) === state.query.with) ?? others[0];

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
      <Pair key={chosen.trace} report={report} chosen={chosen} state={state} go={go} />
    </>
  );
}
