import { Download } from "lucide-preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import {
  alignedOf,
  type ChartPoint,
  type ChartSeries,
  type Columns,
  drawable,
  logTicks,
  nearestOf,
  type PointShape,
  roomy,
  roomyLog,
  stacked,
  thinned,
} from "../model/charts/chart";
import { fileNameOf } from "../model/csv";
import { savePicture } from "./save";
import { useDark } from "./use_dark";
import "./chart.css";

export interface ChartAxis {
  label: string;
  format: (value: number) => string;
  tick?: (value: number) => string; // Format of the axis ticks; default: `format`.
  log?: boolean;
  ticks?: number[]; // Ticks of a logarithmic scale; default: round numbers.
  min?: number; // Lower end of the axis; default: from the points.
  max?: number;
}

export interface ChartProps {
  label: string; // A sentence that says what the chart shows.
  series: ChartSeries[]; // Keep the same array while it is unchanged: a new array redraws.
  x: ChartAxis;
  y: ChartAxis;
  height?: number; // In pixels.
  marks?: { x: number; label: string }[]; // Vertical lines, for example at the starts of steps.
  onPick?: (point: ChartPoint) => void; // A click on a point (not on a line).
}

interface Tip {
  left: number;
  top: number;
  title: string;
  lines: string[];
}

const TABLE_ROWS = 200;
const REACH_PX = 30;
const POINT_PX = 4;
const LETTER_PX = 7;

const colorNameOf = (series: ChartSeries, index: number) => series.color ?? `--series-${(index % 6) + 1}`;

/** Returns a custom property as a canvas needs it: light-dark() resolves only where it is used. */
function colorOf(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const color = getComputedStyle(element).color;
  element.style.color = "";
  return color;
}

type Box = [left: number, top: number, right: number, bottom: number];

const overlap = (a: Box, b: Box): boolean => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

/** Adds the outline of a point to the path. All shapes have the same area. */
function outline(context: CanvasRenderingContext2D, shape: PointShape, x: number, y: number, radius: number): void {
  const side = Math.sqrt(Math.PI) * radius;
  const corner = side / Math.SQRT2;
  if (shape === "circle") context.arc(x, y, radius, 0, 2 * Math.PI);
  else if (shape === "square") context.rect(x - side / 2, y - side / 2, side, side);
  else {
    context.moveTo(x, y - corner);
    context.lineTo(x + corner, y);
    context.lineTo(x, y + corner);
    context.lineTo(x - corner, y);
    context.closePath();
  }
}

function rangeOf(axis: ChartAxis, side: "x" | "y"): uPlot.Scale.Range {
  return (_plot, low, high) => {
    const from = axis.min ?? low;
    const to = axis.max ?? high;
    if (from === null || to === null) return axis.log ? [1, 10] : [0, 1];
    if (axis.log) return axis.min !== undefined && axis.max !== undefined ? [axis.min, axis.max] : roomyLog(from, to);
    const [soft, loft] = uPlot.rangeNum(from, to, side === "y" || from === to ? 0.1 : 0, side === "y");
    return [axis.min ?? soft, axis.max ?? loft];
  };
}

function optionsOf(
  props: ChartProps,
  drawn: ChartPoint[][],
  host: HTMLElement,
): { options: uPlot.Options; data: uPlot.AlignedData } {
  const columns = alignedOf(drawn);
  const text = colorOf(host, "--text");
  const line = colorOf(host, "--line");
  const card = colorOf(host, "--card");
  const colors = props.series.map((series, index) => colorOf(host, colorNameOf(series, index)));
  const font = `12px ${getComputedStyle(host).fontFamily}`;
  const data: (number | null)[][] = [columns.xs];
  const all: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  const tops = stacked(
    props.series.map((series) => series.kind),
    columns.at,
  );
  let below: number | null = null; // Area on which the next one stacks.
  const faint = (color: string, alpha: number) => color.replace("rgb(", "rgba(").replace(")", `, ${alpha})`);
  props.series.forEach((series, index) => {
    const points = columns.at[index] ?? [];
    const isLine = series.kind !== "points";
    if (series.kind === "area") {
      const color = colors[index] ?? text;
      const fill = faint(color, 0.55);
      all.push({
        label: series.label,
        stroke: color,
        width: 1,
        spanGaps: true,
        points: { show: false },
        ...(below === null && { fill, fillTo: 0 }),
      });
      if (below !== null) bands.push({ series: [all.length - 1, below], fill });
      below = all.length - 1;
      data.push(tops[index] ?? []);
      return;
    }
    all.push({
      label: series.label,
      stroke: colors[index] ?? text,
      width: 2,
      spanGaps: true,
      ...(series.dashed && { dash: [6, 4] }),
      ...(isLine ? { points: { fill: card } } : { paths: () => null, points: { show: false } }),
    });
    data.push(points.map((point) => point?.y ?? null));
    if (!points.some((point) => point?.high !== undefined)) return;
    const first = all.length;
    for (const edge of ["high", "low"] as const) {
      all.push({ stroke: "transparent", spanGaps: true, points: { show: false } });
      data.push(points.map((point) => point?.[edge] ?? point?.y ?? null));
    }
    bands.push({ series: [first, first + 1], fill: faint(colors[index] ?? text, 0.2) });
  });
  const every = (_plot: uPlot, splits: number[]) => splits;
  const axisOf = (axis: ChartAxis, side: "x" | "y"): uPlot.Axis => {
    const rule = { stroke: line, width: 1, ...(axis.log && { filter: every }) };
    return {
      scale: side,
      font,
      stroke: text,
      grid: rule,
      ticks: rule,
      ...(axis.log && {
        filter: every,
        splits: (_plot: uPlot, _axis: number, low: number, high: number) => axis.ticks ?? logTicks(low, high),
      }),
      values: (plot, splits) => {
        const texts = splits.map((value) => (value === null ? "" : (axis.tick ?? axis.format)(value)));
        return side === "x"
          ? roomy(
              texts,
              splits.map((value) => plot.valToPos(value, "x")),
              LETTER_PX,
            )
          : texts;
      },
      ...(side === "x"
        ? { label: axis.label, labelFont: font, labelSize: 18, size: 32, space: 55 }
        : {
            space: 24,
            size: (_plot, values) => 20 + LETTER_PX * Math.max(2, ...(values ?? []).map((value) => value.length)),
          }),
    };
  };
  const drawPoints = (plot: uPlot) => {
    const scale = devicePixelRatio;
    props.series.forEach((series, index) => {
      if (series.kind !== "points") return;
      for (const point of drawn[index] ?? []) {
        plot.ctx.beginPath();
        outline(
          plot.ctx,
          series.shape ?? "circle",
          plot.valToPos(point.x, "x", true),
          plot.valToPos(point.y, "y", true),
          (point.radius ?? POINT_PX) * scale,
        );
        plot.ctx.fillStyle = colors[index] ?? text;
        plot.ctx.globalAlpha = 0.55;
        plot.ctx.fill();
        plot.ctx.globalAlpha = 1;
        plot.ctx.strokeStyle = colors[index] ?? text;
        plot.ctx.lineWidth = scale;
        plot.ctx.stroke();
      }
    });
  };
  const drawLabels = (plot: uPlot) => {
    const { ctx, bbox } = plot;
    const scale = devicePixelRatio;
    ctx.save();
    ctx.font = `${11 * scale}px ${getComputedStyle(host).fontFamily}`;
    ctx.fillStyle = text;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    const taken: Box[] = [];
    for (const point of drawn.flat()) {
      if (point.label === undefined) continue;
      const x = plot.valToPos(point.x, "x", true);
      const y = plot.valToPos(point.y, "y", true);
      const width = ctx.measureText(point.label).width;
      const gap = ((point.radius ?? POINT_PX) + 3) * scale;
      const half = 7 * scale;
      const boxAt = (left: number, middle: number): Box => [left, middle - half, left + width, middle + half];
      const box = [
        boxAt(x + gap, y),
        boxAt(x - gap - width, y),
        boxAt(x - width / 2, y - gap - half),
        boxAt(x - width / 2, y + gap + half),
      ].find(
        (one) =>
          one[0] >= bbox.left &&
          one[2] <= bbox.left + bbox.width &&
          one[1] >= bbox.top &&
          one[3] <= bbox.top + bbox.height &&
          !taken.some((other) => overlap(one, other)),
      );
      if (box === undefined) continue;
      taken.push(box);
      ctx.fillText(point.label, box[0], box[1] + half);
    }
    ctx.restore();
  };
  const drawMarks = (plot: uPlot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.font = `${11 * devicePixelRatio}px ${getComputedStyle(host).fontFamily}`;
    ctx.fillStyle = text;
    ctx.strokeStyle = text;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
    let free = -Infinity; // Right edge of the last label.
    for (const mark of props.marks ?? []) {
      const x = plot.valToPos(mark.x, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const at = x + 3 * devicePixelRatio;
      const end = at + ctx.measureText(mark.label).width;
      if (at < free || end > bbox.left + bbox.width) continue;
      ctx.fillText(mark.label, at, bbox.top + 11 * devicePixelRatio);
      free = end + 6 * devicePixelRatio;
    }
    ctx.restore();
  };
  return {
    data: data as uPlot.AlignedData,
    options: {
      width: Math.max(1, host.clientWidth),
      height: props.height ?? 320,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
      scales: {
        x: { time: false, distr: props.x.log ? 3 : 1, range: rangeOf(props.x, "x") },
        y: { distr: props.y.log ? 3 : 1, range: rangeOf(props.y, "y") },
      },
      axes: [axisOf(props.x, "x"), axisOf(props.y, "y")],
      series: all,
      bands,
      hooks: { draw: [drawPoints, drawLabels, drawMarks] },
    },
  };
}

/**
 * Returns the text for the point under the pointer. If the chart has only lines, returns all their values at the
 * pointer's x.
 */
function tipOf(
  plot: uPlot,
  props: ChartProps,
  drawn: ChartPoint[][],
  columns: Columns,
): { tip: Tip; point: ChartPoint | null } | null {
  const { left = -1, top = -1, idx } = plot.cursor;
  if (left < 0) return null;
  const yText = (series: ChartSeries, point: ChartPoint) => {
    const format = series.format ?? props.y.format;
    const band =
      point.low === undefined || point.high === undefined ? "" : ` (${format(point.low)} to ${format(point.high)})`;
    return `${format(point.y)}${band}`;
  };
  const candidates = props.series.flatMap((series, index) =>
    series.kind === "points" ? (drawn[index] ?? []).map((point) => ({ series, point })) : [],
  );
  if (candidates.length > 0) {
    const spots = candidates.map(({ point }) => ({
      left: plot.valToPos(point.x, "x"),
      top: plot.valToPos(point.y, "y"),
    }));
    const meant = nearestOf(spots, left, top, REACH_PX);
    const found = candidates[meant];
    const spot = spots[meant];
    if (found === undefined || spot === undefined) return null;
    const lines = [
      `${props.x.label}: ${props.x.format(found.point.x)}`,
      `${props.y.label}: ${yText(found.series, found.point)}`,
    ];
    return { tip: { ...spot, title: found.point.name ?? found.series.label, lines }, point: found.point };
  }
  if (idx == null) return null;
  const lines = props.series.flatMap((series, index) => {
    const point = columns.at[index]?.[idx];
    return point ? [`${point.name ?? series.label}: ${yText(series, point)}`] : [];
  });
  const x = columns.xs[idx] ?? 0;
  return {
    tip: { left: plot.valToPos(x, "x"), top, title: `${props.x.label}: ${props.x.format(x)}`, lines },
    point: null,
  };
}

function Numbers({ series, x, y, columns }: ChartProps & { columns: Columns }) {
  const [open, setOpen] = useState(false);
  const named = columns.at.some((column) => column.some((point) => point?.name !== undefined));
  const rows = open
    ? thinned(
        columns.xs.map((_, row) => row),
        TABLE_ROWS,
      )
    : [];
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The numbers</summary>
      {open && (
        <div class="chart-table" tabIndex={0} role="region" aria-label="The chart's numbers">
          <table>
            {rows.length < columns.xs.length && (
              <caption class="dim">
                {rows.length} of {columns.xs.length} rows, evenly.
              </caption>
            )}
            <thead>
              <tr>
                {named && <th scope="col">name</th>}
                <th scope="col">{x.label}</th>
                {series.map((one) => (
                  <th scope="col" key={one.label}>
                    {one.label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row}>
                  {named && (
                    <td>{columns.at.map((column) => column[row]?.name).find((name) => name !== undefined) ?? ""}</td>
                  )}
                  <td>{x.format(columns.xs[row] ?? 0)}</td>
                  {series.map((one, index) => {
                    const point = columns.at[index]?.[row];
                    return <td key={one.label}>{point ? (one.format ?? y.format)(point.y) : ""}</td>;
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}

/** A chart of lines, bands and points over one pair of axes, with the same data as a table below. */
export function Chart(props: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const dark = useDark();
  const [tip, setTip] = useState<Tip | null>(null);
  const { series } = props;
  const logX = props.x.log === true;
  const logY = props.y.log === true;
  const drawn = useMemo(() => series.map((one) => drawable(one.points, logX, logY)), [series, logX, logY]);
  const columns = useMemo(() => alignedOf(drawn), [drawn]);

  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const { options, data } = optionsOf(latest.current, drawn, element);
    const meant = (chart: uPlot) => tipOf(chart, latest.current, drawn, columns);
    options.hooks = { ...options.hooks, setCursor: [(chart) => setTip(meant(chart)?.tip ?? null)] };
    const plot = new uPlot(options, data, element);
    const pick = () => {
      const point = meant(plot)?.point;
      if (point) latest.current.onPick?.(point);
    };
    plot.over.addEventListener("click", pick);
    const observer = new ResizeObserver(() =>
      plot.setSize({ width: Math.max(1, element.clientWidth), height: options.height }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
      setTip(null);
    };
  }, [drawn, columns, dark]);

  return (
    <figure class="chart">
      {series.length > 1 && (
        <ul class="chart-legend" aria-hidden="true">
          {series.map((one, index) => {
            const color = `var(${colorNameOf(one, index)})`;
            const style =
              one.kind === undefined || one.kind === "line" ? { borderTopColor: color } : { background: color };
            return (
              <li key={one.label}>
                <span
                  class={`chart-swatch ${one.kind ?? "line"} ${one.dashed ? "dashed" : ""} ${one.shape ?? ""}`}
                  style={style}
                />
                {one.label}
              </li>
            );
          })}
        </ul>
      )}
      <p class="chart-y dim" aria-hidden="true">
        {props.y.label}
      </p>
      <div class="chart-plot">
        <div ref={host} role="img" aria-label={props.label} />
        {tip !== null && <TipBox tip={tip} host={host.current} />}
      </div>
      <div class="chart-foot">
        <Numbers {...props} columns={columns} />
        <button
          type="button"
          class="icon-button"
          aria-label={`Save as PNG: ${props.label}`}
          title="Save as PNG"
          onClick={() => {
            const canvas = host.current?.querySelector("canvas");
            if (canvas != null) savePicture(fileNameOf(props.label, "png"), canvas);
          }}
        >
          <Download size={15} aria-hidden="true" /> PNG
        </button>
      </div>
    </figure>
  );
}

function TipBox({ tip, host }: { tip: Tip; host: HTMLElement | null }) {
  const over = host?.querySelector<HTMLElement>(".u-over");
  if (host === null || over == null) return null;
  const left = over.offsetLeft + tip.left;
  const toTheLeft = left > host.clientWidth / 2;
  const style = {
    top: `${over.offsetTop + Math.max(0, tip.top - 10)}px`,
    ...(toTheLeft ? { right: `${host.clientWidth - left + 12}px` } : { left: `${left + 12}px` }),
  };
  return (
    <div class="chart-tip" style={style}>
      <strong>{tip.title}</strong>
      {tip.lines.map((line) => (
        <div key={line}>{line}</div>
      ))}
    </div>
  );
}
