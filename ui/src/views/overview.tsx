import { embeddedAnswers } from "../api/embedded";
import type { Finding, Report, Scenario } from "../api/types";
import { Bar } from "../components/bar";
import { ChangeSince } from "../components/change_since";
import { Kinds, Recording } from "../components/recording";
import { formatCount, formatMs, formatPercent, formatSentence } from "../format";
import { partsOf } from "../model/breakdown";
import { eventsOf, type FindingEvents } from "../model/finding_events";
import { namesOf, scenarioIn } from "../model/scenario";
import { writeState } from "../model/url_state";
import type { ViewProps } from "./view";

const VERDICTS: Record<string, string> = {
  host: "Host-bound: the GPU waits for kernel launches.",
  "gpu-compute": "GPU-bound: limited more by compute than by memory.",
  "cpu-compute": "CPU-bound: the job computes on the CPU.",
  "gpu-memory": "GPU-bound: limited more by memory than by compute.",
  input: "Input-bound: the GPU waits for data.",
  communication: "Communication-bound: ranks exchange data while nothing computes.",
  callback: "Callback-bound: the GPU waits for callbacks of the trainer.",
  synchronization: "Synchronization-bound: blocking calls leave the GPU idle.",
  balanced: "Balanced: no single cause limits the step.",
  unknown: "Unknown: this trace does not show what limits the step.",
};

/** A recording without steps is described as a whole. */
function stepHeading({ steps, stretch }: Report): string {
  if (steps.step_time_ms !== null) return `${formatMs(steps.step_time_ms)} per step`;
  return stretch ? `${formatMs(stretch.wall_ms)} in total, without steps` : "No complete step was recorded";
}

/** The view Data covers the findings of headroom data. */
const OF_INPUT = "data-wait";

interface CardProps {
  finding: Finding;
  events: FindingEvents | null;
  catalogue: Scenario[];
  onTry: (scenario: string) => void;
}

function FindingCard({ finding, events, catalogue, onTry }: CardProps) {
  const scenario = scenarioIn(finding.whatif ?? "", catalogue);
  return (
    <li class="card finding">
      <h3>{formatSentence(finding.title)}</h3>
      <p class="gain">
        {finding.saves_ms === null ? (
          <span class="dim">{finding.saves_note ?? "The saving is unknown."}</span>
        ) : (
          <>
            saves <strong>{formatMs(finding.saves_ms.mid)}</strong> per step{" "}
            <span class="dim">
              ({formatMs(finding.saves_ms.low)} to {formatMs(finding.saves_ms.high)})
            </span>
          </>
        )}
      </p>
      <p>{formatSentence(finding.action)}</p>
      <details>
        <summary>Evidence</summary>
        <ul>
          {finding.evidence.map((sentence) => (
            <li key={sentence}>{formatSentence(sentence)}</li>
          ))}
        </ul>
        <p>
          Check it: <code>{finding.check}</code>
        </p>
      </details>
      {finding.id === OF_INPUT && (
        <p>
          <a href={writeState({ view: "data", query: {} })}>See the view Data</a>
        </p>
      )}
      {events !== null && <a href={writeState({ view: "timeline", query: { find: events.find } })}>{events.title}</a>}
      {scenario !== "" && (
        <p>
          <button type="button" title={scenario} onClick={() => onTry(scenario)}>
            Try it: {namesOf(scenario)}
          </button>
        </p>
      )}
    </li>
  );
}

/** Names the steps that the savings are from, if they are not all. */
function Replayed({ report }: { report: Report }) {
  const window = report.engine_window;
  const all = report.steps.count;
  if (window === null || window.steps >= all || report.findings.every((finding) => finding.saves_ms === null))
    return null;
  const steps = window.steps === 1 ? `step ${window.first_step}` : `steps ${window.first_step} to ${window.last_step}`;
  return (
    <p class="dim">
      Savings are from {steps}, which represent all {formatCount(all)} steps.
    </p>
  );
}

export function Overview({ report, catalogue, go }: ViewProps) {
  const onTry = (scenario: string) => go({ view: "what-if", query: { scenario } });
  const { steps, bottleneck, health } = report;
  const breakdown = report.step_breakdown;
  const isFile = embeddedAnswers() !== null; // A file has no search.
  return (
    <>
      <section aria-labelledby="verdict" class="card">
        <h2 id="verdict">{VERDICTS[bottleneck.verdict] ?? bottleneck.verdict}</h2>
        <p>
          {bottleneck.share_pct !== null && <strong>{formatPercent(bottleneck.share_pct)} of the step. </strong>}
          {bottleneck.confidence !== null && (
            <span class="dim">
              Confidence: {bottleneck.confidence}
              {bottleneck.confidence_reason !== null && `, ${bottleneck.confidence_reason}`}.
            </span>
          )}
        </p>
        <ul>
          {bottleneck.evidence.map((sentence) => (
            <li key={sentence}>{formatSentence(sentence)}</li>
          ))}
        </ul>
      </section>
      <section aria-labelledby="step" class="card">
        <h2 id="step">{stepHeading(report)}</h2>
        {steps.step_time_ms !== null && (
          <p class="dim">
            The mean step; {formatCount(steps.count)} were recorded, from {formatMs(steps.min_ms)} to{" "}
            {formatMs(steps.max_ms)}, median {formatMs(steps.p50_ms)}.
            {steps.corrected_step_ms !== null && ` Without the profiler: ${formatMs(steps.corrected_step_ms.mid)}.`}
          </p>
        )}
        <ChangeSince report={report} />
        <Kinds report={report} />
        {breakdown === null ? (
          <p class="dim">The step has no breakdown: record CPU and GPU activity of complete steps.</p>
        ) : (
          <table class="step-parts">
            <caption class="dim">
              Each moment of {report.stretch ? "the recording" : "the mean step"} belongs to one row. Strong: the GPU
              works; pale: it is idle.
            </caption>
            <tbody>
              {partsOf(breakdown).map((part) => (
                <tr key={part.key} class={part.ms === 0 ? "dim" : ""}>
                  <th scope="row" title={part.meaning}>
                    {part.name}
                  </th>
                  <td class="number">{formatMs(part.ms)}</td>
                  <td class="number">{formatPercent(100 * part.share)}</td>
                  <td class="wide">
                    <Bar
                      share={part.share}
                      busy={part.gpuMs / breakdown.wall_ms}
                      label={`${part.name}: ${formatMs(part.ms)}, the GPU works ${formatMs(part.gpuMs)} of it`}
                    />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
      <Recording report={report} />
      <section aria-labelledby="findings">
        <h2 id="findings">What to do</h2>
        {report.findings.length === 0 ? (
          <p class="dim">Nothing stands out.</p>
        ) : (
          <ol class="findings">
            {report.findings.map((finding) => (
              <FindingCard
                key={finding.id}
                finding={finding}
                events={isFile ? null : eventsOf(finding.id, report)}
                catalogue={catalogue}
                onTry={onTry}
              />
            ))}
          </ol>
        )}
        <Replayed report={report} />
      </section>
      <section aria-labelledby="health" class="card">
        <h2 id="health">Trace health: {health.grade}</h2>
        {health.issues.length === 0 ? (
          <p class="dim">The trace is complete and undamaged.</p>
        ) : (
          <ul>
            {health.issues.map((issue) => (
              <li key={issue.code}>
                <span class={`severity ${issue.severity}`}>{issue.severity}</span> {formatSentence(issue.detail)}
                {issue.voids.length > 0 && <span class="dim"> Unreliable: {issue.voids.join(", ")}.</span>}
              </li>
            ))}
          </ul>
        )}
      </section>
    </>
  );
}
