import { useMemo } from "preact/hooks";
import type { CollectiveRow, JobRanks, RankPair, RankStep } from "../api/ranks";
import type { Report } from "../api/types";
import { useAnswer } from "../api/use_answer";
import { Choice } from "../components/choice";
import { type Column, DataTable, useOrder } from "../components/data_table";
import { HeatMap } from "../components/heat_map";
import { RankLanes } from "../components/rank_lanes";
import { firstSentence, formatBytes, formatCount, formatFlops, formatMs, formatNs, formatUs } from "../format";
import { type Measure, pairsGrid, stepsGrid } from "../model/ranks";
import { writeState } from "../model/url_state";
import type { ViewProps } from "./view";
import "./ranks.css";

const MEASURES: { id: Measure; title: string; color: string; fromZero: boolean }[] = [
  { id: "waited_ms", title: "Waited for others", color: "--series-5", fromZero: true },
  { id: "caused_ms", title: "Held others up", color: "--series-2", fromZero: true },
  { id: "wall_ms", title: "Step time", color: "--series-1", fromZero: false },
  { id: "computing_ms", title: "Computing", color: "--series-1", fromZero: false },
];

const rankTitle = (rank: number) => `rank ${rank}`;
const toRank = (rank: number) => writeState({ view: "overview", query: { rank: String(rank) } });
const toStep = (rank: number, step: number) =>
  writeState({ view: "timeline", query: { rank: String(rank), step: String(step) } });

const stepsTitle = ({ first, last }: { first: number; last: number }) =>
  first === last ? `step ${first}` : `mean of steps ${first} to ${last}`;

function Steps({ job, state, go }: { job: JobRanks } & Pick<ViewProps, "state" | "go">) {
  const measure = MEASURES.find((one) => one.id === state.query.of) ?? (MEASURES[0] as (typeof MEASURES)[number]);
  const grid = useMemo(() => stepsGrid(job.steps, measure.id), [job, measure]);
  const numbers = useMemo(() => [...new Set(job.steps.map((row) => row.step))].sort((a, b) => a - b), [job]);
  const worst = useMemo(() => worstStep(job), [job]);
  const chosen = numbers.find((step) => String(step) === state.query.step) ?? worst;
  const set = (query: Record<string, string>) => go({ ...state, query: { ...state.query, ...query } }, true);
  if (numbers.length === 0) return null;
  return (
    <>
      <section class="card" aria-labelledby="rank-steps">
        <div class="card-head">
          <h2 id="rank-steps">Ranks by step</h2>
          <Choice label="Colour" options={MEASURES} value={measure.id} onValue={(of) => set({ of })} />
        </div>
        <HeatMap
          label={`${measure.title}, by rank and step`}
          grid={grid}
          color={measure.color}
          fromZero={measure.fromZero}
          rowTitle={rankTitle}
          columnTitle={stepsTitle}
          format={formatMs}
          hrefOf={toRank}
          chosen={grid.columns.findIndex(
            ({ first, last }) => chosen !== undefined && first <= chosen && chosen <= last,
          )}
          onPick={(column) => set({ step: String(grid.columns[column]?.first ?? "") })}
        />
      </section>
      {chosen !== undefined && <OneClock numbers={numbers} chosen={chosen} onStep={(step) => set({ step })} />}
    </>
  );
}

/** Returns the step with the longest waits. */
function worstStep(job: JobRanks): number | undefined {
  const waits = new Map<number, number>();
  for (const row of job.steps) waits.set(row.step, (waits.get(row.step) ?? 0) + (row.waited_ms ?? 0));
  let worst: number | undefined;
  for (const [step, waited] of waits) {
    if (worst === undefined || waited > (waits.get(worst) ?? 0)) worst = step;
  }
  return worst;
}

function OneClock({ numbers, chosen, onStep }: { numbers: number[]; chosen: number; onStep: (step: string) => void }) {
  const { answer, error } = useAnswer<RankStep>(`ranks/step?step=${chosen}`, true);
  const at = numbers.indexOf(chosen);
  const move = (by: number) => onStep(String(numbers[at + by] ?? chosen));
  return (
    <section class="card" aria-labelledby="one-clock">
      <div class="card-head">
        <h2 id="one-clock">All ranks on one clock</h2>
        <span>
          <button type="button" disabled={at <= 0} aria-label="Previous step" onClick={() => move(-1)}>
            ‹
          </button>{" "}
          <label>
            Step{" "}
            <select value={String(chosen)} onChange={(event) => onStep(event.currentTarget.value)}>
              {numbers.map((step) => (
                <option key={step} value={String(step)}>
                  {step}
                </option>
              ))}
            </select>
          </label>{" "}
          <button type="button" disabled={at + 1 >= numbers.length} aria-label="Next step" onClick={() => move(1)}>
            ›
          </button>
        </span>
      </div>
      {error !== "" && <p class="error">{error}</p>}
      {answer === null && error === "" && <p class="dim">Reading the step …</p>}
      {answer !== null && <RankLanes step={answer} hrefOf={(rank) => toStep(rank, answer.step)} />}
    </section>
  );
}

/** More ranks do not fit a matrix. */
const MAX_MATRIX = 32;

const PAIR_COLUMNS: Column<RankPair>[] = [
  { key: "rank", title: "Rank", cell: (row) => row.rank, format: String },
  { key: "waited_for", title: "Waited for", cell: (row) => row.waited_for, format: String },
  { key: "waited_ms", title: "Time", cell: (row) => row.waited_ms, format: formatMs },
  { key: "collectives", title: "Collectives", cell: (row) => row.collectives },
];

function Pairs({ job }: { job: JobRanks }) {
  const ranks = job.clocks.map((row) => row.rank);
  const grid = useMemo(() => pairsGrid(job.pairs, job.clocks), [job]);
  const sorting = useOrder("waited_ms");
  if (job.pairs.length === 0) return null;
  return (
    <section class="card" aria-labelledby="pairs">
      <h2 id="pairs">Who waits for whom</h2>
      <p class="dim">Time that the rank of a row waited for the rank of a column, which arrived last.</p>
      {ranks.length <= MAX_MATRIX ? (
        <HeatMap
          label="Time that each rank waited for each other rank"
          grid={grid}
          color="--series-5"
          fromZero={true}
          rowTitle={rankTitle}
          columnTitle={({ first }) => `for rank ${first}`}
          format={formatMs}
          hrefOf={toRank}
        />
      ) : (
        <DataTable label="Who waits for whom" columns={PAIR_COLUMNS} rows={job.pairs} {...sorting} />
      )}
    </section>
  );
}

interface RankRow {
  rank: number;
  host: string | null;
  caused: number | null;
  waited: number | null;
  last: number | null;
  steps: number | null;
  computing: number | null;
  work: number | null;
  offset: number | null;
  uncertainty: number | null;
}

const rankColumns = (measure: JobRanks["work"]["measure"]): Column<RankRow>[] => [
  { key: "rank", title: "Rank", cell: (row) => row.rank, draw: (row) => <a href={toRank(row.rank)}>{row.rank}</a> },
  { key: "host", title: "Host", cell: (row) => row.host, varies: true },
  {
    key: "caused",
    title: "Held up",
    meaning: "Lateness after the median rank, without time blocked by other ranks",
    cell: (row) => row.caused,
    format: formatMs,
  },
  { key: "last", title: "Late", meaning: "Number of collectives at which it was late", cell: (row) => row.last },
  { key: "steps", title: "Steps", meaning: "Number of steps in which it cost most", cell: (row) => row.steps },
  { key: "waited", title: "Waited", cell: (row) => row.waited, format: formatMs },
  { key: "computing", title: "Computing", meaning: "Mean per step", cell: (row) => row.computing, format: formatMs },
  {
    key: "work",
    title: "Work",
    meaning: measure === "flops" ? "Floating-point operations per step" : "Bytes copied to the GPU per step",
    cell: (row) => row.work,
    format: measure === "flops" ? formatFlops : formatBytes,
  },
  {
    key: "offset",
    title: "Clock ahead",
    meaning: "Time by which its clock is ahead",
    cell: (row) => row.offset,
    format: (ms) => formatNs(1e6 * ms),
  },
  {
    key: "uncertainty",
    title: "Clock ±",
    meaning: "Uncertainty of the clock",
    cell: (row) => row.uncertainty,
    format: formatUs,
  },
];

function RankTable({ job }: { job: JobRanks }) {
  const sorting = useOrder("caused");
  const columns = useMemo(() => rankColumns(job.work.measure), [job]);
  const rows = useMemo(() => {
    const waits = new Map(job.waits.map((row) => [row.rank, row]));
    return job.clocks.map((clock): RankRow => {
      const of = waits.get(clock.rank);
      return {
        rank: clock.rank,
        host: clock.host,
        caused: of?.caused_ms ?? null,
        waited: of?.waited_ms ?? null,
        last: of?.last_count ?? null,
        steps: of?.culprit_steps ?? null,
        computing: of?.computing_ms ?? null,
        work: of?.work ?? null,
        offset: clock.offset_ms,
        uncertainty: clock.uncertainty_us,
      };
    });
  }, [job]);
  return (
    <section class="card" aria-labelledby="rank-rows">
      <h2 id="rank-rows">Ranks</h2>
      {job.straggler.lost_ms > 0 && (
        <p class="dim">
          Late ranks cost the job {formatMs(job.straggler.lost_ms)}. “Held up” is the delay that each rank caused; ranks
          that are late together each count in full.
        </p>
      )}
      <DataTable label="Ranks" columns={columns} rows={rows} {...sorting} />
    </section>
  );
}

/** @param inferred  groups whose parallelism is not recorded */
const collectiveColumns = (inferred: Set<string | null>): Column<CollectiveRow>[] => [
  { key: "kind", title: "Collective", cell: (row) => row.kind },
  { key: "group", title: "Group", cell: (row) => row.group },
  {
    key: "axis",
    title: "Parallelism",
    meaning: "With a question mark: inferred, not recorded",
    cell: (row) => (row.axis !== null && inferred.has(row.group) ? `${row.axis}?` : row.axis),
  },
  { key: "bytes", title: "Size", cell: (row) => row.bytes, format: formatBytes },
  { key: "count", title: "Count", cell: (row) => row.count, format: formatCount },
  {
    key: "ranks",
    title: "Ranks",
    meaning: "Ranks with a trace, of the members of the group",
    cell: (row) => row.ranks,
    format: (value, row) => `${value} of ${row.members}`,
  },
  {
    key: "wait",
    title: "Wait",
    meaning: "Mean from the first arrival to the last",
    cell: (row) => row.wait_us,
    format: formatUs,
  },
  {
    key: "transfer",
    title: "Transfer",
    meaning: "Mean from the last arrival to the end",
    cell: (row) => row.transfer_us,
    format: formatUs,
  },
  {
    key: "exposed",
    title: "Exposed",
    meaning: "Mean over the ranks of wait and transfer while the rank computes nothing",
    cell: (row) => row.exposed_us,
    format: formatUs,
  },
  {
    key: "bus",
    title: "Bus bandwidth",
    meaning: "As nccl-tests computes it",
    cell: (row) => row.bus_gbs,
    format: (value) => `${Number(value.toPrecision(3))} GB/s`,
  },
];

function Collectives({ job }: { job: JobRanks }) {
  const sorting = useOrder("");
  const columns = useMemo(
    () => collectiveColumns(new Set(job.groups.filter((row) => row.axis_from === "inferred").map((row) => row.group))),
    [job],
  );
  if (job.collectives.length === 0) return null;
  return (
    <section class="card" aria-labelledby="collectives">
      <h2 id="collectives">Collectives</h2>
      {job.other_kinds > 0 && (
        <p class="dim">
          {formatCount(job.other_kinds)} broadcasts, sends and receives are not compared, because not every rank waits
          in them.
        </p>
      )}
      <DataTable label="Collectives" columns={columns} rows={job.collectives} {...sorting} />
    </section>
  );
}

function Pipeline({ pipeline }: { pipeline: NonNullable<JobRanks["pipeline"]> }) {
  const longest = Math.max(...pipeline.stages.map((stage) => stage.step_ms));
  const percent = (ms: number) => `${((100 * ms) / longest).toFixed(2)}%`;
  return (
    <section class="card" aria-labelledby="pipeline">
      <h2 id="pipeline">Pipeline</h2>
      <p>{pipeline.sentence}</p>
      <table class="stages">
        <thead>
          <tr>
            <th scope="col">Stage</th>
            <th scope="col">Ranks</th>
            <th scope="col" class="number">
              Step
            </th>
            <th scope="col" class="number">
              Computing
            </th>
            <th scope="col" class="number">
              Bubble
            </th>
            <th scope="col" class="number">
              Idle
            </th>
            <td class="wide" />
          </tr>
        </thead>
        <tbody>
          {pipeline.stages.map((stage, index) => (
            <tr key={stage.ranks.join()}>
              <th scope="row">{index}</th>
              <td>{stage.ranks.join(", ")}</td>
              <td class="number">{formatMs(stage.step_ms)}</td>
              <td class="number">{formatMs(stage.computing_ms)}</td>
              <td class="number">{formatMs(stage.bubble_ms)}</td>
              <td class="number">{formatMs(stage.idle_ms)}</td>
              <td class="wide">
                <svg width="100%" height="16" role="presentation">
                  <rect class="idle" width={percent(stage.step_ms)} height="16" rx="2" />
                  <rect class="computing" width={percent(stage.computing_ms)} height="16" />
                  <rect class="bubble" x={percent(stage.computing_ms)} width={percent(stage.bubble_ms)} height="16" />
                </svg>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export const hasRanks = ({ job_ranks }: Pick<Report, "job_ranks">): boolean => job_ranks != null;

export function Ranks({ report, state, go }: ViewProps) {
  const job = report.job_ranks;
  if (job == null) {
    return (
      <section class="card" aria-labelledby="none">
        <h2 id="none">The trace of one rank is open</h2>
        <p>
          Start the page with the folder that has a trace of each rank to see who waits for whom:{" "}
          <code>headroom ui traces/</code>
        </p>
      </section>
    );
  }
  const [first, rest] = firstSentence(job.sentence);
  return (
    <>
      <section class="verdict" aria-labelledby="ranks">
        <h2 id="ranks">{first}</h2>
        {rest !== "" && <p class="dim">{rest}</p>}
      </section>
      <Steps job={job} state={state} go={go} />
      {job.pipeline !== null && <Pipeline pipeline={job.pipeline} />}
      <div class="ranks-pair">
        <RankTable job={job} />
        <Pairs job={job} />
      </div>
      <Collectives job={job} />
    </>
  );
}
