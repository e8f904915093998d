import { useMemo, useState } from "preact/hooks";
import type { Gpu } from "../api/forecasts";
import { useAnswer } from "../api/use_answer";
import { PRICED_STEPS, usePrediction } from "../api/use_prediction";
import { Chart } from "../components/chart";
import { RangeBar } from "../components/range_bar";
import { Refusal } from "../components/refusal";
import { useDraft } from "../components/use_draft";
import {
  formatBytes,
  formatCount,
  formatJoules,
  formatMoney,
  formatMs,
  formatMsTick,
  formatPercent,
  formatSentence,
  formatSpeedup,
} from "../format";
import { isWhole } from "../model/baseline";
import type { ChartPoint, ChartSeries } from "../model/charts/chart";
import {
  bestOf,
  type Cost,
  comparable,
  costOf,
  doubtsOf,
  fastestOf,
  frontOf,
  type GpuRow,
  headlineOf,
  ownPricesOf,
  rowsOf,
  type SortKey,
  sorted,
  sortOf,
  unknownNames,
  withPrices,
} from "../model/gpus";
import "./gpus.css";
import type { ViewProps } from "./view";

const titleOf = (cost: Cost, steps: number) =>
  cost === "money" ? `Price of ${formatCount(steps)} steps` : "Energy of a step";

const formatCost = (row: GpuRow, cost: Cost) =>
  cost === "money" ? formatMoney(row.money, row.currency) : formatJoules(row.energy_joules);

/** Shows the best GPUs. */
function Best({ rows, recorded, steps }: { rows: GpuRow[]; recorded: GpuRow | null; steps: number }) {
  const fastest = fastestOf(rows);
  const sure = fastestOf(rows.filter((row) => !row.extrapolated));
  const cheapest = bestOf(comparable(rows, "money"), (row) => row.money);
  const thriftiest = bestOf(rows, (row) => row.energy_joules);
  const item = (title: string, row: GpuRow | null, text: (row: GpuRow) => string) =>
    row !== null && (
      <li key={title}>
        <span class="dim">{title}</span>
        <strong>
          {row.gpu}
          {row.extrapolated && "*"}
        </strong>
        {text(row)}
      </li>
    );
  const step = (row: GpuRow) =>
    `${formatMs(row.step_ms.mid)}, ${formatSpeedup(row.speedup)}${row.recorded || recorded === null ? "" : ` of ${recorded.gpu}`}`;
  return (
    <ul class="gpu-best">
      {item("Fastest", fastest, step)}
      {sure !== fastest && item("Fastest GPU without extrapolation", sure, step)}
      {item(
        `Cheapest for ${formatCount(steps)} steps`,
        cheapest,
        (row) => `${formatCost(row, "money")}, ${formatMs(row.step_ms.mid)} per step`,
      )}
      {item("Least energy", thriftiest, (row) => `${formatCost(row, "energy")} per step, ${formatMs(row.step_ms.mid)}`)}
    </ul>
  );
}

/** With more GPUs, only the best trade-offs and the recorded GPU have their names. */
const MAX_NAMED = 12;

interface ParetoProps {
  rows: GpuRow[];
  cost: Cost;
  steps: number;
  onPick: (point: ChartPoint) => void;
}

function Pareto({ rows, cost, steps, onPick }: ParetoProps) {
  const shown = useMemo(() => comparable(rows, cost), [rows, cost]);
  const front = useMemo(() => frontOf(shown, cost), [shown, cost]);
  const series = useMemo(() => {
    const point = (row: GpuRow): ChartPoint => ({
      x: row.step_ms.mid,
      y: costOf(row, cost) ?? 0,
      name: row.recorded ? `${row.gpu}, recorded` : row.gpu,
      radius: row.recorded || front.includes(row) ? 6 : 4,
    });
    const named = (row: GpuRow): ChartPoint => ({ ...point(row), label: row.gpu });
    const nameable = shown.length <= MAX_NAMED ? named : point;
    const all: ChartSeries[] = [
      {
        label: "best trade-offs",
        points: front.map(shown.length <= MAX_NAMED ? point : named),
        dashed: true,
        color: "--text",
      },
      {
        label: "not extrapolated",
        kind: "points",
        points: shown.filter((row) => !row.extrapolated && !row.recorded).map(nameable),
        color: "--series-1",
      },
      {
        label: "extrapolated",
        kind: "points",
        points: shown.filter((row) => row.extrapolated && !row.recorded).map(nameable),
        color: "--series-2",
        shape: "square",
      },
      {
        label: "recorded",
        kind: "points",
        points: shown.filter((row) => row.recorded).map(named),
        color: "--series-3",
        shape: "diamond",
      },
    ];
    return all.filter((one) => one.points.length > 0);
  }, [shown, front, cost]);
  if (shown.length < 2)
    return (
      <p class="dim">
        Too few GPUs with enough memory for the job have a {cost === "money" ? "listed price" : "known power"}.
      </p>
    );
  const currency = shown[0]?.currency ?? null;
  return (
    <>
      <p>
        Lower left is better. Best trade-offs:{" "}
        {front.map((row, index) => (
          <span key={row.gpu}>
            {index > 0 && (index + 1 === front.length ? " and " : ", ")}
            <strong>{row.gpu}</strong>
            {row.extrapolated && "*"} ({formatMs(row.step_ms.mid)}, {formatCost(row, cost)})
          </span>
        ))}
        .
      </p>
      <Chart
        label={`Step time and ${titleOf(cost, steps).toLowerCase()} of ${shown.length} GPUs; best trade-offs: ${front.map((row) => row.gpu).join(", ")}.`}
        series={series}
        x={{ label: "step time", format: formatMs, tick: formatMsTick, log: true }}
        y={{
          label: titleOf(cost, steps),
          format: cost === "money" ? (value) => formatMoney(value, currency) : formatJoules,
          log: true,
        }}
        height={300}
        onPick={onPick}
      />
    </>
  );
}

const PRICE_TITLES = {
  own: "Your price per GPU-hour",
  share: "Share of a larger instance's price: no listed instance has so few of these GPUs",
};

interface TableProps {
  rows: GpuRow[];
  steps: number;
  sort: { key: SortKey; descending: boolean };
  onSort: (sort: string) => void;
  meant: string;
  front: Set<string>;
}

function Table({ rows, steps, sort, onSort, meant, front }: TableProps) {
  const least = Math.min(...rows.map((row) => row.step_ms.low));
  const most = Math.max(...rows.map((row) => row.step_ms.high));
  const head = (key: SortKey, title: string, number = true) => {
    const own = sort.key === key;
    const next = own && !sort.descending ? `-${key}` : key;
    return (
      <th
        scope="col"
        class={number ? "number" : ""}
        aria-sort={own ? (sort.descending ? "descending" : "ascending") : undefined}
      >
        <button type="button" onClick={() => onSort(next)}>
          {title} {own ? (sort.descending ? "↓" : "↑") : ""}
        </button>
      </th>
    );
  };
  return (
    <div class="gpu-scroll scrolls" tabIndex={0} role="region" aria-label="Predictions for each GPU">
      <table class="gpu-table">
        <thead>
          <tr>
            {head("gpu", "GPU", false)}
            {head("step", "Step")}
            <th scope="col" class="range">
              Contains the true step in 80 % of cases
            </th>
            {head("speedup", "Speed")}
            {head("memory", "Memory")}
            <th scope="col">Fits</th>
            {head("money", `${formatCount(steps)} steps`)}
            {head("energy", "Energy per step")}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const range = `${formatMs(row.step_ms.low)} to ${formatMs(row.step_ms.high)}`;
            const classes = [
              row.recorded ? "recorded" : "",
              row.gpu === meant ? "meant" : "",
              row.fits === false ? "too-small" : "",
            ];
            return (
              <tr key={row.gpu} id={`gpu-${row.gpu}`} class={classes.join(" ")}>
                <th scope="row" title={`${row.name}: ${row.why}`}>
                  {row.gpu}
                  {row.extrapolated && (
                    <span class="gpu-doubt" title={formatSentence(row.extrapolated_why ?? "")}>
                      *
                    </span>
                  )}
                  {row.recorded && <span class="gpu-tag">recorded</span>}
                  {front.has(row.gpu) && (
                    <span class="gpu-tag good" title="No other GPU is both faster and cheaper">
                      best trade-off
                    </span>
                  )}
                </th>
                <td class="number">{formatMs(row.step_ms.mid)}</td>
                <td class="range" title={range}>
                  <RangeBar {...row.step_ms} least={least} most={most} label={range} />
                </td>
                <td class="number">{formatSpeedup(row.speedup)}</td>
                <td class="number">{formatBytes(row.gpu_memory_bytes)}</td>
                <td class="fits">
                  {row.fits === null ? (
                    <span class="dim" title="Unknown: too close to the limit, or the job's memory is unknown.">
                      perhaps
                    </span>
                  ) : row.fits ? (
                    "yes"
                  ) : (
                    <span class="no">no</span>
                  )}
                </td>
                <td
                  class={`number ${row.money === null ? "dim" : ""}`}
                  title={row.option === null ? undefined : instanceOf(row.option)}
                >
                  {formatMoney(row.money, row.currency)}
                  {row.price !== "listed" && (
                    <span class="gpu-tag" title={PRICE_TITLES[row.price]}>
                      {row.price === "own" ? "own price" : "share"}
                    </span>
                  )}
                </td>
                <td
                  class="number"
                  title={row.energy_error_pct === null ? undefined : `Within ${formatPercent(row.energy_error_pct)}.`}
                >
                  {formatJoules(row.energy_joules)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

const instanceOf = (option: NonNullable<GpuRow["option"]>) =>
  `${option.instances > 1 ? `${option.instances} x ` : ""}${option.provider} ${option.instance}, ${option.region}: ${formatMoney(option.price_per_hour, option.currency)} per hour${option.instances > 1 ? " each" : ""}, listed ${option.date} (${option.source})`;

/** Returns the length of the run that the address states; null: the text is invalid. */
function stepsOf(text: string): number | null {
  if (text === "") return PRICED_STEPS;
  const steps = Number(text);
  return Number.isSafeInteger(steps) && steps > 0 ? steps : null;
}

export function Gpus({ report, state, go }: ViewProps) {
  const showsAll = state.query.all === "1";
  const { answer, error, pending } = usePrediction({ all: showsAll });
  const gpus = useAnswer<{ gpus: Gpu[] }>("gpus");
  const [meant, setMeant] = useState("");
  const specs = gpus.answer?.gpus ?? null;
  const stepsText = state.query.steps ?? "";
  const asked = stepsOf(stepsText);
  const steps = asked ?? PRICED_STEPS;
  const [ownText, setOwnText] = useDraft(state.query.own ?? "", (own) =>
    go({ ...state, query: { ...state.query, own } }, true),
  );
  const own = useMemo(() => ownPricesOf(ownText), [ownText]);
  const unknown = specs === null ? [] : unknownNames(own, specs);
  const all = useMemo(
    () =>
      answer === null || specs === null
        ? []
        : withPrices(
            rowsOf(answer, specs),
            own,
            steps,
            PRICED_STEPS,
            answer.baseline?.gpus ?? 1,
            report.throughput?.batch_size ?? null,
          ),
    [answer, specs, own, steps, report],
  );
  const sure = state.query.sure === "1";
  const cost: Cost = state.query.cost === "energy" || !all.some((row) => row.money !== null) ? "energy" : "money";
  const sort = sortOf(state.query.sort);
  const rows = useMemo(
    () =>
      all.filter((row) => (!sure || !row.extrapolated) && (showsAll || row.recorded || row.spec?.current !== false)),
    [all, sure, showsAll],
  );
  const front = useMemo(() => new Set(frontOf(comparable(rows, cost), cost).map((row) => row.gpu)), [rows, cost]);
  const set = (query: Record<string, string>) => go({ ...state, query: { ...state.query, ...query } });
  const pick = (point: ChartPoint) => {
    const gpu = (point.name ?? "").replace(", recorded", "");
    setMeant(gpu);
    document.getElementById(`gpu-${gpu}`)?.scrollIntoView({ block: "center", behavior: "smooth" });
  };

  if (gpus.error !== "") return <p class="card error">{formatSentence(gpus.error)}</p>;
  if (error !== "")
    return (
      <section class="card" aria-labelledby="gpus">
        <h2 id="gpus">No forecast for other GPUs</h2>
        <Refusal why={error} command="headroom predict" trace={report.inputs[0]?.path ?? "TRACE"} />
      </section>
    );
  if (answer === null || all.length === 0) return <p class="dim">Forecasting the job for other GPUs …</p>;
  const recorded = all.find((row) => row.recorded) ?? null;
  const doubts = doubtsOf(rows);
  const memory = all.find((row) => row.memory_bytes !== null)?.memory_bytes ?? null;
  const gpusOfJob = answer.baseline?.gpus ?? 1;
  return (
    <div class={pending ? "stack stale" : "stack"}>
      <section class="card" aria-labelledby="gpus">
        <h2 id="gpus">{headlineOf(rows, recorded)}</h2>
        <p class="dim">
          {recorded !== null &&
            `Recorded on ${recorded.name}: ${formatMs(recorded.step_ms.mid)} ${isWhole(report.steps) ? "in total" : "per step"} without the profiler. `}
          {memory === null
            ? `Its memory is unknown: ${answer.baseline?.no_memory ?? "not recorded"}.`
            : `Its peak memory is ${formatBytes(memory)}.`}
          {gpusOfJob > 1 &&
            ` Energy and cost are for all ${gpusOfJob} GPUs of the job, assuming that every GPU does the same work.`}
          {answer.baseline?.steps_note != null && ` ${formatSentence(answer.baseline.steps_note)}.`}
        </p>
        <Best rows={rows} recorded={recorded} steps={steps} />
      </section>
      <section class="card" aria-labelledby="pareto">
        <h2 id="pareto">Time against {cost === "money" ? "money" : "energy"}</h2>
        <div class="choices">
          {(["money", "energy"] as Cost[]).map((one) => (
            <label key={one}>
              <input
                type="radio"
                name="cost"
                checked={cost === one}
                onChange={() => set({ cost: one === "money" ? "" : one })}
              />{" "}
              {titleOf(one, steps)}
            </label>
          ))}
          <label>
            <input type="checkbox" checked={showsAll} onChange={() => set({ all: showsAll ? "" : "1" })} /> All{" "}
            {formatCount(specs?.length ?? 0)} GPUs
          </label>
          <label>
            <input type="checkbox" checked={sure} onChange={() => set({ sure: sure ? "" : "1" })} /> Hide extrapolated
            GPUs*
          </label>
        </div>
        <div class="choices">
          <label>
            Steps of the run{" "}
            <input
              type="number"
              min="1"
              step="1"
              class="run-steps"
              value={asked ?? stepsText}
              aria-invalid={asked === null}
              onChange={(event) => set({ steps: event.currentTarget.value })}
            />
          </label>
          <label>
            Own prices per GPU-hour{" "}
            <input
              type="text"
              placeholder="H100=2.10, H200=3.50"
              value={ownText}
              aria-invalid={own.error !== ""}
              onInput={(event) => setOwnText(event.currentTarget.value, true)}
            />
          </label>
          {asked === null && (
            <span class="error">
              {stepsText} is not a number of steps: write a whole number of at least 1. The prices are for{" "}
              {formatCount(steps)} steps.
            </span>
          )}
          {own.error !== "" && <span class="error">{own.error}</span>}
          {own.error === "" && unknown.length > 0 && (
            <span class="error">No GPU here is named {unknown.join(", ")}.</span>
          )}
        </div>
        <Pareto rows={rows} cost={cost} steps={steps} onPick={pick} />
        {cost === "money" && answer.prices !== null && (
          <p class="dim">
            Prices are for the cheapest{" "}
            {gpusOfJob === 1 ? "instance with one GPU of this type" : `instances with the ${gpusOfJob} GPUs of the job`}
            . Source: {answer.prices}.{recorded?.money === null && ` The price list has no ${recorded.gpu}.`}
          </p>
        )}
      </section>
      <section class="card" aria-labelledby="table">
        <h2 id="table">Each GPU</h2>
        <Table
          steps={steps}
          rows={sorted(rows, sort.key, sort.descending)}
          sort={sort}
          onSort={(next) => set({ sort: next === "step" ? "" : next })}
          meant={meant}
          front={front}
        />
        {doubts.length > 0 && (
          <>
            <h3>* Extrapolated: ranges are wider, and true steps may lie beyond them</h3>
            <ul>
              {doubts.map((doubt) => (
                <li key={doubt.why}>
                  {formatSentence(doubt.why)}: <span class="dim">{doubt.gpus.join(", ")}</span>
                </li>
              ))}
            </ul>
          </>
        )}
        <p class="dim">Models: {answer.constants}.</p>
      </section>
    </div>
  );
}
