import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Search, SpanPlace } from "../api/timeline";
import { hitFrom, hitText, NO_HIT } from "./hits";

interface SearchBoxProps {
  text: string;
  search: Search | null; // null: not answered yet, or no search.
  input: RefObject<HTMLInputElement>;
  hidden: boolean;
  onText: (text: string) => void;
  onGo: (hit: SpanPlace) => void;
}

/** Finds spans by a part of their names, and moves from hit to hit. */
export function SearchBox({ text, search, input, hidden, onText, onGo }: SearchBoxProps) {
  const [hit, setHit] = useState(NO_HIT);
  useEffect(() => setHit(NO_HIT), [search]);
  const stepTo = (by: number) => {
    const hits = search?.hits ?? [];
    if (hits.length === 0) return;
    const next = hitFrom(hit, by, hits.length);
    setHit(next);
    onGo(hits[next] as SpanPlace);
  };
  return (
    <form
      role="search"
      hidden={hidden}
      onSubmit={(event) => {
        event.preventDefault();
        stepTo(1);
      }}
    >
      <label>
        Find{" "}
        <input
          ref={input}
          type="search"
          maxLength={500}
          value={text}
          placeholder="part of a name ( / )"
          onInput={(event) => onText(event.currentTarget.value)}
        />
      </label>{" "}
      {search !== null && (
        <>
          <span aria-live="polite">{hitText(search, hit)}</span>{" "}
          {search.hits.length > 0 && (
            <>
              <button type="button" aria-label="Previous hit" onClick={() => stepTo(-1)}>
                ‹
              </button>{" "}
              <button type="submit" aria-label="Next hit">
                ›
              </button>
            </>
          )}
        </>
      )}
    </form>
  );
}
