// Positions of tracks and lanes, from the top, in CSS pixels.
import type { Track } from "../api/timeline";

export const LANE_HEIGHT = 17;
export const TITLE_HEIGHT = 22;
const COUNTER_HEIGHT = 36;
const TRACK_GAP = 6;

export interface LaneBox {
  lane: number;
  track: Track;
  y: number;
  height: number;
}

export interface TrackBox {
  track: Track;
  y: number;
  height: number; // Includes the title.
  folded: boolean;
}

export interface Layout {
  tracks: TrackBox[];
  lanes: LaneBox[];
  height: number;
}

/** A folded track shows only its title. */
export function layoutTracks(tracks: Track[], folded: ReadonlySet<number>): Layout {
  const layout: Layout = { tracks: [], lanes: [], height: 0 };
  let y = 0;
  for (const track of tracks) {
    const isFolded = folded.has(track.id);
    const top = y;
    y += TITLE_HEIGHT;
    const height = track.kind === "counter" ? COUNTER_HEIGHT : LANE_HEIGHT;
    for (let lane = 0; !isFolded && lane < track.lanes; ++lane) {
      layout.lanes.push({ lane: track.first_lane + lane, track, y, height });
      y += height;
    }
    layout.tracks.push({ track, y: top, height: y - top, folded: isFolded });
    y += TRACK_GAP;
  }
  layout.height = y;
  return layout;
}

/** Returns the index of the first lane that ends below y. */
function firstBelow(layout: Layout, y: number): number {
  let low = 0;
  let high = layout.lanes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const box = layout.lanes[middle] as LaneBox;
    if (box.y + box.height <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the lanes that overlap [top, bottom). */
export function lanesBetween(layout: Layout, top: number, bottom: number): LaneBox[] {
  const first = firstBelow(layout, top);
  let last = first;
  while (last < layout.lanes.length && (layout.lanes[last] as LaneBox).y < bottom) ++last;
  return layout.lanes.slice(first, last);
}

export function laneAt(layout: Layout, y: number): LaneBox | null {
  const box = layout.lanes[firstBelow(layout, y)];
  return box !== undefined && box.y <= y ? box : null;
}

export const boxOfLane = (layout: Layout, lane: number): LaneBox | null =>
  layout.lanes.find((box) => box.lane === lane) ?? null;

export const trackOfLane = (tracks: Track[], lane: number): Track | null =>
  tracks.find((track) => track.first_lane <= lane && lane < track.first_lane + track.lanes) ?? null;

/**
 * Returns the scroll position that shows a lane and the height of a title around it, with the least scrolling.
 *
 * @param top  current scroll position
 * @param height  visible height of the timeline
 */
export function scrollTo(lane: LaneBox, top: number, height: number): number {
  const first = Math.max(0, lane.y - TITLE_HEIGHT);
  return Math.min(first, Math.max(top, lane.y + lane.height + TITLE_HEIGHT - height));
}

/** Returns tracks that start folded: long lists of threads, so that important tracks are visible first. */
export function foldedAtFirst(tracks: Track[]): Set<number> {
  const MOST_LANES = 60;
  const folded = new Set<number>();
  let lanes = 0;
  for (const track of tracks) {
    lanes += track.lanes;
    if (lanes > MOST_LANES && track.kind !== "stream" && track.kind !== "critical-path") folded.add(track.id);
  }
  return folded;
}
