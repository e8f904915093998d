// Timelines one above the other, on one scale.
import { useState } from "preact/hooks";
import type { Source, SpanPlace, Timeline } from "../api/timeline";
import { layoutTracks } from "./layout";
import { stripTracks } from "./overview_strip";
import { Pane, type Selected } from "./pane";
import { SharedView } from "./shared_view";
import type { Viewport } from "./viewport";
import "./stacked_timelines.css";

const NO_LINKS: SpanPlace[] = [];
const NONE: ReadonlySet<number> = new Set();
/** In pixels. */
const MAX_HEIGHT = 150;

export interface Drawn {
  source: Source;
  name: string;
  timeline: Timeline; // Its `recorded_begin_ns` is its zero on the clock of the view.
}

interface StackProps {
  drawings: Drawn[];
  view: Viewport; // Visible at first.
  onFailure: (error: Error) => void;
}

/** Shows the busiest streams of each timeline, else the busiest threads. */
export function StackedTimelines({ drawings, view, onFailure }: StackProps) {
  const [shared] = useState(() => {
    const ends = drawings.map(({ timeline }) => timeline.recorded_begin_ns + timeline.length_ns);
    return new SharedView(view, Math.max(...ends));
  });
  const [selected, setSelected] = useState<{ source: Source; span: Selected } | null>(null);
  return (
    <div class="stacked-timelines">
      {drawings.map(({ source, name, timeline }) => {
        const tracks = stripTracks(timeline.tracks);
        const height = Math.min(MAX_HEIGHT, layoutTracks(tracks, NONE).height);
        return (
          <div key={source} style={{ "--pane-height": `${height}px` }}>
            <h3>{name}</h3>
            <Pane
              label={name}
              source={source}
              timeline={timeline}
              tracks={tracks}
              shared={shared}
              found={null}
              selected={selected?.source === source ? selected.span : null}
              links={NO_LINKS}
              range={null}
              onSelect={(span) => setSelected(span === null ? null : { source, span })}
              onRange={() => {}}
              onFailure={onFailure}
            />
          </div>
        );
      })}
    </div>
  );
}
