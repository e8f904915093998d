// A step on the GPU's streams, as recorded and as forecast, one above the other.
import { useEffect, useMemo, useState } from "preact/hooks";
import { fetchTimeline, type SpanPlace, type Timeline } from "../api/timeline";
import { writeState } from "../model/url_state";
import { layoutTracks } from "./layout";
import { stripTracks } from "./overview_strip";
import { Pane, type Selected } from "./pane";
import { SharedView } from "./shared_view";
import { around, type Viewport } from "./viewport";
import "./forecast_timeline.css";

const NO_LINKS: SpanPlace[] = [];
const NONE: ReadonlySet<number> = new Set();
/** In pixels. */
const MAX_HEIGHT = 150;
/** The server replays one change at a time: the next value of a slider goes first. */
const DELAY_MS = 150;

/** Returns the first step that the forecast replays, on the clock of the trace: the longer of both. */
function firstStep(recorded: Timeline, forecast: Timeline): Viewport | null {
  const after = forecast.steps[0];
  const before = recorded.steps.find((step) => step.index === after?.index);
  if (after === undefined || before === undefined) return null;
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
      Promise.all([fetchTimeline("", abort.signal), fetchTimeline(scenario, abort.signal)]).then(
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
    <div class={both.scenario === scenario ? "forecast-timeline" : "forecast-timeline stale"}>
      <Panes key={both.scenario} {...both} onFailure={(failure) => setError(failure.message)} />
    </div>
  );
}

function Panes({ scenario, recorded, forecast, title, onFailure }: Both & { onFailure: (error: Error) => void }) {
  const [selected, setSelected] = useState<{ scenario: string; span: Selected } | null>(null);
  const shared = useMemo(() => {
    const whole = { begin: 0, end: recorded.length_ns };
    return new SharedView(firstStep(recorded, forecast) ?? whole, recorded.length_ns);
  }, [recorded, forecast]);
  const drawings = [
    { of: "", name: "As recorded", timeline: recorded, tracks: stripTracks(recorded.tracks) },
    { of: scenario, name: `Forecast: ${title}`, timeline: forecast, tracks: stripTracks(forecast.tracks) },
  ];
  return (
    <>
      {drawings.map(({ of, name, timeline, tracks }) => (
        <div key={of} style={{ "--pane-height": `${Math.min(MAX_HEIGHT, layoutTracks(tracks, NONE).height)}px` }}>
          <h3>{name}</h3>
          <Pane
            label={name}
            scenario={of}
            timeline={timeline}
            tracks={tracks}
            shared={shared}
            found={null}
            selected={selected?.scenario === of ? selected.span : null}
            links={NO_LINKS}
            range={null}
            onSelect={(span) => setSelected(span === null ? null : { scenario: of, span })}
            onRange={() => {}}
            onFailure={onFailure}
          />
        </div>
      ))}
      <p>
        <a href={writeState({ view: "timeline", query: { scenario } })}>All tracks in the timeline</a>
      </p>
    </>
  );
}
