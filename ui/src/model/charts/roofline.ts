// Operators under the roofs of their device (Williams, Waterman and Patterson, CACM 52(4), 2009).
import type { AttributedRow, EfficiencyFigures } from "../../api/report_tables";
import { formatUs } from "../../format";
import type { ChartPoint, ChartSeries, PointShape } from "./chart";

export interface Placed {
  name: string;
  rank: number | null;
  family: string | null;
  totalUs: number;
  sharePct: number | null;
  intensity: number; // FLOP per byte.
  flopsPerS: number;
  bytesPerS: number;
  bound: string | null;
  rooflinePct: number | null;
  lostUs: number | null; // GPU time beyond the roofline bound.
}

/** Returns operators with known work and time that move or compute anything. */
export function placedOf(operators: AttributedRow[]): Placed[] {
  return operators.flatMap((row) => {
    const { flops, bytes, total_us: totalUs } = row;
    if (flops === null || bytes === null || totalUs === null || totalUs <= 0 || bytes <= 0) return [];
    const seconds = totalUs / 1e6;
    return [
      {
        name: row.name,
        rank: row.rank,
        family: row.family ?? null,
        totalUs,
        sharePct: row.share_pct,
        intensity: flops / bytes,
        flopsPerS: flops / seconds,
        bytesPerS: bytes / seconds,
        bound: row.bound,
        rooflinePct: row.roofline_pct,
        lostUs: row.roofline_pct === null ? null : totalUs * Math.max(0, 1 - row.roofline_pct / 100),
      },
    ];
  });
}

export interface Roof {
  label: string;
  flopsPerS: number;
  main: boolean; // True for the type of most arithmetic.
}

/** Returns roofs, highest first; types with equal peaks share a roof. */
export function roofsOf(efficiency: EfficiencyFigures): Roof[] {
  const byPeak = new Map<number, string[]>();
  for (const { dtype, tflops } of efficiency.peaks) byPeak.set(tflops, [...(byPeak.get(tflops) ?? []), dtype]);
  return [...byPeak]
    .sort(([a], [b]) => b - a)
    .map(([tflops, types]) => ({
      label: types.join(", "),
      flopsPerS: tflops * 1e12,
      main: efficiency.math_dtype !== null && types.includes(efficiency.math_dtype),
    }));
}

/** Operators below this share of GPU time would stretch the axes; the table has them. */
const WORTH_A_DOT_PCT = 0.1;
const LEAST_RADIUS = 3;
const MOST_RADIUS = 16;

/** Number of operators whose dots have their name. */
const MAX_NAMED = 6;

/** Dots whose area is the share of GPU time. */
function dots(placed: Placed[], nameOf: (one: Placed) => string, named: ReadonlySet<Placed>): ChartPoint[] {
  return placed.map((one) => ({
    ...(named.has(one) && { label: one.name.replace("aten::", "") }),
    x: one.intensity,
    y: one.flopsPerS,
    name: nameOf(one),
    radius: Math.max(LEAST_RADIUS, MOST_RADIUS * Math.sqrt((one.sharePct ?? 0) / 100)),
  }));
}

const BOUNDS: [string | null, string, string, PointShape][] = [
  ["memory", "memory-bound", "--series-2", "square"],
  ["compute", "compute-bound", "--series-1", "circle"],
  [null, "bound unknown", "--dim", "diamond"],
];

/**
 * Returns the series: the slanted roof up to the highest flat one, the flat roofs from the point where they bind, the
 * operators, and the picked operator again.
 */
export function rooflineSeries(
  placed: Placed[],
  efficiency: EfficiencyFigures,
  nameOf: (one: Placed) => string,
  picked = "",
): ChartSeries[] {
  const visible = placed.filter(
    (one) => one.intensity > 0 && ((one.sharePct ?? 100) >= WORTH_A_DOT_PCT || nameOf(one) === picked),
  );
  const series: ChartSeries[] = [];
  const roofs = roofsOf(efficiency);
  const bandwidth = efficiency.memory_bandwidth_gbs === null ? null : efficiency.memory_bandwidth_gbs * 1e9;
  const left = Math.min(1, ...visible.map((one) => one.intensity));
  const ridges = bandwidth === null ? [] : roofs.map((roof) => roof.flopsPerS / bandwidth);
  const right = Math.max(10, ...visible.map((one) => one.intensity), ...ridges.map((ridge) => 2 * ridge));
  if (bandwidth !== null) {
    const end = ridges[0] ?? right;
    series.push({
      label: "memory bandwidth",
      color: "--text",
      points: [
        { x: left, y: left * bandwidth },
        { x: end, y: end * bandwidth },
      ],
    });
  }
  roofs.forEach((roof, index) => {
    const begin = Math.max(left, ridges[index] ?? left);
    const points = [
      { x: begin, y: roof.flopsPerS },
      { x: right, y: roof.flopsPerS },
    ];
    series.push({
      label: `peak of ${roof.label}`,
      color: roof.main ? "--text" : `--series-${(index % 4) + 3}`,
      dashed: !roof.main,
      points,
    });
  });
  const named = new Set([...visible].sort((a, b) => b.totalUs - a.totalUs).slice(0, MAX_NAMED));
  for (const [bound, label, color, shape] of BOUNDS) {
    const points = dots(
      visible.filter((one) =>
        bound === null ? one.bound !== "memory" && one.bound !== "compute" : one.bound === bound,
      ),
      nameOf,
      named,
    );
    if (points.length > 0) series.push({ label, kind: "points", shape, color, points });
  }
  const points = dots(
    visible.filter((one) => nameOf(one) === picked),
    nameOf,
    new Set(),
  );
  if (points.length > 0) series.push({ label: picked, kind: "points", color: "--series-6", points });
  return series;
}

/** Returns which operator loses the most time against its roof. */
export function headlineOf(placed: Placed[]): string {
  const most = placed.reduce<Placed | null>(
    (best, one) => ((one.lostUs ?? 0) > (best?.lostUs ?? 0) ? one : best),
    null,
  );
  return most === null || most.lostUs === null
    ? "Operators and the GPU's peaks"
    : `${most.name} loses the most time against its roof: ${formatUs(most.lostUs)}`;
}
