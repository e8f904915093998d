import type { Diff } from "../api/diff";
import type { OpenTrace } from "../api/types";
import { useAnswer } from "../api/use_answer";
import { formatMs, formatSpeedup } from "../format";
import { writeState } from "../model/url_state";

/** The change of the step since the previous recording, if there is one (--run), as Compare states it. */
export function ChangeSince() {
  const open = useAnswer<{ traces: OpenTrace[] }>("traces");
  const before = open.answer?.traces.find((one) => one.earlier);
  const diff = useAnswer<Diff>(before === undefined ? null : `diff?trace=${before.trace}`);
  if (before === undefined || diff.pending) return null;
  const step = diff.answer?.step_ms;
  return (
    <p>
      {step === undefined ? (
        <>This recording or the previous one, {before.path}, has no complete step. </>
      ) : (
        <>
          <strong>
            {formatMs(step.a)} → {formatMs(step.b)}
          </strong>{" "}
          (median step) since {before.path}, <strong>{formatSpeedup(step.b > 0 ? step.a / step.b : null)}</strong>.{" "}
        </>
      )}
      <a href={writeState({ view: "compare", query: {} })}>What changed</a>
    </p>
  );
}
