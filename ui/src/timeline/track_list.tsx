import { Pin } from "lucide-preact";
import { useState } from "preact/hooks";
import type { Track } from "../api/timeline";
import { formatCount } from "../format";
import { matching, type TrackChoice, type TrackSort, toggled } from "../model/track_order";
import "./track_list.css";

const SORTS: Record<TrackSort, string> = { recorded: "as recorded", name: "by name", spans: "by number of spans" };

interface TrackListProps {
  tracks: Track[];
  choice: TrackChoice;
  onChoice: (choice: TrackChoice) => void;
}

/** Hides, pins and sorts tracks. */
export function TrackList({ tracks, choice, onChoice }: TrackListProps) {
  const [filter, setFilter] = useState("");
  const { hidden, pinned, sort } = choice;
  const shown = matching(tracks, filter);
  const visible = tracks.filter((track) => !hidden.has(track.id)).length;
  const hide = (ids: Track[], hides: boolean) => {
    const next = new Set(hidden);
    for (const { id } of ids) {
      if (hides) next.add(id);
      else next.delete(id);
    }
    onChoice({ ...choice, hidden: next });
  };
  return (
    <details class="track-list">
      <summary>Tracks {visible === tracks.length ? formatCount(visible) : `${visible} of ${tracks.length}`}</summary>
      <div>
        <input
          type="search"
          aria-label="Filter tracks"
          placeholder="Filter, such as: stream"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />{" "}
        <select
          aria-label="Order of tracks"
          value={sort}
          onChange={(event) => onChoice({ ...choice, sort: event.currentTarget.value as TrackSort })}
        >
          {Object.entries(SORTS).map(([id, title]) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>{" "}
        <button type="button" onClick={() => hide(shown, false)}>
          Show
        </button>{" "}
        <button type="button" onClick={() => hide(shown, true)}>
          Hide
        </button>
        <ul>
          {shown.map((track) => (
            <li key={track.id}>
              <label>
                <input
                  type="checkbox"
                  checked={!hidden.has(track.id)}
                  onChange={() => onChoice({ ...choice, hidden: toggled(hidden, track.id) })}
                />{" "}
                {track.name} <span class="dim">{track.group}</span>
              </label>
              <button
                type="button"
                class="icon-button"
                aria-pressed={pinned.has(track.id)}
                aria-label={`Pin ${track.name} to the top`}
                title="Pin to the top"
                onClick={() => onChoice({ ...choice, pinned: toggled(pinned, track.id) })}
              >
                <Pin size={14} aria-hidden="true" />
              </button>
            </li>
          ))}
        </ul>
      </div>
    </details>
  );
}
