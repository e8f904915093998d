// Which stretch of time is shown.

/** In ns from the first event. */
export interface Viewport {
  begin: number;
  end: number;
}

/** Beyond the ends of the trace one sees this share of its length. */
const MARGIN = 0.02;
const SHORTEST_NS = 50;

export const lengthOf = (view: Viewport): number => view.end - view.begin;

/** Inside the trace, no shorter than one can read. */
export function clamp(view: Viewport, lengthNs: number): Viewport {
  const margin = Math.max(MARGIN * lengthNs, SHORTEST_NS);
  const length = Math.min(Math.max(lengthOf(view), SHORTEST_NS), lengthNs + 2 * margin);
  const middle = (view.begin + view.end) / 2;
  const begin = Math.min(Math.max(middle - length / 2, -margin), lengthNs + margin - length);
  return { begin, end: begin + length };
}

/** What of it lies in the trace. */
export const clip = (view: Viewport, lengthNs: number): Viewport => ({
  begin: Math.max(0, view.begin),
  end: Math.min(lengthNs, view.end),
});

/** @param factor  below 1: closer; @param at  what stays where it is, from 0 (left) to 1 */
export function zoom(view: Viewport, factor: number, at: number): Viewport {
  const fixed = view.begin + at * lengthOf(view);
  return { begin: fixed - (fixed - view.begin) * factor, end: fixed + (view.end - fixed) * factor };
}

/** @param share  of what is shown; positive: later */
export function pan(view: Viewport, share: number): Viewport {
  const by = share * lengthOf(view);
  return { begin: view.begin + by, end: view.end + by };
}

/** A span with some room around it. */
export function around(startNs: number, durationNs: number): Viewport {
  const room = Math.max(durationNs * 0.25, SHORTEST_NS);
  return { begin: startNs - room, end: startNs + durationNs + room };
}

/** "12000-48000", for the address; what is no such text is nothing. */
export function readViewport(text: string | undefined): Viewport | null {
  const match = /^(-?\d+)-(-?\d+)$/.exec(text ?? "");
  if (match === null) return null;
  const view = { begin: Number(match[1]), end: Number(match[2]) };
  return Number.isFinite(view.begin) && Number.isFinite(view.end) && view.end > view.begin ? view : null;
}

export const writeViewport = (view: Viewport): string => `${Math.floor(view.begin)}-${Math.ceil(view.end)}`;

/** Places of marks, one every 1, 2 or 5 times a power of ten ns, no more than `most`. */
export function marksOf(view: Viewport, most: number): { at: number[]; step: number } {
  const least = lengthOf(view) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((n) => n * power).find((one) => one >= least) ?? 10 * power;
  const at: number[] = [];
  for (let mark = Math.ceil(view.begin / step) * step; mark <= view.end; mark += step) at.push(mark);
  return { at, step };
}
