// The whole trace in a strip above the timeline, with a window that shows the visible part.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { fetchTile, type Timeline, type Track } from "../api/timeline";
import { useDark } from "../components/use_dark";
import { useWidth } from "../components/use_width";
import { cssOf, fillOf, makePalette } from "./palette";
import type { SharedView } from "./shared_view";
import { stepsSeen } from "./steps";
import { TileCache } from "./tiles";
import { around, lengthOf, type Viewport, zoom } from "./viewport";
import "./overview_strip.css";

const HEIGHT = 42;
const MAX_TRACKS = 3;
const LEAST_WINDOW_PX = 4;

/** Returns the tracks that the strip shows: the busiest streams, else the busiest threads. */
export function stripTracks(tracks: Track[]): Track[] {
  const most = (kind: Track["kind"]) =>
    tracks
      .filter((track) => track.kind === kind && track.spans > 0)
      .sort((a, b) => b.spans - a.spans)
      .slice(0, MAX_TRACKS);
  const streams = most("stream");
  return streams.length > 0 ? streams : most("thread");
}

/** Returns the context of an empty canvas with coordinates in CSS pixels; null: there is nothing to draw on. */
function clearedContext(canvas: HTMLCanvasElement | null, width: number): CanvasRenderingContext2D | null {
  const context = canvas?.getContext("2d") ?? null;
  if (canvas === null || context === null || width === 0) return null;
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(HEIGHT * devicePixelRatio);
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  return context;
}

interface StripProps {
  timeline: Timeline;
  shared: SharedView;
  onFailure: (error: Error) => void;
}

export function OverviewStrip({ timeline, shared, onFailure }: StripProps) {
  const host = useRef<HTMLDivElement>(null);
  const spans = useRef<HTMLCanvasElement>(null);
  const windowCanvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(host);
  const dark = useDark();
  const palette = useMemo(() => makePalette(dark), [dark]);
  const tracks = useMemo(() => stripTracks(timeline.tracks), [timeline]);
  const steps = useMemo(() => [...timeline.steps].sort((a, b) => a.start_ns - b.start_ns), [timeline]);
  const whole: Viewport = { begin: 0, end: Math.max(1, timeline.length_ns) };
  const drawSpans = useRef(() => {});
  const drawWindow = useRef(() => {});
  const tiles = useMemo(
    () =>
      new TileCache(
        (level, index, of) => fetchTile("", level, index, of),
        timeline.tile_buckets,
        timeline.length_ns,
        () => drawSpans.current(),
        onFailure,
      ),
    [timeline],
  );

  const perNs = width / lengthOf(whole);
  drawSpans.current = () => {
    const context = clearedContext(spans.current, width);
    if (context === null) return;
    const ids = tracks.map((track) => track.id);
    tiles.request(whole, width, ids);
    const lane = Math.floor((HEIGHT - 8) / Math.max(1, tracks.length));
    tracks.forEach((track, row) => {
      const top = 4 + row * lane;
      for (const { tile, beginNs, bucketNs } of tiles.placed(whole, width, track.id)) {
        const [first, last] = tile.lanes.get(track.first_lane) ?? [0, 0];
        for (let i = first; i < last; ++i) {
          const from = (beginNs + (tile.begin[i] as number) * bucketNs) * perNs;
          const to = (beginNs + (tile.end[i] as number) * bucketNs) * perNs;
          context.globalAlpha = Math.min(1, 0.25 + (tile.fill[i] as number));
          context.fillStyle = cssOf(fillOf(palette, tile.style[i] as number));
          context.fillRect(from, top, Math.max(to - from, 0.5), lane - 2);
        }
      }
    });
    context.globalAlpha = 0.6;
    context.fillStyle = palette.lines;
    for (const step of stepsSeen(steps, whole, width)) context.fillRect(Math.round(step.from), 0, 1, HEIGHT);
  };
  drawWindow.current = () => {
    const context = clearedContext(windowCanvas.current, width);
    if (context === null) return;
    const from = Math.max(0, (shared.view.begin - whole.begin) * perNs);
    const to = Math.min(width, Math.max((shared.view.end - whole.begin) * perNs, from + LEAST_WINDOW_PX));
    context.globalAlpha = 0.55;
    context.fillStyle = dark ? "#14171b" : "#f4f6f8";
    context.fillRect(0, 0, from, HEIGHT);
    context.fillRect(to, 0, width - to, HEIGHT);
    context.globalAlpha = 1;
    context.strokeStyle = palette.accent;
    context.lineWidth = 2;
    context.strokeRect(from + 1, 1, Math.max(LEAST_WINDOW_PX, to - from) - 2, HEIGHT - 2);
  };
  useEffect(() => drawSpans.current(), [tiles, tracks, width, dark]);
  useEffect(() => drawWindow.current());
  useEffect(() => {
    let frame = 0;
    const end = shared.subscribe(() => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => drawWindow.current());
    });
    return () => {
      cancelAnimationFrame(frame);
      end();
    };
  }, [shared]);

  /** Moves the window's middle to the pointer. */
  const move = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const middle = ((event.clientX - box.left) / Math.max(1, box.width)) * whole.end;
    const half = lengthOf(shared.view) / 2;
    // A click while the whole trace is visible zooms in: moving would change nothing.
    if (event.type === "pointerdown" && 2 * half > 0.9 * whole.end) shared.set(around(middle, whole.end / 20));
    else shared.set({ begin: middle - half, end: middle + half });
  };
  return (
    <div class="overview-strip" ref={host} aria-hidden="true">
      <canvas ref={spans} />
      <canvas
        ref={windowCanvas}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          move(event);
        }}
        onPointerMove={(event) => event.buttons === 1 && move(event)}
        onWheel={(event) => {
          if (!event.ctrlKey) return; // Scrolls the page.
          event.preventDefault();
          shared.set(zoom(shared.view, 1.0015 ** event.deltaY, 0.5));
        }}
        onDblClick={() => shared.set(whole)}
      />
    </div>
  );
}
