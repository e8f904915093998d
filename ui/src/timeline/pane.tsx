// One drawing of a timeline: of the trace or of a forecast.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { fetchTile, type Source, type SpanPlace, type Timeline, type Track } from "../api/timeline";
import { useDark } from "../components/use_dark";
import { formatCount, formatNs, formatQuantity } from "../format";
import { valueAt } from "./counter_scale";
import { drawLabels, drawMarked, drawRuler, drawScales, drawStepLines } from "./draw_over";
import { Drawing, RULER_HEIGHT } from "./drawing";
import { listenToGestures } from "./gestures";
import { type Hover, HoverCard } from "./hover_card";
import { act } from "./keys";
import {
  boxOfLane,
  foldedAtFirst,
  type LaneBox,
  type Layout,
  laneAt,
  lanesBetween,
  layoutTracks,
  scrollTo,
  trackOfLane,
} from "./layout";
import { type PaintInput, paintLanes, placeAt } from "./paint";
import { legendOf, makePalette } from "./palette";
import type { SharedView } from "./shared_view";
import { stepsSeen } from "./steps";
import { TileCache } from "./tiles";
import { around, lengthOf, type Viewport } from "./viewport";
import "./pane.css";

/** A span of this drawing; no label if it was too short for one. */
export interface Selected extends SpanPlace {
  count: number;
  style: number;
}

export interface PaneProps {
  label: string;
  source: Source;
  timeline: Timeline;
  tracks: Track[]; // Shown tracks, in order.
  shared: SharedView;
  found: ReadonlySet<number> | null;
  selected: Selected | null;
  links: SpanPlace[]; // Links of the selected span.
  range: Viewport | null; // On the trace's clock.
  onSelect: (span: Selected | null) => void;
  onRange: (range: Viewport | null) => void;
  onFailure: (error: Error) => void;
}

/** Share of the height that the panel of a selection leaves free. */
const FREE_OF_PANEL = 0.5;

const KEYS =
  "Keys: W and S zoom, A and D move, F shows the selected span, arrows move from span to span, Escape clears the selection. Drag moves, Shift and drag selects a range.";

export function Pane(props: PaneProps) {
  const { timeline, shared } = props;
  const pane = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const ruler = useRef<HTMLCanvasElement>(null);
  const drawing = useRef<Drawing | null>(null);
  const [folded, setFolded] = useState(() => foldedAtFirst(timeline.tracks));
  const told = useRef<(hover: Hover | null) => void>(() => {});
  const [styles, setStyles] = useState<ReadonlySet<number>>(new Set());
  const layout: Layout = useMemo(() => layoutTracks(props.tracks, folded), [props.tracks, folded]);
  const dark = useDark();
  const palette = useMemo(() => makePalette(dark), [dark]);
  const offset = timeline.recorded_begin_ns;
  // Steps of several ranks are sorted by rank in the answer.
  const steps = useMemo(() => [...timeline.steps].sort((a, b) => a.start_ns - b.start_ns), [timeline]);
  const tiles = useMemo(
    () =>
      new TileCache(
        (level, index, tracks) => fetchTile(props.source, level, index, tracks),
        timeline.tile_buckets,
        timeline.length_ns,
        () => drawing.current?.schedule(),
        props.onFailure,
      ),
    [timeline],
  );
  // State for the next frame, regardless of its cause.
  const latest = useRef({ props, layout, palette, tiles, styles });
  latest.current = { props, layout, palette, tiles, styles };

  /** The view on this drawing's clock. */
  const ownView = (): Viewport => ({ begin: shared.view.begin - offset, end: shared.view.end - offset });
  const setOwnView = (view: Viewport) => shared.set({ begin: view.begin + offset, end: view.end + offset });

  const selectAt = (lane: LaneBox, timeNs: number, toleranceNs: number): boolean => {
    const view = ownView();
    const place = placeAt(
      lane,
      tiles.placed(view, scroller.current?.clientWidth ?? 1, lane.track.id),
      timeNs,
      toleranceNs,
    );
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
    const seen = stepsSeen(steps, view, frame.width);
    drawStepLines(context, frame.height, seen, now.palette);
    drawLabels(context, input, frame.width, frame.fitted);
    drawScales(context, input, frame.width, frame.fitted);
    const { range, selected, links } = now.props;
    const marked = { range: range && { begin: range.begin - offset, end: range.end - offset }, span: selected, links };
    drawMarked(
      context,
      { view, width: frame.width, height: frame.height, scrollTop: frame.scrollTop },
      now.layout,
      marked,
      now.palette,
    );
    drawRuler(rulerContext, frame.width, shared.view, seen, now.palette);
    if ([...painted.styles].some((style) => !now.styles.has(style)))
      setStyles(new Set([...now.styles, ...painted.styles]));
  };

  const hover = (x: number, y: number) => {
    const view = ownView();
    const width = scroller.current?.clientWidth ?? 1;
    const lane = laneAt(latest.current.layout, y + (scroller.current?.scrollTop ?? 0));
    const perPixel = lengthOf(view) / width;
    const time = view.begin + x * perPixel;
    const place = lane === null ? null : placeAt(lane, tiles.placed(view, width, lane.track.id), time, 2 * perPixel);
    if (lane === null || place === null) return told.current(null);
    const { tile, bucketNs } = place.tile;
    const count = tile.count[place.index] as number;
    const length = ((tile.end[place.index] as number) - (tile.begin[place.index] as number)) * bucketNs;
    const name = tile.names.get(tile.name[place.index] as number) ?? "";
    const fill = tile.fill[place.index] as number;
    const tell = (title: string, note: string, span: Hover["span"]) =>
      told.current({ x, y: y + RULER_HEIGHT, name: title, note, span });
    if (lane.track.kind === "counter")
      return tell(lane.track.name, formatQuantity(valueAt(lane.track, fill), lane.track.unit), null);
    if (count > 1) return tell(`${formatCount(count)} spans in ${formatNs(length)}`, "Zoom in to see each.", null);
    const row = tile.row[place.index] as number;
    tell(name, formatNs(length), latest.current.props.source === "" ? { lane: lane.lane, row } : null);
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
      onLeave: () => told.current(null),
      onClick: (x, y) => {
        const lane = laneAt(latest.current.layout, y + frame.scrollTop);
        const perPixel = lengthOf(ownView()) / frame.width;
        if (lane === null || !selectAt(lane, ownView().begin + x * perPixel, 3 * perPixel))
          latest.current.props.onSelect(null);
      },
      onRange: (range) =>
        latest.current.props.onRange(range && { begin: range.begin + offset, end: range.end + offset }),
    });
    const endView = shared.subscribe(() => {
      told.current(null);
      frame.schedule();
    });
    const sizes = new ResizeObserver(frame.schedule);
    sizes.observe(scroller.current);
    const element = scroller.current;
    const scrolled = () => {
      told.current(null);
      frame.schedule();
    };
    element.addEventListener("scroll", scrolled, { passive: true });
    return () => {
      endGestures();
      endView();
      sizes.disconnect();
      element.removeEventListener("scroll", scrolled);
    };
  }, [timeline, shared]);
  useEffect(
    () => drawing.current?.schedule(),
    [timeline, layout, palette, props.found, props.selected, props.links, props.range],
  );

  // Scrolls to a new selection, and unfolds its track first if needed. Only once per selection, so that users can fold
  // the track again.
  const shown = useRef<Selected | null>(null);
  useEffect(() => {
    const { selected } = props;
    const element = scroller.current;
    if (selected === null || selected === shown.current || element === null) return;
    const track = trackOfLane(timeline.tracks, selected.lane);
    if (track !== null && folded.has(track.id)) return setFolded(new Set([...folded].filter((id) => id !== track.id)));
    shown.current = selected;
    const lane = boxOfLane(layout, selected.lane);
    if (lane !== null) element.scrollTop = scrollTo(lane, element.scrollTop, FREE_OF_PANEL * element.clientHeight);
  }, [props.selected, layout]);

  /** Moves to the previous or next span on the lane, or to a lane above or below. */
  const walk = (sideways: number, down: number) => {
    const span = latest.current.props.selected;
    const perPixel = lengthOf(ownView()) / (scroller.current?.clientWidth ?? 1);
    const lanes = layout.lanes;
    const index = span === null ? -1 : lanes.findIndex((box) => box.lane === span.lane);
    const lane = lanes[Math.max(0, Math.min(lanes.length - 1, index + down))];
    if (lane === undefined) return;
    const view = ownView();
    const from =
      span === null
        ? view.begin
        : sideways > 0
          ? span.start_ns + span.duration_ns + perPixel
          : sideways < 0
            ? span.start_ns - perPixel
            : span.start_ns + span.duration_ns / 2;
    if (sideways === 0 || span === null) selectAt(lane, from, lengthOf(view));
    else {
      for (let reach = 1; reach <= (scroller.current?.clientWidth ?? 1); reach *= 2) {
        if (selectAt(lane, from + (sideways * reach * perPixel) / 2, (reach * perPixel) / 2)) break;
      }
    }
  };

  // Keys of this drawing; W A S D move all drawings (views/timeline.tsx).
  const onKeyDown = (event: KeyboardEvent) =>
    act(event, {
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
    });

  const fold = (id: number) => {
    const next = new Set(folded);
    if (!next.delete(id)) next.add(id);
    setFolded(next);
  };

  return (
    <div ref={pane} class="pane">
      {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: a <canvas> without tabindex takes no focus */}
      <canvas ref={ruler} class="pane-ruler" aria-hidden="true" />
      <HoverCard told={told} pane={pane} />
      <div ref={scroller} class="pane-scroller">
        <div class="pane-inner" style={{ height: `${layout.height}px` }}>
          {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: it handles its own keys */}
          <canvas
            ref={canvas}
            class="pane-canvas"
            tabIndex={0}
            role="application"
            aria-roledescription="timeline"
            aria-label={`${props.label}. ${KEYS}`}
            onKeyDown={onKeyDown}
          />
          {layout.tracks.map((box) => (
            <button
              key={box.track.id}
              type="button"
              class={`pane-title ${box.track.kind === "counter" ? "pane-counter" : ""}`}
              style={{ top: `${box.y}px` }}
              aria-expanded={!box.folded}
              onClick={() => fold(box.track.id)}
            >
              {box.folded ? "▸" : "▾"} {box.track.name} <span class="dim">{box.track.group}</span>
            </button>
          ))}
        </div>
      </div>
      <p class="pane-foot">
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
