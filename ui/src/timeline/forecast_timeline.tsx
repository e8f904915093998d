// A step as recorded and as forecast, one above the other.
import { useEffect, useState } from "preact/hooks";
import { fetchTimeline, sourceOf, type Timeline } from "../api/timeline";
import { writeState } from "../model/url_state";
import { StackedTimelines } from "./stacked_timelines";
import { around, type Viewport } from "./viewport";

/** The server replays one change at a time: the next value of a slider goes first. */
const DELAY_MS = 150;

/** Returns the first step that the forecast replays, on the clock of the trace: the longer of both. */
function firstStep(recorded: Timeline, forecast: Timeline): Viewport {
  const after = forecast.steps[0];
  const before = recorded.steps.find((step) => step.index === after?.index);
  if (after === undefined || before === undefined) return { begin: 0, end: recorded.length_ns };
  return around(before.start_ns, Math.max(before.wall_ns, after.wall_ns));
}

interface Both {
  scenario: string;
  title: string;
  recorded: Timeline;
  forecast: Timeline;
}

/** Keeps the last drawing until both timelines have arrived. */
export function ForecastTimeline({ scenario, title }: { scenario: string; title: string }) {
  const [both, setBoth] = useState<Both | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    const abort = new AbortController();
    setError("");
    const ask = () =>
      Promise.all([fetchTimeline("", abort.signal), fetchTimeline(sourceOf(scenario), abort.signal)]).then(
        ([recorded, forecast]) => setBoth({ scenario, title, recorded, forecast }),
        (failure: Error) => !abort.signal.aborted && setError(failure.message),
      );
    const timer = setTimeout(ask, DELAY_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [scenario]);
  if (error !== "") return <p class="error">{error}</p>;
  if (both === null) return <p class="dim">Computing the forecast timeline …</p>;
  return (
    <div class={both.scenario === scenario ? "" : "stale"}>
      <StackedTimelines
        key={both.scenario}
        drawings={[
          { source: "", name: "As recorded", timeline: both.recorded },
          { source: sourceOf(both.scenario), name: `Forecast: ${both.title}`, timeline: both.forecast },
        ]}
        view={firstStep(both.recorded, both.forecast)}
        onFailure={(failure) => setError(failure.message)}
      />
      <p>
        <a href={writeState({ view: "timeline", query: { scenario: both.scenario } })}>All tracks in the timeline</a>
      </p>
    </div>
  );
}
