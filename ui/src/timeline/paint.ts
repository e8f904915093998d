// Draws lanes into pixels. Paints a lane once as a row of pixels and copies the row down its height. The cost of a
// frame therefore depends on its pixels, not on the number of spans.
import type { LaneBox } from "./layout";
import { fillOf, mix, type Palette } from "./palette";
import type { PlacedTile } from "./tiles";
import { lengthOf, type Viewport } from "./viewport";

/** One rectangle of a tile. */
export interface Place {
  tile: PlacedTile;
  index: number;
}

export interface Painted {
  /** Styles drawn, for example for a legend. */
  styles: Set<number>;
}

export interface PaintInput {
  lanes: LaneBox[];
  placed: (track: number) => PlacedTile[];
  view: Viewport;
  palette: Palette;
  /** Names to highlight, with all others pale; null: none. */
  found: ReadonlySet<number> | null;
  scrollTop: number;
  /** Device pixels per CSS pixel. */
  ratio: number;
}

const PALE = 0.25;
const GAP = 1; // CSS pixels between lanes.

/** Paints an image of `width` x `height` 32-bit device pixels. */
export function paintLanes(pixels: Uint32Array, width: number, height: number, input: PaintInput): Painted {
  const { palette, view, ratio } = input;
  const painted: Painted = { styles: new Set() };
  pixels.fill(palette.background);
  const row = new Uint32Array(width);
  const level = new Float32Array(width); // Fill level of a counter.
  const perNs = width / lengthOf(view);
  for (const lane of input.lanes) {
    const top = Math.round((lane.y - input.scrollTop) * ratio);
    const bottom = Math.round((lane.y + lane.height - GAP - input.scrollTop) * ratio);
    if (bottom <= 0 || top >= height) continue;
    const isCounter = lane.track.kind === "counter";
    row.fill(palette.stripe);
    if (isCounter) level.fill(0);
    for (const placed of input.placed(lane.track.id)) {
      const range = placed.tile.lanes.get(lane.lane);
      if (range === undefined) continue;
      if (isCounter) paintLevels(level, placed, range, view.begin, perNs, width);
      else paintRow(row, placed, range, input, perNs, width, painted);
    }
    if (isCounter) fillCounter(pixels, width, height, top, bottom, level, palette);
    else {
      for (let y = Math.max(0, top); y < Math.min(height, bottom); ++y) pixels.set(row, y * width);
    }
  }
  return painted;
}

/** Returns the first rectangle of a lane that ends at or after a bucket. */
export function firstEndingAt(tile: PlacedTile["tile"], [from, to]: [number, number], bucket: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((tile.end[middle] as number) < bucket) low = middle + 1;
    else high = middle;
  }
  return low;
}

function paintRow(
  row: Uint32Array,
  placed: PlacedTile,
  range: [number, number],
  input: PaintInput,
  perNs: number,
  width: number,
  painted: Painted,
): void {
  const { tile, beginNs, bucketNs } = placed;
  const { palette, view, found } = input;
  const scale = bucketNs * perNs;
  const origin = (beginNs - view.begin) * perNs;
  const left = Math.max(0, (placed.fromNs - view.begin) * perNs);
  const right = Math.min(width, (placed.toNs - view.begin) * perNs);
  for (let i = firstEndingAt(tile, range, (left - origin) / scale); i < range[1]; ++i) {
    const start = origin + (tile.begin[i] as number) * scale;
    const begin = Math.max(left, start);
    if (begin >= right) break;
    const end = Math.min(right, origin + (tile.end[i] as number) * scale);
    const style = tile.style[i] as number;
    let colour = fillOf(palette, style);
    painted.styles.add(style & 0xff);
    if (found !== null && !found.has(tile.name[i] as number)) colour = mix(colour, palette.stripe, PALE);
    const fill = tile.fill[i] as number;
    const first = Math.floor(begin);
    const last = Math.min(width - 1, Math.ceil(end) - 1);
    if (last <= first) {
      // The span covers only part of a pixel.
      const share = Math.max(0.25, fill * Math.max(end - begin, 0));
      row[first] = mix(colour, row[first] as number, Math.min(1, share));
      continue;
    }
    row.fill(fill < 0.95 ? mix(colour, palette.stripe, 0.3 + 0.7 * fill) : colour, first, last + 1);
    // An edge separates neighbours of one colour, except at the start of a tile.
    if (end - begin > 3 && start >= left) row[first] = mix(palette.dark ? 0xff000000 : 0xffffffff, colour, 0.5);
  }
}

/** Paints the largest share of the maximum in each column of pixels. */
function paintLevels(
  level: Float32Array,
  placed: PlacedTile,
  range: [number, number],
  viewBegin: number,
  perNs: number,
  width: number,
): void {
  const { tile, beginNs, bucketNs } = placed;
  const scale = bucketNs * perNs;
  const origin = (beginNs - viewBegin) * perNs;
  const left = Math.max(0, (placed.fromNs - viewBegin) * perNs);
  const right = Math.min(width, (placed.toNs - viewBegin) * perNs);
  for (let i = firstEndingAt(tile, range, (left - origin) / scale); i < range[1]; ++i) {
    const begin = Math.max(left, origin + (tile.begin[i] as number) * scale);
    if (begin >= right) break;
    const end = Math.min(right, Math.max(begin + 1, origin + (tile.end[i] as number) * scale));
    for (let x = Math.floor(begin); x < end && x < width; ++x)
      level[x] = Math.max(level[x] as number, tile.fill[i] as number);
  }
}

function fillCounter(
  pixels: Uint32Array,
  width: number,
  height: number,
  top: number,
  bottom: number,
  level: Float32Array,
  palette: Palette,
): void {
  const COUNTER_STYLE = 12;
  const colour = fillOf(palette, COUNTER_STYLE);
  const tall = bottom - top;
  for (let y = Math.max(0, top); y < Math.min(height, bottom); ++y) {
    const at = y * width;
    const share = (bottom - y - 0.5) / tall;
    for (let x = 0; x < width; ++x) pixels[at + x] = (level[x] as number) >= share ? colour : palette.stripe;
  }
}

/** Returns the rectangle at a position, or the nearest one within a few pixels. */
export function placeAt(lane: LaneBox, placed: PlacedTile[], timeNs: number, toleranceNs: number): Place | null {
  let best: Place | null = null;
  let least = toleranceNs;
  for (const one of placed) {
    const range = one.tile.lanes.get(lane.lane);
    if (range === undefined || timeNs < one.fromNs - toleranceNs || timeNs > one.toNs + toleranceNs) continue;
    const bucket = (timeNs - toleranceNs - one.beginNs) / one.bucketNs;
    for (let i = firstEndingAt(one.tile, range, bucket); i < range[1]; ++i) {
      const begin = one.beginNs + (one.tile.begin[i] as number) * one.bucketNs;
      const end = one.beginNs + (one.tile.end[i] as number) * one.bucketNs;
      if (begin > timeNs + toleranceNs) break;
      const distance = Math.max(0, begin - timeNs, timeNs - end);
      if (distance > least || (distance === least && best !== null)) continue;
      least = distance;
      best = { tile: one, index: i };
    }
  }
  return best;
}

/** A label and its position, in CSS pixels. */
export interface Label {
  x: number;
  y: number;
  width: number;
  text: string;
  style: number;
}

/** Returns labels of the rectangles that are wide enough, each once, at the visible part. */
export function labelsOf(input: PaintInput, cssWidth: number, leastWidth: number): Label[] {
  const labels: Label[] = [];
  const perNs = cssWidth / lengthOf(input.view);
  for (const lane of input.lanes) {
    if (lane.track.kind === "counter") continue;
    for (const placed of input.placed(lane.track.id)) {
      const range = placed.tile.lanes.get(lane.lane);
      if (range === undefined) continue;
      const { tile, beginNs, bucketNs } = placed;
      const scale = bucketNs * perNs;
      const origin = (beginNs - input.view.begin) * perNs;
      const left = Math.max(0, (placed.fromNs - input.view.begin) * perNs);
      const right = Math.min(cssWidth, (placed.toNs - input.view.begin) * perNs);
      for (let i = firstEndingAt(tile, range, (left - origin) / scale); i < range[1]; ++i) {
        const begin = origin + (tile.begin[i] as number) * scale;
        if (begin >= right) break;
        const end = Math.min(cssWidth, origin + (tile.end[i] as number) * scale);
        const from = Math.max(0, begin);
        // The rectangle begins in another tile, which labels it.
        if (from < left || end - from < leastWidth) continue;
        const text = tile.names.get(tile.name[i] as number);
        if (text !== undefined)
          labels.push({ x: from, y: lane.y, width: end - from, text, style: tile.style[i] as number });
      }
    }
  }
  return labels;
}
