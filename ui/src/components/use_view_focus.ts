import { useEffect, useRef } from "preact/hooks";

/** Who opens another view begins at its top and at its heading, or, where it has none yet, at all of it. The first view
 * is as the browser leaves it, and so is one whose question alone changes. */
export function useViewFocus(view: string): void {
  const shown = useRef(view);
  useEffect(() => {
    if (shown.current === view) return;
    shown.current = view;
    scrollTo(0, 0);
    const main = document.querySelector("main");
    const start = main?.querySelector("h2") ?? main;
    if (start == null) return;
    start.tabIndex = -1;
    start.focus({ preventScroll: true });
  }, [view]);
}
