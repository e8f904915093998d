import { useEffect, useRef } from "preact/hooks";
import type { RunState } from "../api/use_run";
import { elapsed, toldOf } from "../model/run";
import "./run_panel.css";

/** Button in the header. Stop is elsewhere, so that a double click does not stop the run that it started. */
export function RunButton({ state }: { state: RunState }) {
  const { run, begin } = state;
  if (run === null) return null;
  const isBusy = run.phase !== "idle";
  return (
    <button
      type="button"
      class="run-button"
      title={run.command}
      aria-disabled={isBusy}
      onClick={() => !isBusy && begin()}
    >
      {isBusy ? "Recording …" : "Record again"}
    </button>
  );
}

/** Output of the program, scrolled to its end. */
function Lines({ lines }: { lines: string[] }) {
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    if (box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  return (
    <pre class="run-lines" ref={box} tabIndex={0} role="region" aria-label="Last lines of the program">
      {lines.join("\n")}
    </pre>
  );
}

/** Result of the last run, or progress of the current one. */
export function RunPanel({ state }: { state: RunState }) {
  const { run, refused, stop } = state;
  const told = run === null ? null : toldOf(run);
  const isBusy = run !== null && run.phase !== "idle";
  const isOpen = isBusy || told?.isBad === true;
  return (
    <>
      {refused !== "" && (
        <p class="card error" role="alert">
          {refused}
        </p>
      )}
      {/* Never hidden: screen readers do not announce text that appears in a hidden element. */}
      <section
        class={told === null ? "run-panel-silent" : isOpen ? "card run-panel" : "run-panel dim"}
        aria-label={told === null ? undefined : "Recording"}
      >
        <p>
          {/* Screen readers announce its changes; the time, which changes every second, is outside. */}
          <span role="status" class={told?.isBad ? "error" : ""}>
            {told?.text}
          </span>
          {run !== null && told !== null && !told.isBad && (
            <span class="dim"> {isBusy ? elapsed(run.time_s) : `It took ${elapsed(run.time_s)}.`}</span>
          )}{" "}
          {run?.phase === "running" && (
            <button type="button" title="Stops the program and shows the recording up to that moment" onClick={stop}>
              Stop
            </button>
          )}
        </p>
        {run !== null && isOpen && run.lines.length > 0 && <Lines lines={run.lines} />}
      </section>
    </>
  );
}
