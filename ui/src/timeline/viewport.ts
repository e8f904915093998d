// The visible range of time.

/** In ns from the first event. */
export interface Viewport {
  begin: number;
  end: number;
}

/** Visible margin beyond each end of the trace, as a share of its length. */
const MARGIN = 0.02;
const SHORTEST_NS = 50;

export const lengthOf = (view: Viewport): number => view.end - view.begin;

/** Limits a view to the trace and to a readable minimum length. */
export function clamp(view: Viewport, lengthNs: number): Viewport {
  const margin = Math.max(MARGIN * lengthNs, SHORTEST_NS);
  const length = Math.min(Math.max(lengthOf(view), SHORTEST_NS), lengthNs + 2 * margin);
  const middle = (view.begin + view.end) / 2;
  const begin = Math.min(Math.max(middle - length / 2, -margin), lengthNs + margin - length);
  return { begin, end: begin + length };
}

/** Returns the part of the view inside the trace. */
export const clip = (view: Viewport, lengthNs: number): Viewport => ({
  begin: Math.max(0, view.begin),
  end: Math.min(lengthNs, view.end),
});

/**
 * @param factor  factor on the visible length; below 1: zooms in
 * @param at  fixed point, from 0 (left) to 1
 */
export function zoom(view: Viewport, factor: number, at: number): Viewport {
  const fixed = view.begin + at * lengthOf(view);
  return { begin: fixed - (fixed - view.begin) * factor, end: fixed + (view.end - fixed) * factor };
}

/** @param share  share of the visible range; positive: later */
export function pan(view: Viewport, share: number): Viewport {
  const by = share * lengthOf(view);
  return { begin: view.begin + by, end: view.end + by };
}

/** A short span is shown with this much time around it, at most five times its length. */
const SURROUNDINGS_NS = 50_000;

/** Returns a view of a span with a margin. */
export function around(startNs: number, durationNs: number): Viewport {
  const room = Math.max(durationNs * 0.25, Math.min(SURROUNDINGS_NS, durationNs * 5), SHORTEST_NS);
  return { begin: startNs - room, end: startNs + durationNs + room };
}

/** Parses "12000-48000" from the address; null for invalid text. */
export function readViewport(text: string | undefined): Viewport | null {
  const match = /^(-?\d+)-(-?\d+)$/.exec(text ?? "");
  if (match === null) return null;
  const view = { begin: Number(match[1]), end: Number(match[2]) };
  return Number.isFinite(view.begin) && Number.isFinite(view.end) && view.end > view.begin ? view : null;
}

export const writeViewport = (view: Viewport): string => `${Math.floor(view.begin)}-${Math.ceil(view.end)}`;

/** Returns positions of marks, one every 1, 2 or 5 times a power of ten ns, at most `most`. */
export function marksOf(view: Viewport, most: number): { at: number[]; step: number } {
  const least = lengthOf(view) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((n) => n * power).find((one) => one >= least) ?? 10 * power;
  const at: number[] = [];
  for (let mark = Math.ceil(view.begin / step) * step; mark <= view.end; mark += step) at.push(mark);
  return { at, step };
}
