// Linear and logarithmic sliders.

export interface Range {
  least: number;
  most: number;
  log: boolean; // Each position multiplies by the same factor.
  whole: boolean;
}

/** Positions are integers from 0 to this. */
export const POSITIONS = 200;

export function positionOf(value: number, range: Range): number {
  const { least, most, log } = range;
  if (Number.isNaN(value)) return 0;
  const share = log
    ? Math.log(Math.max(value, least) / least) / Math.log(most / least)
    : (value - least) / (most - least);
  return Math.round(POSITIONS * Math.min(1, Math.max(0, share)));
}

/** Rounds to two digits, the precision of a slider. The ends are exact, and integers below 100 stay integers. */
export function valueAt(position: number, range: Range): number {
  const { least, most, log, whole } = range;
  const share = position / POSITIONS;
  if (share <= 0) return least;
  if (share >= 1) return most;
  const value = log ? least * (most / least) ** share : least + share * (most - least);
  const rounded = Number(value.toPrecision(2));
  return Math.min(most, Math.max(least, whole ? Math.round(rounded) : rounded));
}
