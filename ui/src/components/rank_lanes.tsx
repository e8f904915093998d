import { useMemo, useRef, useState } from "preact/hooks";
import type { RankStep, RankTimes } from "../api/ranks";
import { formatNs } from "../format";
import { barsPath, computingOf, doneAt, transfersOf, waitsOf } from "../model/ranks";
import { useWidth } from "./use_width";
import "./rank_lanes.css";

const LABELS_PX = 72;
const MARKS_PX = 20;
/** Room for a mark of the time axis. */
const MARK_PX = 90;
const MAX_MARKS = 5;

interface Place {
  x: number;
  text: string;
}

/** One step of all ranks on one clock: computing above, collectives below, for each rank. */
export function RankLanes({ step, hrefOf }: { step: RankStep; hrefOf: (rank: number) => string }) {
  const host = useRef<HTMLDivElement>(null);
  const width = useWidth(host);
  const [place, setPlace] = useState<Place | null>(null);
  const { ranks } = step;
  const begin = Math.min(...ranks.map((one) => one.start_ns));
  const end = Math.max(begin + 1, ...ranks.map((one) => one.end_ns));
  const lane = ranks.length > 32 ? 4 : ranks.length > 12 ? 7 : 11;
  const pitch = 2 * lane + (ranks.length > 32 ? 1 : 4);
  const room = Math.max(1, width - LABELS_PX);
  const marks = Math.max(2, Math.min(MAX_MARKS, Math.floor(room / MARK_PX)));
  const toX = (ns: number) => LABELS_PX + ((Math.min(Math.max(ns, begin), end) - begin) / (end - begin)) * room;
  const drawn = useMemo(
    () =>
      ranks.map((one: RankTimes, row) => {
        const top = MARKS_PX + row * pitch;
        return {
          computing: barsPath(computingOf(one), toX, top, lane),
          transfer: barsPath(transfersOf(one), toX, top + lane, lane),
          waiting: barsPath(waitsOf(one), toX, top + lane, lane),
        };
      }),
    [ranks, width],
  );
  const eachRow = Math.ceil(14 / pitch);
  const point = (event: MouseEvent) => {
    const box = (event.currentTarget as SVGElement).getBoundingClientRect();
    const x = event.clientX - box.left;
    const row = Math.floor((event.clientY - box.top - MARKS_PX) / pitch);
    const one = ranks[row];
    if (one === undefined || x < LABELS_PX) return setPlace(null);
    const ns = begin + ((x - LABELS_PX) / room) * (end - begin);
    setPlace({ x, text: `At ${formatNs(ns - begin)}, rank ${one.rank} ${doneAt(one, ns)}.` });
  };
  return (
    <>
      <div class="rank-lanes" ref={host}>
        {width > 0 && (
          <svg
            width={width}
            height={MARKS_PX + pitch * ranks.length}
            role="group"
            aria-label={`Step ${step.step} of ${ranks.length} ranks on one clock`}
            onMouseMove={point}
            onMouseLeave={() => setPlace(null)}
          >
            {Array.from({ length: marks }, (_, mark) => (
              <text
                key={mark}
                class="dim"
                x={LABELS_PX + (mark / (marks - 1)) * room}
                y="12"
                text-anchor={mark === 0 ? "start" : mark === marks - 1 ? "end" : "middle"}
              >
                {formatNs(Math.round(((end - begin) * mark) / (marks - 1)))}
              </text>
            ))}
            {ranks.map((one, row) => (
              <g key={one.rank} class={one.aligned ? "" : "own-clock"}>
                <rect
                  class="lane"
                  x={toX(one.start_ns)}
                  y={MARKS_PX + row * pitch}
                  width={Math.max(0, toX(one.end_ns) - toX(one.start_ns))}
                  height={2 * lane}
                />
                <path class="computing" d={drawn[row]?.computing} />
                <path class="transfer" d={drawn[row]?.transfer} />
                <path class="waiting" d={drawn[row]?.waiting} />
                {row % eachRow === 0 && (
                  <a href={hrefOf(one.rank)}>
                    <text x="0" y={MARKS_PX + row * pitch + Math.min(2 * lane, 14) - 1}>{`rank ${one.rank}`}</text>
                  </a>
                )}
              </g>
            ))}
            {place !== null && (
              <line class="cursor" x1={place.x} x2={place.x} y1={MARKS_PX} y2={MARKS_PX + pitch * ranks.length} />
            )}
          </svg>
        )}
      </div>
      <p class="rank-key dim">
        <span>
          <span class="swatch" style={{ background: "var(--series-1)" }} />
          computes
        </span>
        <span>
          <span class="swatch waiting" />
          waits for the last rank
        </span>
        <span>
          <span class="swatch" style={{ background: "var(--series-2)" }} />
          transfers
        </span>
        {ranks.some((one) => !one.aligned) && <span>pale: on the rank's own clock, which could not be aligned</span>}
      </p>
      <p class="rank-said" aria-live="polite">
        {place?.text ?? ""}
      </p>
    </>
  );
}
