import { ChartNoAxesGantt } from "lucide-preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { embeddedAnswers } from "../api/embedded";
import { useAnswer } from "../api/use_answer";
import { useQuery } from "../api/use_query";
import { Bar } from "../components/bar";
import { Chart } from "../components/chart";
import { Choice } from "../components/choice";
import { type Column, DataTable, type RowLink, useOrder } from "../components/data_table";
import { formatCount } from "../format";
import type { ChartSeries } from "../model/charts/chart";
import {
  chartOf,
  EXAMPLES,
  placeOfRow,
  rowsOf,
  type SqlAnswer,
  type SqlChart,
  type SqlRow,
  TABLES_SQL,
} from "../model/sql";
import { writeState } from "../model/url_state";
import type { ViewProps } from "./view";
import "./sql.css";

const pathOf = (sql: string) => `query?sql=${encodeURIComponent(sql)}`;

/** Shows all digits that matter. */
const formatValue = (value: number) =>
  Number.isInteger(value) ? formatCount(value) : String(Number(value.toPrecision(6)));

const MAX_BARS = 40;

function Bars({ answer, chart }: { answer: SqlAnswer; chart: SqlChart }) {
  const options = chart.values.map((value) => ({ id: String(value), title: answer.columns[value] ?? "" }));
  const [chosen, setChosen] = useState("");
  const column = Number(options.find(({ id }) => id === chosen)?.id ?? chart.values.at(-1));
  const most = Math.max(...answer.rows.map((row) => Math.abs(Number(row[column] ?? 0))));
  return (
    <>
      {options.length > 1 && <Choice label="Column" options={options} value={String(column)} onValue={setChosen} />}
      <table class="sql-bars">
        <caption class="dim">
          {answer.columns[column]} by {answer.columns[0]}
          {answer.rows.length > MAX_BARS && `, first ${MAX_BARS} of ${formatCount(answer.rows.length)} rows`}
        </caption>
        <tbody>
          {answer.rows.slice(0, MAX_BARS).map((row, index) => {
            const value = Number(row[column] ?? 0);
            return (
              <tr key={index}>
                <th scope="row">{row[0] === null ? "null" : String(row[0])}</th>
                <td class="number">{formatValue(value)}</td>
                <td class="wide">
                  <Bar share={0} busy={most === 0 ? 0 : Math.abs(value) / most} label={formatValue(value)} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}

function Lines({ answer, chart }: { answer: SqlAnswer; chart: SqlChart }) {
  const series = useMemo(
    () =>
      chart.values.map(
        (column): ChartSeries => ({
          label: answer.columns[column] ?? "",
          points: answer.rows.flatMap((row) =>
            row[column] == null ? [] : [{ x: Number(row[0]), y: Number(row[column]) }],
          ),
        }),
      ),
    [answer, chart],
  );
  return (
    <Chart
      label={`${series.map((one) => one.label).join(", ")} over ${answer.columns[0]}`}
      series={series}
      x={{ label: answer.columns[0] ?? "", format: formatValue }}
      y={{ label: series.map((one) => one.label).join(", "), format: formatValue }}
    />
  );
}

type Shape = "table" | "chart";
const SHAPES: { id: Shape; title: string }[] = [
  { id: "table", title: "Table" },
  { id: "chart", title: "Chart" },
];

/** Leads to the place of a row in the timeline. */
function linksOf(at: string | null): RowLink[] {
  if (at === null) return [];
  return [
    {
      title: "Its place in the timeline",
      href: writeState({ view: "timeline", query: { at } }),
      icon: ChartNoAxesGantt,
    },
  ];
}

function Result({ answer, shape, onShape }: { answer: SqlAnswer; shape: Shape; onShape: (shape: Shape) => void }) {
  const sorting = useOrder("");
  const rows = useMemo(() => rowsOf(answer), [answer]);
  const place = useMemo(() => placeOfRow(answer), [answer]);
  const chart = useMemo(() => chartOf(answer), [answer]);
  const columns = useMemo(
    () =>
      answer.columns.map(
        (title, index): Column<SqlRow> => ({
          key: String(index),
          title,
          cell: (row) => row.values[index] ?? null,
          format: formatValue,
        }),
      ),
    [answer],
  );
  return (
    <section class="card" aria-labelledby="result">
      <div class="card-head">
        <h2 id="result">{answer.rows.length === 1 ? "1 row" : `${formatCount(answer.rows.length)} rows`}</h2>
        {chart !== null && <Choice label="Shape of the result" options={SHAPES} value={shape} onValue={onShape} />}
      </div>
      {answer.cut && <p class="dim">The result has more rows: add limit and offset, or use headroom query.</p>}
      {chart !== null && shape === "chart" ? (
        chart.kind === "bars" ? (
          <Bars answer={answer} chart={chart} />
        ) : (
          <Lines answer={answer} chart={chart} />
        )
      ) : (
        rows.length > 0 && (
          <DataTable
            label="Result"
            columns={columns}
            rows={rows}
            {...sorting}
            {...(place !== null && { linksOf: (row: SqlRow) => linksOf(place(row)) })}
          />
        )
      )}
    </section>
  );
}

export function Sql({ state, go }: ViewProps) {
  const asked = state.query.sql ?? "";
  const [text, setText] = useState(asked === "" ? (EXAMPLES[0]?.sql ?? "") : asked);
  const [runs, setRuns] = useState(0);
  const { answer, error, pending, cancel } = useQuery<SqlAnswer>(asked === "" ? null : pathOf(asked), runs);
  // Follows Back and links.
  useEffect(() => {
    if (asked !== "") setText(asked);
  }, [asked]);
  const isFile = embeddedAnswers() !== null;
  const tables = useAnswer<SqlAnswer>(isFile ? null : pathOf(TABLES_SQL)).answer;
  const shape: Shape = state.query.as === "chart" ? "chart" : "table";
  const run = (sql: string) => {
    setText(sql);
    if (sql.trim() === "") return;
    if (sql === asked) setRuns(runs + 1);
    else go({ ...state, query: { ...state.query, sql } });
  };
  if (isFile)
    return (
      <p class="card">
        This page is a file, which holds no events. To ask them with SQL, run: <code>headroom ui TRACE</code>
      </p>
    );
  return (
    <>
      <section class="card" aria-labelledby="sql">
        <h2 id="sql">SQL on the events</h2>
        <textarea
          class="sql-text"
          aria-label="Statement"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(event.currentTarget.value);
          }}
        />
        <div class="sql-tools">
          <button type="button" class="primary" onClick={() => run(text)}>
            Run
          </button>
          <span class="dim">Ctrl+Enter</span>
          <label>
            Example{" "}
            <select
              value=""
              onChange={(event) => {
                const example = EXAMPLES[Number(event.currentTarget.value)];
                event.currentTarget.value = "";
                if (example !== undefined) run(example.sql);
              }}
            >
              <option value="">…</option>
              {EXAMPLES.map(({ title }, index) => (
                <option key={title} value={String(index)}>
                  {title}
                </option>
              ))}
            </select>
          </label>
          <label>
            Table{" "}
            <select
              value=""
              onChange={(event) => {
                const name = event.currentTarget.value;
                event.currentTarget.value = "";
                if (name !== "") run(`select * from ${name} limit 100`);
              }}
            >
              <option value="">…</option>
              {tables?.rows.map(([name]) => (
                <option key={String(name)} value={String(name)}>
                  {String(name)}
                </option>
              ))}
            </select>
          </label>
        </div>
      </section>
      {pending && (
        <p class="dim">
          <button type="button" onClick={cancel}>
            Cancel
          </button>{" "}
          Running the statement …
        </p>
      )}
      {error !== "" && (
        <p class="card error" role="alert">
          {error}
        </p>
      )}
      {answer !== null && error === "" && (
        <div class={pending ? "stale" : ""}>
          <Result
            answer={answer}
            shape={shape}
            onShape={(as) => go({ ...state, query: { ...state.query, as: as === "chart" ? as : "" } }, true)}
          />
        </div>
      )}
    </>
  );
}
