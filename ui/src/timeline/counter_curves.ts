// Counters of the timeline as curves over the whole recording.
import type { Timeline } from "../api/timeline";
import type { ChartPoint } from "../model/chart";
import { valueOf } from "./counter_scale";
import { bucketNs, type Tile } from "./tiles";

export interface CounterCurve {
  name: string; // Of the counter, and behind a space of what it is.
  unit: string | null;
  points: ChartPoint[]; // Over milliseconds from the first event. A sample holds until the next one: two points each.
}

const MOST_BUCKETS = 256;
const NS_PER_MS = 1e6;

/** The finest level at which one tile holds all, in as many points as a chart can show; a page that is a file keeps it, too. */
export function levelOfWhole(lengthNs: number): number {
  let level = 0;
  while (Math.floor(lengthNs / bucketNs(level)) > MOST_BUCKETS) ++level;
  return level;
}

/** @param tile  tile 0 of a level that holds all; of samples too close together to be drawn apart it has the largest */
export function curvesOf(timeline: Timeline, tile: Tile, level: number): CounterCurve[] {
  const toMs = bucketNs(level) / NS_PER_MS;
  return timeline.tracks
    .filter((track) => track.kind === "counter")
    .map((track) => {
      const [first, last] = tile.lanes.get(track.first_lane) ?? [0, 0];
      const points: ChartPoint[] = [];
      for (let i = first; i < last; ++i) {
        const y = valueOf(track, tile.fill[i] as number);
        const [begin, end] = [(tile.begin[i] as number) * toMs, (tile.end[i] as number) * toMs];
        points.push({ x: begin, y });
        if (end > begin) points.push({ x: end, y });
      }
      return { name: track.name, unit: track.unit, points };
    });
}
