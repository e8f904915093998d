import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Returns the current width of an element in pixels; 0 until it is known. */
export function useWidth(element: RefObject<Element>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
