// The card that describes the span under the pointer.
import type { RefObject } from "preact";
import type { MutableRef } from "preact/hooks";
import { useEffect, useState } from "preact/hooks";
import { embeddedAnswers } from "../api/embedded";
import { fetchSpan, type Span } from "../api/timeline";

export interface Hover {
  x: number; // Position in the pane, in CSS pixels.
  y: number;
  name: string;
  note: string; // Its duration or value.
  span: { lane: number; row: number } | null; // null: several spans, or no recorded span.
}

/** The pointer must rest before the server is asked. */
const DWELL_MS = 120;
const MAX_FACTS = 8;

/** Returns the facts of a span as lines, with its first link: for a kernel, its launch. */
const linesOf = (span: Span): string[] => [
  ...span.links.slice(0, 1).map((link) => `${link.relation}: ${link.label}`),
  ...Object.entries(span.facts ?? {})
    .slice(0, MAX_FACTS)
    .map(([fact, value]) => `${fact}: ${value}`),
];

/**
 * A card next to the pointer. A separate component, so that pointer moves redraw nothing else.
 *
 * @param told  receives the function that shows a hover, or hides the card (null)
 * @param pane  contains the card
 */
export function HoverCard({
  told,
  pane,
}: {
  told: MutableRef<(hover: Hover | null) => void>;
  pane: RefObject<HTMLElement>;
}) {
  const [hover, setHover] = useState<Hover | null>(null);
  const [details, setDetails] = useState<{ key: string; span: Span } | null>(null);
  told.current = setHover;
  const span = hover?.span ?? null;
  const key = span === null ? "" : `${span.lane} ${span.row}`;
  useEffect(() => {
    if (span === null || embeddedAnswers() !== null) return;
    const end = new AbortController();
    const timer = setTimeout(
      () =>
        fetchSpan(span.lane, span.row, end.signal).then(
          (answer) => setDetails({ key, span: answer }),
          () => {},
        ),
      DWELL_MS,
    );
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [key]);
  if (hover === null) return null;
  const known = details !== null && details.key === key ? details.span : null;
  const width = pane.current?.clientWidth ?? 0;
  const height = pane.current?.clientHeight ?? 0;
  const style = {
    ...(hover.x > width / 2 ? { right: `${width - hover.x + 14}px` } : { left: `${hover.x + 14}px` }),
    ...(hover.y > height / 2 ? { bottom: `${height - hover.y + 10}px` } : { top: `${hover.y + 16}px` }),
  };
  return (
    <div class="hover-card" style={style} aria-hidden="true">
      <strong>{known?.name ?? hover.name}</strong>
      <div>{hover.note}</div>
      {known !== null &&
        linesOf(known).map((line) => (
          <div key={line} class="dim">
            {line}
          </div>
        ))}
    </div>
  );
}
