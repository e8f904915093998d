import { useEffect, useRef } from "preact/hooks";

/**
 * Moves the scroll position to the top and the focus to the heading when the view changes. A view without a heading
 * gets the focus itself. Leaves the first view, and changes within a view, to the browser.
 */
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
