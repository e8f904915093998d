// One drawing of a timeline: the trace's, or a forecast's.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { fetchTile, type SpanPlace, type Timeline } from "../api/timeline";
import { useDark } from "../components/use_dark";
import { formatMark, formatNs, formatQuantity } from "../format";
import { scaleTexts, seenOf, valueOf } from "./counter_scale";
import { listenToGestures } from "./gestures";
import { boxOfLane, foldedAtFirst, laneAt, type LaneBox, lanesBetween, type Layout, layoutTracks, TITLE_HEIGHT } from "./layout";
import { labelsOf, type PaintInput, paintLanes, placeAt } from "./paint";
import { legendOf, makePalette, type Palette } from "./palette";
import type { SharedView } from "./shared_view";
import { TileCache } from "./tiles";
import { around, lengthOf, marksOf, pan, type Viewport, zoom } from "./viewport";
import "./pane.css";

const RULER_HEIGHT = 26;
const LABEL_WIDTH = 38;
const MARK_WIDTH = 110;
const FONT = "11px system-ui, sans-serif";

/** A span of this drawing; no label where it was too short for one. */
export interface Selected extends SpanPlace {
  count: number;
  style: number;
}

export interface PaneProps {
  label: string;
  scenario: string; // Empty: as recorded.
  timeline: Timeline;
  shared: SharedView;
  found: ReadonlySet<number> | null;
  selected: Selected | null;
  links: SpanPlace[]; // Of what is selected.
  range: Viewport | null; // On the trace's clock.
  onSelect: (span: Selected | null) => void;
  onRange: (range: Viewport | null) => void;
  onFailure: (error: Error) => void;
}

/** Texts cut to a width. Characters are measured once: measuring each text would cost more than the frame. */
class FittedText {
  private readonly widths = new Map<string, number>();

  fit(context: CanvasRenderingContext2D, text: string, width: number): string {
    const dots = this.widthOf(context, "…");
    let used = 0;
    let kept = 0; // Characters that leave room for the dots.
    for (let i = 0; i < text.length; ++i) {
      used += this.widthOf(context, text.charAt(i));
      if (used + dots <= width) kept = i + 1;
      if (used > width) return `${text.slice(0, kept)}…`;
    }
    return text;
  }

  private widthOf(context: CanvasRenderingContext2D, character: string): number {
    let width = this.widths.get(character);
    if (width === undefined) {
      width = context.measureText(character).width;
      this.widths.set(character, width);
    }
    return width;
  }
}

/** Draws when asked to, at most once a frame. */
class Drawing {
  private image: ImageData | null = null;
  private waiting = false;
  readonly fitted = new FittedText();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly ruler: HTMLCanvasElement,
    private readonly scroller: HTMLElement,
    private readonly draw: (drawing: Drawing) => void,
  ) {}

  schedule = (): void => {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw(this);
    });
  };

  get width(): number {
    return this.scroller.clientWidth;
  }
  get height(): number {
    return this.scroller.clientHeight;
  }
  get scrollTop(): number {
    return this.scroller.scrollTop;
  }

  /** Both contexts, in CSS pixels, and the pixels of the larger one. */
  begin(): { context: CanvasRenderingContext2D; ruler: CanvasRenderingContext2D; image: ImageData; ratio: number } | null {
    const ratio = devicePixelRatio;
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    const context = this.canvas.getContext("2d", { alpha: false });
    const ruler = this.ruler.getContext("2d", { alpha: false });
    if (context === null || ruler === null || width === 0 || height === 0) return null;
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.canvas.style.height = `${this.height}px`;
      this.ruler.width = width;
      this.ruler.height = Math.round(RULER_HEIGHT * ratio);
    }
    if (this.image?.width !== width || this.image.height !== height) this.image = context.createImageData(width, height);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    ruler.setTransform(ratio, 0, 0, ratio, 0, 0);
    return { context, ruler, image: this.image, ratio };
  }
}

/** @param view  on the clock of the trace, so that two drawings have the same marks */
function drawRuler(context: CanvasRenderingContext2D, width: number, view: Viewport, timeline: Timeline, palette: Palette): void {
  context.fillStyle = palette.dark ? "#16181b" : "#f7f7f5";
  context.fillRect(0, 0, width, RULER_HEIGHT);
  const perNs = width / lengthOf(view);
  context.font = FONT;
  context.textBaseline = "middle";
  for (const step of timeline.steps) {
    const start = step.start_ns + timeline.recorded_begin_ns;
    const from = Math.max(0, (start - view.begin) * perNs);
    const to = Math.min(width, (start + step.wall_ns - view.begin) * perNs);
    if (to <= from) continue;
    context.fillStyle = palette.lines;
    context.fillRect(from, 0, 1, RULER_HEIGHT);
    if (to - from < 50) continue;
    context.fillStyle = palette.accent;
    context.fillText(`step ${step.index}`, from + 4, 7);
  }
  const marks = marksOf(view, width / MARK_WIDTH);
  context.fillStyle = palette.text;
  for (const mark of marks.at) {
    const x = (mark - view.begin) * perNs;
    const text = formatMark(mark, marks.step);
    context.fillRect(x, 20, 1, 6);
    if (x + 4 + context.measureText(text).width <= width) context.fillText(text, x + 4, 19);
  }
}

function drawLabels(context: CanvasRenderingContext2D, input: PaintInput, width: number, fitted: FittedText): void {
  context.font = FONT;
  context.textBaseline = "middle";
  context.fillStyle = input.palette.text;
  for (const label of labelsOf(input, width, LABEL_WIDTH)) {
    context.fillText(fitted.fit(context, label.text, label.width - 6), label.x + 3, label.y - input.scrollTop + 8.5);
  }
}

/** At the right of each counter's title, which is a button over the left of the same line (pane.css). */
function drawScales(context: CanvasRenderingContext2D, input: PaintInput, width: number, fitted: FittedText): void {
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

function drawSteps(context: CanvasRenderingContext2D, width: number, height: number, view: Viewport, timeline: Timeline, palette: Palette): void {
  const perNs = width / lengthOf(view);
  context.fillStyle = palette.lines;
  for (const step of timeline.steps) context.fillRect(Math.round((step.start_ns - view.begin) * perNs), 0, 1, height);
}

function drawBox(context: CanvasRenderingContext2D, span: SpanPlace, lane: LaneBox, view: Viewport, width: number, scrollTop: number, colour: string): void {
  const perNs = width / lengthOf(view);
  const from = Math.max(-2, (span.start_ns - view.begin) * perNs);
  const to = Math.min(width + 2, (span.start_ns + span.duration_ns - view.begin) * perNs);
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.strokeRect(from - 1, lane.y - scrollTop, Math.max(3, to - from + 1), lane.height - 1);
}

/** From what is selected to what it has to do with. */
function drawLink(context: CanvasRenderingContext2D, from: { x: number; y: number }, to: { x: number; y: number }): void {
  const bend = Math.max(20, Math.abs(to.x - from.x) / 3);
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x, to.y);
  context.stroke();
}

const KEYS = "Keys: W and S zoom, A and D move, F shows the selected span, arrows walk from span to span, Escape lets go. Drag moves, Shift and drag selects a stretch.";

export function Pane(props: PaneProps) {
  const { timeline, shared } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const ruler = useRef<HTMLCanvasElement>(null);
  const drawing = useRef<Drawing | null>(null);
  const [folded, setFolded] = useState(() => foldedAtFirst(timeline.tracks));
  const [hovered, setHovered] = useState("");
  const [styles, setStyles] = useState<ReadonlySet<number>>(new Set());
  const layout: Layout = useMemo(() => layoutTracks(timeline.tracks, folded), [timeline, folded]);
  const dark = useDark();
  const palette = useMemo(() => makePalette(dark), [dark]);
  const offset = timeline.recorded_begin_ns;
  const tiles = useMemo(
    () =>
      new TileCache(
        (level, index, tracks) => fetchTile(props.scenario, level, index, tracks),
        timeline.tile_buckets,
        timeline.length_ns,
        () => drawing.current?.schedule(),
        props.onFailure,
      ),
    [timeline],
  );
  // What the next frame draws, whoever asked for it.
  const latest = useRef({ props, layout, palette, tiles, styles });
  latest.current = { props, layout, palette, tiles, styles };

  /** On this drawing's own clock. */
  const ownView = (): Viewport => ({ begin: shared.view.begin - offset, end: shared.view.end - offset });
  const setOwnView = (view: Viewport) => shared.set({ begin: view.begin + offset, end: view.end + offset });

  const selectAt = (lane: LaneBox, timeNs: number, toleranceNs: number): boolean => {
    const view = ownView();
    const place = placeAt(lane, tiles.placed(view, scroller.current?.clientWidth ?? 1, lane.track.id), timeNs, toleranceNs);
    if (place === null) return false;
    const { tile, beginNs, bucketNs } = place.tile;
    const at = (column: Float32Array) => beginNs + (column[place.index] as number) * bucketNs;
    const name = tile.name[place.index] as number;
    latest.current.props.onSelect({
      lane: lane.lane,
      row: tile.row[place.index] as number,
      start_ns: at(tile.begin),
      duration_ns: at(tile.end) - at(tile.begin),
      label: tile.names.get(name) ?? "",
      count: tile.count[place.index] as number,
      style: tile.style[place.index] as number,
    });
    return true;
  };

  const drawFrame = (frame: Drawing) => {
    const started = frame.begin();
    if (started === null) return;
    const { context, ruler: rulerContext, image, ratio } = started;
    const now = latest.current;
    const view = ownView();
    const lanes = lanesBetween(now.layout, frame.scrollTop, frame.scrollTop + frame.height);
    const tracks = [...new Set(lanes.map((lane) => lane.track.id))];
    now.tiles.request(view, frame.width, tracks);
    const placed = new Map(tracks.map((track) => [track, now.tiles.placed(view, frame.width, track)]));
    const input: PaintInput = {
      lanes,
      placed: (track) => placed.get(track) ?? [],
      view,
      palette: now.palette,
      found: now.props.found,
      scrollTop: frame.scrollTop,
      ratio,
    };
    const painted = paintLanes(new Uint32Array(image.data.buffer), image.width, image.height, input);
    context.putImageData(image, 0, 0);
    drawSteps(context, frame.width, frame.height, view, timeline, now.palette);
    drawLabels(context, input, frame.width, frame.fitted);
    drawScales(context, input, frame.width, frame.fitted);
    drawSelection(context, frame, view);
    drawRuler(rulerContext, frame.width, shared.view, timeline, now.palette);
    if ([...painted.styles].some((style) => !now.styles.has(style))) setStyles(new Set([...now.styles, ...painted.styles]));
  };

  const drawSelection = (context: CanvasRenderingContext2D, frame: Drawing, view: Viewport) => {
    const { props: given, layout: boxes, palette: colours } = latest.current;
    const perNs = frame.width / lengthOf(view);
    if (given.range !== null) {
      const from = (given.range.begin - offset - view.begin) * perNs;
      context.fillStyle = colours.dark ? "rgb(125 184 245 / 0.2)" : "rgb(11 92 173 / 0.15)";
      context.fillRect(from, 0, (given.range.end - given.range.begin) * perNs, frame.height);
    }
    const span = given.selected;
    const lane = span === null ? null : boxOfLane(boxes, span.lane);
    if (span === null || lane === null) return;
    drawBox(context, span, lane, view, frame.width, frame.scrollTop, colours.accent);
    const middle = (box: LaneBox) => box.y + box.height / 2 - frame.scrollTop;
    context.lineWidth = 1.5;
    for (const link of given.links) {
      const other = boxOfLane(boxes, link.lane);
      if (other === null) continue;
      drawBox(context, link, other, view, frame.width, frame.scrollTop, colours.accent);
      // What lies outside is pointed to.
      const xOf = (startNs: number) => Math.max(-10, Math.min(frame.width + 10, (startNs - view.begin) * perNs));
      const ends = [
        { x: xOf(span.start_ns), y: middle(lane) },
        { x: xOf(link.start_ns), y: middle(other) },
      ] as const;
      const forward = span.start_ns <= link.start_ns;
      drawLink(context, ends[forward ? 0 : 1], ends[forward ? 1 : 0]);
    }
  };

  const hover = (x: number, y: number) => {
    const view = ownView();
    const width = scroller.current?.clientWidth ?? 1;
    const lane = laneAt(latest.current.layout, y + (scroller.current?.scrollTop ?? 0));
    const perPixel = lengthOf(view) / width;
    const time = view.begin + x * perPixel;
    const place = lane === null ? null : placeAt(lane, tiles.placed(view, width, lane.track.id), time, 2 * perPixel);
    if (lane === null || place === null) return setHovered("");
    const { tile, bucketNs } = place.tile;
    const count = tile.count[place.index] as number;
    const length = ((tile.end[place.index] as number) - (tile.begin[place.index] as number)) * bucketNs;
    const name = tile.names.get(tile.name[place.index] as number) ?? "";
    const fill = tile.fill[place.index] as number;
    if (lane.track.kind === "counter") {
      return setHovered(`${lane.track.name}: ${formatQuantity(valueOf(lane.track, fill), lane.track.unit)}`);
    }
    setHovered(count > 1 ? `${count} spans in ${formatNs(length)}: zoom in` : `${name} ${formatNs(length)}`.trim());
  };

  useEffect(() => {
    if (scroller.current === null || canvas.current === null || ruler.current === null) return;
    const frame = new Drawing(canvas.current, ruler.current, scroller.current, drawFrame);
    drawing.current = frame;
    const endGestures = listenToGestures({
      element: canvas.current,
      view: ownView,
      onView: setOwnView,
      onHover: hover,
      onClick: (x, y) => {
        const lane = laneAt(latest.current.layout, y + frame.scrollTop);
        const perPixel = lengthOf(ownView()) / frame.width;
        if (lane === null || !selectAt(lane, ownView().begin + x * perPixel, 3 * perPixel)) latest.current.props.onSelect(null);
      },
      onRange: (range) => latest.current.props.onRange(range && { begin: range.begin + offset, end: range.end + offset }),
    });
    const endView = shared.subscribe(frame.schedule);
    const sizes = new ResizeObserver(frame.schedule);
    sizes.observe(scroller.current);
    const element = scroller.current;
    element.addEventListener("scroll", frame.schedule, { passive: true });
    return () => {
      endGestures();
      endView();
      sizes.disconnect();
      element.removeEventListener("scroll", frame.schedule);
    };
  }, [timeline, shared]);
  useEffect(() => drawing.current?.schedule());

  /** To the span before or behind on its lane, or to a lane above or below. */
  const walk = (sideways: number, down: number) => {
    const span = latest.current.props.selected;
    const perPixel = lengthOf(ownView()) / (scroller.current?.clientWidth ?? 1);
    const lanes = layout.lanes;
    const index = span === null ? -1 : lanes.findIndex((box) => box.lane === span.lane);
    const lane = lanes[Math.max(0, Math.min(lanes.length - 1, index + down))];
    if (lane === undefined) return;
    const view = ownView();
    const from = span === null ? view.begin : sideways > 0 ? span.start_ns + span.duration_ns + perPixel : sideways < 0 ? span.start_ns - perPixel : span.start_ns + span.duration_ns / 2;
    if (sideways === 0 || span === null) selectAt(lane, from, lengthOf(view));
    else {
      for (let reach = 1; reach <= (scroller.current?.clientWidth ?? 1); reach *= 2) {
        if (selectAt(lane, from + (sideways * reach * perPixel) / 2, (reach * perPixel) / 2)) break;
      }
    }
    const top = lane.y - TITLE_HEIGHT;
    const element = scroller.current;
    if (element !== null && (top < element.scrollTop || lane.y + lane.height > element.scrollTop + element.clientHeight)) element.scrollTop = top;
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const view = ownView();
    const actions: Record<string, () => void> = {
      w: () => setOwnView(zoom(view, 0.7, 0.5)),
      s: () => setOwnView(zoom(view, 1 / 0.7, 0.5)),
      a: () => setOwnView(pan(view, -0.2)),
      d: () => setOwnView(pan(view, 0.2)),
      f: () => {
        const span = latest.current.props.selected;
        if (span !== null) setOwnView(around(span.start_ns, span.duration_ns));
      },
      ArrowLeft: () => walk(-1, 0),
      ArrowRight: () => walk(1, 0),
      ArrowUp: () => walk(0, -1),
      ArrowDown: () => walk(0, 1),
      Escape: () => {
        latest.current.props.onSelect(null);
        latest.current.props.onRange(null);
      },
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };

  const fold = (id: number) => {
    const next = new Set(folded);
    if (!next.delete(id)) next.add(id);
    setFolded(next);
  };

  return (
    <div class="pane">
      <canvas ref={ruler} class="pane-ruler" aria-hidden="true" />
      <div ref={scroller} class="pane-scroller">
        <div class="pane-inner" style={{ height: `${layout.height}px` }}>
          <canvas ref={canvas} class="pane-canvas" tabIndex={0} role="application" aria-roledescription="timeline" aria-label={`${props.label}. ${KEYS}`} onKeyDown={onKeyDown} />
          {layout.tracks.map((box) => (
            <button key={box.track.id} type="button" class={`pane-title ${box.track.kind === "counter" ? "pane-counter" : ""}`} style={{ top: `${box.y}px` }} aria-expanded={!box.folded} onClick={() => fold(box.track.id)}>
              {box.folded ? "▸" : "▾"} {box.track.name} <span class="dim">{box.track.group}</span>
            </button>
          ))}
        </div>
      </div>
      <p class="pane-foot">
        <span class="pane-hover">{hovered}</span>
        {legendOf(palette, styles).map((entry) => (
          <span key={entry.name} class="pane-legend">
            <svg width="10" height="10" aria-hidden="true">
              <rect width="10" height="10" fill={entry.colour} />
            </svg>{" "}
            {entry.name}
          </span>
        ))}
      </p>
    </div>
  );
}
