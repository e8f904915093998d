// Draws marks over and above the lanes, in CSS pixels.
import type { SpanPlace } from "../api/timeline";
import { formatMark } from "../format";
import { scaleTexts, seenOf } from "./counter_scale";
import { RULER_HEIGHT } from "./drawing";
import type { FittedText } from "./fitted_text";
import { boxOfLane, type LaneBox, type Layout, TITLE_HEIGHT } from "./layout";
import { labelsOf, type PaintInput } from "./paint";
import { fillOf, type Palette, textOn } from "./palette";
import type { SeenStep } from "./steps";
import { lengthOf, marksOf, type Viewport } from "./viewport";

const LABEL_WIDTH = 38;
const MARK_WIDTH = 110;
const STEP_LABEL_WIDTH = 50;
const FONT = "11px system-ui, sans-serif";

/** @param view  visible range, on the clock of the trace, so that two drawings have the same marks */
export function drawRuler(
  context: CanvasRenderingContext2D,
  width: number,
  view: Viewport,
  steps: SeenStep[],
  palette: Palette,
): void {
  context.fillStyle = palette.dark ? "#16181b" : "#f7f7f5";
  context.fillRect(0, 0, width, RULER_HEIGHT);
  context.font = FONT;
  context.textBaseline = "middle";
  for (const step of steps) {
    const from = Math.max(0, step.from);
    context.fillStyle = palette.lines;
    context.fillRect(from, 0, 1, RULER_HEIGHT);
    if (Math.min(width, step.to) - from < STEP_LABEL_WIDTH) continue;
    context.fillStyle = palette.accent;
    context.fillText(`step ${step.index}`, from + 4, 7);
  }
  const perNs = width / lengthOf(view);
  const marks = marksOf(view, width / MARK_WIDTH);
  context.fillStyle = palette.text;
  for (const mark of marks.at) {
    const x = (mark - view.begin) * perNs;
    const text = formatMark(mark, marks.step);
    context.fillRect(x, 20, 1, 6);
    if (x + 4 + context.measureText(text).width <= width) context.fillText(text, x + 4, 19);
  }
}

/** Draws the starts of steps as translucent lines. */
export function drawStepLines(
  context: CanvasRenderingContext2D,
  height: number,
  steps: SeenStep[],
  palette: Palette,
): void {
  context.globalAlpha = 0.5;
  context.fillStyle = palette.lines;
  for (const step of steps) context.fillRect(Math.round(step.from), 0, 1, height);
  context.globalAlpha = 1;
}

export function drawLabels(
  context: CanvasRenderingContext2D,
  input: PaintInput,
  width: number,
  fitted: FittedText,
): void {
  context.font = FONT;
  context.textBaseline = "middle";
  for (const label of labelsOf(input, width, LABEL_WIDTH)) {
    context.fillStyle = textOn(fillOf(input.palette, label.style));
    context.fillText(fitted.fit(context, label.text, label.width - 6), label.x + 3, label.y - input.scrollTop + 8.5);
  }
}

/**
 * Draws the scale at the right of each counter's title. The title is a button at the left of the same line (pane.css).
 */
export function drawScales(
  context: CanvasRenderingContext2D,
  input: PaintInput,
  width: number,
  fitted: FittedText,
): void {
  const room = 0.45 * width - 6;
  context.font = FONT;
  context.textBaseline = "middle";
  context.textAlign = "right";
  context.fillStyle = input.palette.text;
  for (const lane of input.lanes) {
    if (lane.track.kind !== "counter") continue;
    const texts = scaleTexts(lane.track, seenOf(lane.track, lane.lane, input.placed(lane.track.id), input.view));
    const text = texts.find((one) => context.measureText(one).width <= room) ?? texts.at(-1) ?? "";
    context.fillText(fitted.fit(context, text, room), width - 6, lane.y - TITLE_HEIGHT / 2 - input.scrollTop);
  }
  context.textAlign = "left";
}

/** Highlighted parts. Times are on the clock of the view. */
export interface Marked {
  range: Viewport | null;
  span: SpanPlace | null;
  links: SpanPlace[]; // Links of the span.
}

/** Area of a view. */
export interface Area {
  view: Viewport;
  width: number;
  height: number;
  scrollTop: number;
}

/** Draws a selected range, the selected span, and curves to its links. */
export function drawMarked(
  context: CanvasRenderingContext2D,
  at: Area,
  layout: Layout,
  marked: Marked,
  palette: Palette,
): void {
  const { view, width } = at;
  const perNs = width / lengthOf(view);
  if (marked.range !== null) {
    const from = (marked.range.begin - view.begin) * perNs;
    context.fillStyle = palette.dark ? "rgb(125 184 245 / 0.2)" : "rgb(11 92 173 / 0.15)";
    context.fillRect(from, 0, lengthOf(marked.range) * perNs, at.height);
  }
  const { span } = marked;
  const lane = span === null ? null : boxOfLane(layout, span.lane);
  if (span === null || lane === null) return;
  drawBox(context, span, lane, at, palette.accent);
  const middle = (box: LaneBox) => box.y + box.height / 2 - at.scrollTop;
  context.lineWidth = 1.5;
  for (const link of marked.links) {
    const other = boxOfLane(layout, link.lane);
    if (other === null) continue;
    drawBox(context, link, other, at, palette.accent);
    // Marks outside the view are drawn at its edge.
    const xOf = (startNs: number) => Math.max(-10, Math.min(width + 10, (startNs - view.begin) * perNs));
    const ends = [
      { x: xOf(span.start_ns), y: middle(lane) },
      { x: xOf(link.start_ns), y: middle(other) },
    ] as const;
    const forward = span.start_ns <= link.start_ns;
    drawCurve(context, ends[forward ? 0 : 1], ends[forward ? 1 : 0]);
  }
}

function drawBox(
  context: CanvasRenderingContext2D,
  span: SpanPlace,
  lane: LaneBox,
  { view, width, scrollTop }: Area,
  colour: string,
): void {
  const perNs = width / lengthOf(view);
  const from = Math.max(-2, (span.start_ns - view.begin) * perNs);
  const to = Math.min(width + 2, (span.start_ns + span.duration_ns - view.begin) * perNs);
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.strokeRect(from - 1, lane.y - scrollTop, Math.max(3, to - from + 1), lane.height - 1);
}

function drawCurve(
  context: CanvasRenderingContext2D,
  from: { x: number; y: number },
  to: { x: number; y: number },
): void {
  const bend = Math.max(20, Math.abs(to.x - from.x) / 3);
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x, to.y);
  context.stroke();
}
