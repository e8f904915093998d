// Points of a chart as columns over one axis, and the point nearest to the pointer.

export interface ChartPoint {
  x: number;
  y: number;
  low?: number; // Lower edge of a band around the line; `high` is its upper edge.
  high?: number;
  name?: string; // Shown when the pointer is on the point.
  radius?: number; // Radius of the point in pixels.
  label?: string; // Written next to the point.
}

/** Shapes tell series apart without colours. */
export type PointShape = "circle" | "square" | "diamond";

export interface ChartSeries {
  label: string;
  points: ChartPoint[];
  kind?: "line" | "points" | "area"; // Default: line. Areas stack on the areas before them.
  dashed?: boolean;
  shape?: PointShape; // Default: circle.
  color?: string; // A custom property of the page; default: from the palette.
  format?: (y: number) => string; // Default: the axis format.
}

/** One row per x, or several if a series has several points at that x. `at` is the row's point in each series. */
export interface Columns {
  xs: number[];
  at: (ChartPoint | null)[][];
}

/**
 * Returns the upper edge of each area: the sum of its value and the areas below. null for other series and missing
 * points.
 */
export function stacked(kinds: ChartSeries["kind"][], at: Columns["at"]): (number | null)[][] {
  const sums: number[] = [];
  return at.map((column, index) =>
    column.map((point, row) => {
      if (kinds[index] !== "area" || point === null) return null;
      sums[row] = (sums[row] ?? 0) + point.y;
      return sums[row] ?? null;
    }),
  );
}

/** Keeps the points that a chart can draw: finite and, on logarithmic scales, above zero. */
export function drawable(points: ChartPoint[], logX: boolean, logY: boolean): ChartPoint[] {
  const fits = (value: number, log: boolean) => Number.isFinite(value) && (!log || value > 0);
  return points.filter((point) => fits(point.x, logX) && fits(point.y, logY)).sort((a, b) => a.x - b.x);
}

/** Returns the range of a logarithmic scale with some margin. Whole decades would leave most of it empty. */
export function roomyLog(low: number, high: number): [number, number] {
  const room = Math.max(1.05, (high / low) ** 0.06);
  return [low / room, high * room];
}

/** Returns the ticks of a logarithmic scale: decades; for few decades, also multiples of 2 and 5, or all digits. */
export function logTicks(low: number, high: number): number[] {
  const decades = Math.log10(high / low);
  const digits = decades > 3 ? [1] : decades > 0.8 ? [1, 2, 5] : [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
    for (const digit of digits) {
      const tick = Number(`${digit}e${power}`);
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks;
}

/** Merges series of sorted points onto one axis. */
export function alignedOf(series: ChartPoint[][]): Columns {
  const columns: Columns = { xs: [], at: series.map(() => []) };
  const next = series.map(() => 0);
  for (;;) {
    const x = Math.min(...series.map((points, index) => points[next[index] ?? 0]?.x ?? Infinity));
    if (x === Infinity) return columns;
    columns.xs.push(x);
    series.forEach((points, index) => {
      const point = points[next[index] ?? 0];
      const here = point?.x === x;
      columns.at[index]?.push(here ? point : null);
      if (here) next[index] = (next[index] ?? 0) + 1;
    });
  }
}

/** Returns at most `limit` evenly spaced rows, including the first and the last. */
export function thinned<T>(rows: T[], limit: number): T[] {
  if (rows.length <= limit) return rows;
  return Array.from({ length: limit }, (_, index) => rows[Math.round((index * (rows.length - 1)) / (limit - 1))] as T);
}

/** Returns the index of the spot nearest to the pointer, within `reach` pixels; -1: none. */
export function nearestOf(spots: { left: number; top: number }[], left: number, top: number, reach: number): number {
  let best = -1;
  let least = reach;
  spots.forEach((spot, index) => {
    const distance = Math.hypot(spot.left - left, spot.top - top);
    if (distance <= least) {
      least = distance;
      best = index;
    }
  });
  return best;
}

/**
 * Blanks the axis texts that would overlap their predecessor.
 *
 * @param at  centres in pixels, ascending
 * @param perLetter  pixels
 */
export function roomy(texts: string[], at: number[], perLetter: number): string[] {
  const GAP = 8;
  let free = -Infinity;
  return texts.map((text, index) => {
    const middle = at[index] ?? 0;
    const half = (text.length * perLetter) / 2;
    if (text === "" || middle - half < free) return "";
    free = middle + half + GAP;
    return text;
  });
}
