// Touch, mouse and wheel gestures of a timeline.
import { lengthOf, pan, type Viewport, zoom } from "./viewport";

export interface GestureHost {
  element: HTMLElement;
  view: () => Viewport;
  onView: (view: Viewport) => void;
  /** Position in the element, in CSS pixels. */
  onHover: (x: number, y: number) => void;
  /** The pointer left the element, or a gesture began. */
  onLeave: () => void;
  onClick: (x: number, y: number) => void;
  /** A range in ns on the view's clock; null: range cleared. */
  onRange: (range: Viewport | null) => void;
}

/** A press that moves less is a click. CSS pixels. */
const CLICK_SLACK = 4;
const ZOOM_PER_PIXEL = 1.0015;

/**
 * Returns a function that removes the listeners. A drag pans, and with Shift selects. Two fingers zoom. The wheel pans
 * sideways, and with Ctrl zooms.
 */
export function listenToGestures(host: GestureHost): () => void {
  const { element } = host;
  const pressed = new Map<number, { x: number; y: number }>();
  let from = { x: 0, y: 0 };
  let moved = false;
  let selecting = false;

  const place = (event: MouseEvent) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const width = () => Math.max(1, element.clientWidth);
  const timeAt = (x: number) => host.view().begin + (x / width()) * lengthOf(host.view());
  const spread = () => {
    const [first, second] = [...pressed.values()];
    return first === undefined || second === undefined
      ? null
      : { middle: (first.x + second.x) / 2, apart: Math.max(1, Math.abs(first.x - second.x)) };
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    pressed.set(event.pointerId, place(event));
    host.onLeave();
    if (pressed.size > 1) {
      moved = true;
      return;
    }
    from = place(event);
    moved = false;
    selecting = event.shiftKey;
  };
  const move = (event: PointerEvent) => {
    const before = pressed.get(event.pointerId);
    const at = place(event);
    if (before === undefined) return host.onHover(at.x, at.y);
    const old = spread();
    pressed.set(event.pointerId, at);
    const now = spread();
    if (old !== null && now !== null) {
      const panned = pan(host.view(), (old.middle - now.middle) / width());
      return host.onView(zoom(panned, old.apart / now.apart, now.middle / width()));
    }
    if (Math.abs(at.x - from.x) > CLICK_SLACK || Math.abs(at.y - from.y) > CLICK_SLACK) moved = true;
    if (!moved) return;
    if (selecting) {
      const [a, b] = [timeAt(from.x), timeAt(at.x)];
      host.onRange({ begin: Math.min(a, b), end: Math.max(a, b) });
    } else host.onView(pan(host.view(), (before.x - at.x) / width()));
  };
  const up = (event: PointerEvent) => {
    if (!pressed.delete(event.pointerId) || moved || event.type === "pointercancel") return;
    const at = place(event);
    host.onClick(at.x, at.y);
  };
  const wheel = (event: WheelEvent) => {
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      host.onView(zoom(host.view(), ZOOM_PER_PIXEL ** (event.deltaY * pixels), place(event).x / width()));
    } else if (Math.abs(sideways) > Math.abs(event.deltaY) || event.shiftKey) {
      event.preventDefault();
      host.onView(pan(host.view(), (sideways * pixels) / width()));
    }
  };

  const ends = new AbortController();
  const { signal } = ends;
  element.addEventListener("pointerdown", down, { signal });
  element.addEventListener("pointermove", move, { signal });
  element.addEventListener("pointerup", up, { signal });
  element.addEventListener("pointercancel", up, { signal });
  element.addEventListener("pointerleave", () => host.onLeave(), { signal });
  element.addEventListener("wheel", wheel, { signal, passive: false });
  return () => ends.abort();
}
