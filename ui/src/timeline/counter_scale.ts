// Describes the scale of a counter in words, because its lane has no room for an axis.
import type { Track } from "../api/timeline";
import { formatQuantity } from "../format";
import { firstEndingAt } from "./paint";
import type { PlacedTile } from "./tiles";
import type { Viewport } from "./viewport";

/** Range of the visible values. */
export interface Seen {
  least: number | null; // null: samples are too dense to draw separately; only their maximum is known.
  most: number;
}

/** Converts a height of a counter to a value. Tiles have seven digits. */
export function valueAt(track: Track, fill: number): number {
  const least = track.minimum ?? 0;
  return Number((least + fill * ((track.maximum ?? 0) - least)).toPrecision(6));
}

/** Returns the range of a counter's lane in a view; null: no visible sample, or the tiles have not arrived. */
export function seenOf(track: Track, lane: number, placed: PlacedTile[], view: Viewport): Seen | null {
  let least = Infinity;
  let most = -Infinity;
  let isExact = true;
  for (const { tile, beginNs, bucketNs, fromNs, toNs } of placed) {
    const range = tile.lanes.get(lane);
    if (range === undefined) continue;
    const from = Math.max(view.begin, fromNs);
    const to = Math.min(view.end, toNs);
    for (let i = firstEndingAt(tile, range, (from - beginNs) / bucketNs); i < range[1]; ++i) {
      if (beginNs + (tile.begin[i] as number) * bucketNs >= to) break;
      const value = valueAt(track, tile.fill[i] as number);
      least = Math.min(least, value);
      most = Math.max(most, value);
      isExact &&= tile.count[i] === 1;
    }
  }
  return most === -Infinity ? null : { least: isExact ? least : null, most };
}

/** Returns texts, longest first: "12.0 GB to 75.3 GB; full height 80.0 GB", "12.0 GB to 75.3 GB". */
export function scaleTexts(track: Track, seen: Seen | null): string[] {
  const text = (value: number) => formatQuantity(value, track.unit);
  const top = text(track.maximum ?? 0);
  const bottom = (track.minimum ?? 0) < 0 ? text(track.minimum ?? 0) : null; // null: zero, which is implied.
  const height = `full height ${bottom === null ? top : `${bottom} to ${top}`}`;
  if (seen === null) return [height];
  const most = text(seen.most);
  const least = seen.least === null ? null : text(seen.least);
  const here = least === null ? `up to ${most}` : least === most ? most : `${least} to ${most}`;
  return most === top && (bottom === null || least === bottom) ? [here] : [`${here}; ${height}`, here];
}
