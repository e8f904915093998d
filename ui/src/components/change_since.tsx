import type { OpenTrace } from "../api/types";
import { useAnswer } from "../api/use_answer";
import { formatMs, formatSpeedup } from "../format";
import { type ComparedReport, stepsOf } from "../model/compare";
import { writeState } from "../model/url_state";

/** The change of the step time since the previous recording, if there is one (--run). */
export function ChangeSince({ report }: { report: ComparedReport }) {
  const open = useAnswer<{ traces: OpenTrace[] }>("traces");
  const before = open.answer?.traces.find((one) => one.earlier);
  const other = useAnswer<ComparedReport>(before === undefined ? null : `report?trace=${before.trace}`);
  if (before === undefined || other.answer === null) return null;
  const steps = stepsOf(other.answer, report);
  return (
    <p>
      {steps === null ? (
        <>This recording or the previous one, {before.path}, has no complete step. </>
      ) : (
        <>
          <strong>
            {formatMs(steps.beforeMs)} → {formatMs(steps.afterMs)}
          </strong>{" "}
          per step since {before.path},{" "}
          <strong>{formatSpeedup(steps.afterMs > 0 ? steps.beforeMs / steps.afterMs : null)}</strong>
          {steps.corrected && <span class="dim"> without the profiler's cost</span>}.{" "}
        </>
      )}
      <a href={writeState({ view: "compare", query: {} })}>What changed</a>
    </p>
  );
}
