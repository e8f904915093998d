import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Width of an element in pixels, kept up to date; 0 before it is known. */
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
