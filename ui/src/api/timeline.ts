// Requests of the timeline (docs/ui.md). All times are ns from the first event.
import { ask, askBytes, pathOfRank } from "./client";
import { bytesIn, embeddedAnswers } from "./embedded";

export type TrackKind = "critical-path" | "stream" | "thread" | "counter";

export interface Track {
  id: number;
  kind: TrackKind;
  name: string;
  group: string;
  first_lane: number;
  lanes: number;
  spans: number;
  overlapping: number;
  minimum: number | null;
  maximum: number | null;
  unit: string | null;
}

export interface TimelineStep {
  index: number;
  start_ns: number;
  wall_ns: number;
}

export interface Timeline {
  schema: string;
  scenario: string | null;
  recorded_begin_ns: number;
  length_ns: number;
  tile_buckets: number;
  tracks: Track[];
  steps: TimelineStep[];
}

export interface SpanPlace {
  lane: number;
  row: number;
  start_ns: number;
  duration_ns: number;
  label: string;
}

export interface SpanLink extends SpanPlace {
  relation: string;
}

export interface Span extends SpanPlace {
  name: string;
  track: number;
  value: number | null;
  facts?: Record<string, string>;
  args?: string | null;
  links: SpanLink[];
}

export interface Search {
  count: number;
  total_ns: number;
  names: number[];
  hits: SpanPlace[];
}

export interface NameTotal {
  label: string;
  style: number;
  count: number;
  total_ns: number;
}

export interface Range {
  from_ns: number;
  to_ns: number;
  streams: {
    track: number;
    busy_ns: number;
    idle_for_host_ns: number;
    idle_for_others_ns: number;
    idle_unknown_ns: number;
    idle_others_work_ns: number;
  }[];
  gpu: NameTotal[];
  host: NameTotal[];
}

/** The job as recorded, a forecast of it, or another open job: a parameter of requests. */
export type Source = "" | `scenario=${string}` | `trace=${number}`;

export const sourceOf = (scenario: string): Source =>
  scenario === "" ? "" : `scenario=${encodeURIComponent(scenario)}`;

export const fetchTimeline = (source: Source, signal?: AbortSignal): Promise<Timeline> =>
  ask(source === "" ? "timeline" : `timeline?${source}`, signal);

/** Returns null if the page is a file and holds no tile of this resolution. */
export async function fetchTile(
  source: Source,
  level: number,
  index: number,
  tracks: number[],
): Promise<ArrayBuffer | null> {
  const path = `timeline/tile?level=${level}&index=${index}`;
  const kept = embeddedAnswers();
  if (kept !== null) return bytesIn(kept, pathOfRank(path));
  return askBytes(`${path}&tracks=${tracks.join(",")}${source === "" ? "" : `&${source}`}`);
}

export const fetchSpan = (lane: number, row: number, signal?: AbortSignal): Promise<Span> =>
  ask(`timeline/span?lane=${lane}&row=${row}`, signal);

export const fetchSearch = (text: string, signal?: AbortSignal): Promise<Search> =>
  ask(`timeline/search?text=${encodeURIComponent(text)}`, signal);

/** Where a time of SQL's clock is. */
export interface Place {
  start_ns: number;
  duration_ns: number;
  span: SpanPlace | null; // Null: none starts then.
}

/** @param at  "START" or "START,LENGTH", in ns on SQL's clock */
export function fetchPlace(at: string, signal?: AbortSignal): Promise<Place> {
  const [start = "", length] = at.split(",");
  return ask(`timeline/place?start=${start}${length === undefined ? "" : `&duration=${length}`}`, signal);
}

export const fetchRange = (from: number, to: number, signal?: AbortSignal): Promise<Range> =>
  ask(`timeline/range?from=${Math.round(from)}&to=${Math.round(to)}`, signal);
