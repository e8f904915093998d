import { embeddedAnswers } from "../api/embedded";
import type { Action, Finding, Report } from "../api/types";
import { usePrediction } from "../api/use_prediction";
import { ChangeSince } from "../components/change_since";
import { Command } from "../components/command";
import { Kinds, Recording } from "../components/recording";
import { StepBar, StepBarKey } from "../components/step_bar";
import { firstSentence, formatCount, formatMs, formatSentence, formatSpeedup } from "../format";
import { barPartsOf } from "../model/charts/step_bar";
import { figuresOf, forecastFigures } from "../model/figures";
import { eventsOf, type FindingEvents } from "../model/finding_events";
import { stepCount } from "../model/header";
import { joinedIssues } from "../model/health";
import { writeState } from "../model/url_state";
import type { ViewProps } from "./view";
import "./overview.css";

/** More actions are below, among the findings. */
const MAX_ACTIONS = 3;
/** The view Data covers the findings of headroom data. */
const OF_INPUT = "data-wait";
/** The view Ranks covers the finding of late ranks. */
const OF_RANKS = "straggler";

function Verdict({ report }: { report: Report }) {
  const { sentence, confidence_reason } = report.bottleneck;
  const { note } = report.summary;
  return (
    <section aria-labelledby="verdict" class="verdict">
      <h2 id="verdict">{sentence}</h2>
      {confidence_reason !== null && <p class="dim">Low confidence: {confidence_reason}.</p>}
      {note !== null && <p class="dim">{note}</p>}
      <RankNote report={report} />
    </section>
  );
}

/** Shows which rank the figures belong to, and which rank delays the others. */
function RankNote({ report }: { report: Report }) {
  const { job_ranks, inputs, summary } = report;
  if (job_ranks == null) return null;
  const rank = inputs.length > 1 ? `The figures are for ${summary.rank_note}.` : `This is rank ${inputs[0]?.rank}.`;
  return (
    <p>
      {firstSentence(job_ranks.sentence)[0]} <span class="dim">{rank}</span>{" "}
      <a href={writeState({ view: "ranks", query: {} })}>View Ranks</a>
    </p>
  );
}

/** A figure, with its unit in smaller type. */
function Value({ text }: { text: string }) {
  const [figure, ...unit] = text.split(" ");
  return (
    <>
      {figure} <span class="unit">{unit.join(" ")}</span>
    </>
  );
}

function Figures({ report }: { report: Report }) {
  const asks = report.engine_window !== null;
  const { answer, pending } = usePrediction({ asks });
  const figures = [...figuresOf(report), ...(answer === null ? [] : forecastFigures(answer, report))];
  if (asks && pending) figures.push({ title: "Cost, energy", value: "…", note: "" });
  if (figures.length === 0) return null;
  return (
    <dl class="figures">
      {figures.map(({ title, value, note }) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>
            <Value text={value} />
            {note !== "" && <span class="note">{note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The steps as recorded: mean, range and median. */
function StepsText({ steps, ranks }: { steps: Report["steps"]; ranks: number }) {
  if (steps.step_time_ms === null) return null;
  const count = stepCount(steps);
  const of = `${formatCount(count)} steps${ranks > 1 ? ` of ${ranks} ranks` : ""}`;
  const spread = `mean ${formatMs(steps.mean_ms)}, median ${formatMs(steps.p50_ms)}, ${formatMs(steps.min_ms)} to ${formatMs(steps.max_ms)}`;
  const isMean = formatMs(steps.step_time_ms) === formatMs(steps.mean_ms);
  return (
    <p class="dim">
      {count === 1 && ranks === 1
        ? `As recorded: ${formatMs(steps.step_time_ms)}.`
        : isMean
          ? `As recorded: ${spread} in ${of}.`
          : `As recorded: ${formatMs(steps.step_time_ms)} in the usual steps. All ${of}: ${spread}.`}
    </p>
  );
}

function Step({ report }: { report: Report }) {
  const { summary, step_breakdown, stretch, gpu_time, steps } = report;
  const ofStep = summary.parts_of === "step";
  const parts = barPartsOf(summary, ofStep ? (step_breakdown?.wall_ms ?? null) : null);
  const ofRank = report.inputs.length > 1 && step_breakdown?.rank != null ? ` of rank ${step_breakdown.rank}` : "";
  const whole = ofStep ? `${stretch ? "the recording" : "the mean step"}${ofRank}` : "the GPU time";
  return (
    <section aria-labelledby="step" class="card">
      <div class="card-head">
        <h2 id="step">{`Parts of ${whole}`}</h2>
        {ofStep && gpu_time.length > 0 && parts.length > 0 && <StepBarKey />}
      </div>
      {parts.length > 0 && <StepBar parts={parts} label={`Parts of ${whole}`} hasGpu={ofStep && gpu_time.length > 0} />}
      {step_breakdown === null && (
        <p class="dim">The step has no breakdown: record CPU and GPU activity of complete steps.</p>
      )}
      <StepsText steps={steps} ranks={report.inputs.length} />
      <ChangeSince />
    </section>
  );
}

/** Saving of an action or a finding; null: unknown. */
function Gain({ of, upperBound }: { of: Action["saves_ms"]; upperBound: boolean }) {
  if (of === null) return null;
  if (Math.max(of.mid, of.high) <= 0) return <>saves nothing</>;
  return (
    <>
      saves {upperBound && "up to "}
      <strong>{formatMs(of.mid)}</strong>
    </>
  );
}

/** Opens the forecast of a finding's change. */
type Try = (scenario: string, finding: string) => void;

interface ActionProps {
  action: Action;
  scenario: string | null; // The change to forecast.
  number: number;
  onTry: Try;
}

function ActionCard({ action, scenario, number, onTry }: ActionProps) {
  const { title, saves_ms, upper_bound, speedup } = action;
  return (
    <li class="card action" title={action.command}>
      <h3>
        {number}. {title}
      </h3>
      <p class="gain">
        {saves_ms === null ? (
          <span class="dim">The saving is unknown.</span>
        ) : (
          <Gain of={saves_ms} upperBound={upper_bound} />
        )}
        {saves_ms !== null && !upper_bound && saves_ms.high > saves_ms.low && (
          <span class="dim">
            {" "}
            ({formatMs(Math.max(0, saves_ms.low))} to {formatMs(saves_ms.high)})
          </span>
        )}
        {speedup !== null && <span class="dim"> · {formatSpeedup(speedup)}</span>}
        {action.finding === OF_INPUT && (
          <>
            {" · "}
            <a href={writeState({ view: "data", query: {} })}>View Data</a>
          </>
        )}
        {action.finding === OF_RANKS && (
          <>
            {" · "}
            <a href={writeState({ view: "ranks", query: {} })}>View Ranks</a>
          </>
        )}
      </p>
      {scenario !== null ? (
        <button type="button" class="primary" title={scenario} onClick={() => onTry(scenario, action.finding)}>
          Forecast it
        </button>
      ) : (
        <button type="button" onClick={() => openFinding(action.finding)}>
          Evidence
        </button>
      )}
    </li>
  );
}

/** Opens the finding of an action, further below. */
function openFinding(id: string): void {
  const details = document.getElementById(`finding-${id}`);
  if (!(details instanceof HTMLDetailsElement)) return;
  details.open = true;
  details.querySelector("summary")?.focus({ preventScroll: true });
  details.scrollIntoView({ block: "center" });
}

/** Returns the scenario that a finding's `saves_note` names; null: the saving is not from a forecast. */
const cappedScenario = (report: Report, id: string): string | null =>
  /^forecast of ([^;]+);/.exec(report.findings.find((finding) => finding.id === id)?.saves_note ?? "")?.[1] ?? null;

function Actions({ report, onTry }: { report: Report; onTry: Try }) {
  const { actions, no_action } = report.summary;
  const more = actions.length - MAX_ACTIONS;
  return (
    <section aria-labelledby="actions">
      <h2 id="actions">What to do</h2>
      {actions.length === 0 ? (
        <p class="dim">{no_action ?? "No change stands out."}</p>
      ) : (
        <ol class="actions">
          {actions.slice(0, MAX_ACTIONS).map((action, index) => (
            <ActionCard
              key={action.finding}
              action={action}
              scenario={action.scenario ?? cappedScenario(report, action.finding)}
              number={index + 1}
              onTry={onTry}
            />
          ))}
        </ol>
      )}
      {more > 0 && <p class="dim">{formatCount(more)} more below.</p>}
    </section>
  );
}

interface FindingProps {
  finding: Finding;
  events: FindingEvents | null;
  onTry: Try;
}

function FindingRow({ finding, events, onTry }: FindingProps) {
  const { saves_ms, saves_note, scenario, rank } = finding;
  const ofRank = rank == null ? {} : { rank: String(rank) };
  return (
    <li class="card finding">
      <details id={`finding-${finding.id}`}>
        <summary>
          <span class="gain dim">
            {saves_ms !== null && <Gain of={saves_ms} upperBound={saves_note?.startsWith("at most") ?? false} />}
          </span>
          <strong>{formatSentence(finding.title)}</strong>
        </summary>
        <div class="finding-body">
          <p>{formatSentence(finding.action)}</p>
          <p class="dim">
            {saves_ms !== null &&
              `Saves ${formatMs(saves_ms.mid)} per step (${formatMs(saves_ms.low)} to ${formatMs(saves_ms.high)}). `}
            {saves_note !== null && `${formatSentence(saves_note)}.`}
          </p>
          <ul>
            {finding.evidence.map((sentence) => (
              <li key={sentence}>{formatSentence(sentence)}</li>
            ))}
          </ul>
          <p>
            Check it: <Command text={finding.check} />
          </p>
          {finding.id === OF_INPUT && (
            <p>
              <a href={writeState({ view: "data", query: {} })}>View Data</a>
            </p>
          )}
          {finding.id === OF_RANKS && (
            <p>
              <a href={writeState({ view: "ranks", query: {} })}>View Ranks</a>
              {rank != null && (
                <>
                  {" · "}
                  <a href={writeState({ view: "timeline", query: ofRank })}>{`Timeline of rank ${rank}`}</a>
                </>
              )}
            </p>
          )}
          {events !== null && (
            <p>
              <a href={writeState({ view: "timeline", query: { find: events.find, ...ofRank } })}>{events.title}</a>
            </p>
          )}
          {scenario !== null && (
            <button type="button" title={scenario} onClick={() => onTry(scenario, finding.id)}>
              Forecast it
            </button>
          )}
        </div>
      </details>
    </li>
  );
}

/** Names the steps that the savings are from, if they are not all. */
function Replayed({ report }: { report: Report }) {
  const window = report.engine_window;
  const all = stepCount(report.steps);
  if (window === null || window.steps >= all || report.findings.every((finding) => finding.saves_ms === null))
    return null;
  const steps = window.steps === 1 ? `step ${window.first_step}` : `steps ${window.first_step} to ${window.last_step}`;
  return (
    <p class="dim">
      Savings are from {steps}, which represent all {formatCount(all)} steps.
    </p>
  );
}

function Findings({ report, record, onTry }: Pick<ViewProps, "report" | "record"> & Pick<FindingProps, "onTry">) {
  const isFile = embeddedAnswers() !== null; // A file has no search.
  if (report.findings.length === 0) return null;
  return (
    <section aria-labelledby="findings">
      <div class="card-head">
        <h2 id="findings">Findings and their evidence</h2>
        {record !== null && (
          <button type="button" title="Records the program again and compares" onClick={record}>
            I changed it: record and compare
          </button>
        )}
      </div>
      <ol class="findings">
        {report.findings.map((finding) => (
          <FindingRow
            key={finding.id}
            finding={finding}
            events={isFile ? null : eventsOf(finding.id, report)}
            onTry={onTry}
          />
        ))}
      </ol>
      <Replayed report={report} />
    </section>
  );
}

function Reasons({ report }: { report: Report }) {
  const { evidence, confidence } = report.bottleneck;
  if (evidence.length === 0) return null;
  return (
    <section aria-labelledby="reasons" class="card">
      <h2 id="reasons">Evidence of the verdict</h2>
      <ul>
        {evidence.map((sentence) => (
          <li key={sentence}>{formatSentence(sentence)}</li>
        ))}
      </ul>
      {confidence !== null && <p class="dim">Confidence: {confidence}.</p>}
    </section>
  );
}

function Health({ health }: { health: Report["health"] }) {
  return (
    <section aria-labelledby="health" class="card">
      <h2 id="health">Trace health: {health.grade}</h2>
      {health.issues.length === 0 ? (
        <p class="dim">The trace is complete and undamaged.</p>
      ) : (
        <ul>
          {joinedIssues(health.issues).map(({ key, issue, ranks }) => (
            <li key={key}>
              <span class={`severity ${issue.severity}`}>{issue.severity}</span> {formatSentence(issue.detail)}
              {ranks !== "" && ` (${ranks})`}
              {issue.voids.length > 0 && <span class="dim"> Unreliable: {issue.voids.join(", ")}.</span>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

export function Overview({ report, record, go }: ViewProps) {
  const onTry: Try = (scenario, id) => {
    const rank = report.findings.find((finding) => finding.id === id)?.rank;
    go({ view: "what-if", query: rank == null ? { scenario } : { scenario, rank: String(rank) } });
  };
  return (
    <>
      <Verdict report={report} />
      <Figures report={report} />
      <Step report={report} />
      <Actions report={report} onTry={onTry} />
      <Findings report={report} record={record} onTry={onTry} />
      <div class="columns">
        <Reasons report={report} />
        <Health health={report.health} />
      </div>
      <Kinds report={report} />
      <Recording report={report} />
    </>
  );
}
