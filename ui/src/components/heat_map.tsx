import { useRef, useState } from "preact/hooks";
import { type Grid, rangeOf } from "../model/ranks";
import "./heat_map.css";
import { useWidth } from "./use_width";

const LABELS_PX = 72;
const TOP_PX = 20;
const MAX_CELL_PX = 160;
const LETTER_PX = 8;
/** Paler cells would not stand out from the card. */
const PALEST_PERCENT = 6;

interface HeatMapProps {
  label: string; // A sentence that says what the map shows.
  grid: Grid;
  color: string; // Custom property of the largest value.
  fromZero: boolean; // False: the palest colour is the smallest value.
  rowTitle: (rank: number) => string;
  columnTitle: (column: Grid["columns"][number]) => string;
  format: (value: number | null) => string;
  hrefOf: (rank: number) => string; // Where the label of a row leads.
  chosen?: number; // Column to mark.
  onPick?: (column: number, row: number) => void;
}

/** A coloured cell per rank and column. */
export function HeatMap({
  label,
  grid,
  color,
  fromZero,
  rowTitle,
  columnTitle,
  format,
  hrefOf,
  chosen,
  onPick,
}: HeatMapProps) {
  const host = useRef<HTMLDivElement>(null);
  const width = useWidth(host);
  const [pointed, setPointed] = useState("");
  const { rows, columns, values } = grid;
  const { low, high } = rangeOf(values, fromZero);
  const height = rows.length > 40 ? 9 : rows.length > 16 ? 14 : 22;
  const cell = Math.max(3, Math.min(MAX_CELL_PX, (width - LABELS_PX) / Math.max(1, columns.length)));
  const ramp = (share: number) =>
    `color-mix(in srgb, var(${color}) ${(PALEST_PERCENT + (100 - PALEST_PERCENT) * share).toFixed(0)}%, var(--card))`;
  const shareOf = (value: number) => (high > low ? (value - low) / (high - low) : 0);
  const eachRow = Math.ceil(14 / height);
  const labels = columns.map((column) => String(column.first));
  const eachColumn = Math.ceil((LETTER_PX * Math.max(2, ...labels.map((text) => text.length + 1))) / cell);
  const gap = cell > 6 ? 1 : 0;
  return (
    <div class="heat-map" ref={host}>
      {width > 0 && (
        <svg
          width={LABELS_PX + cell * columns.length + 2}
          height={TOP_PX + height * rows.length + 2}
          role="group"
          aria-label={label}
          onMouseLeave={() => setPointed("")}
        >
          {labels.map(
            (text, column) =>
              column % eachColumn === 0 && (
                <text key={column} class="dim" x={LABELS_PX + column * cell + 1} y={TOP_PX - 6}>
                  {text}
                </text>
              ),
          )}
          {rows.map((rank, row) => (
            <g key={rank} class={onPick === undefined ? "" : "picks"}>
              {row % eachRow === 0 && (
                <a href={hrefOf(rank)}>
                  <text x="0" y={TOP_PX + row * height + Math.min(height, 14) - 1}>
                    {rowTitle(rank)}
                  </text>
                </a>
              )}
              {columns.map((column, index) => {
                const value = values[row]?.[index] ?? null;
                const text = `${rowTitle(rank)}, ${columnTitle(column)}: ${format(value)}`;
                return (
                  // biome-ignore lint/a11y/noStaticElementInteractions: the list of steps does the same for the keyboard
                  <rect
                    key={column.first}
                    class={value === null ? "heat-cell unknown" : "heat-cell"}
                    x={LABELS_PX + index * cell}
                    y={TOP_PX + row * height}
                    width={cell - gap}
                    height={height - 1}
                    style={value === null ? undefined : { fill: ramp(shareOf(value)) }}
                    onMouseEnter={() => setPointed(text)}
                    onClick={() => onPick?.(index, row)}
                  />
                );
              })}
            </g>
          ))}
          {chosen !== undefined && chosen >= 0 && (
            <rect
              class="heat-chosen"
              x={LABELS_PX + chosen * cell}
              y={TOP_PX - 1}
              width={cell}
              height={height * rows.length + 1}
              rx="2"
            />
          )}
        </svg>
      )}
      <p class="heat-key dim">
        <span>{format(low)}</span>
        <span class="ramp" style={{ background: `linear-gradient(to right, ${ramp(0)}, ${ramp(1)})` }} />
        <span>{format(high)}</span>
        <span class="heat-said" aria-live="polite">
          {pointed !== "" && `· ${pointed}`}
        </span>
      </p>
    </div>
  );
}
