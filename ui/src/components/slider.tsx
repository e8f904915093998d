import { POSITIONS, positionOf, type Range, valueAt } from "../model/charts/slider";
import "./slider.css";

interface SliderProps {
  label: string;
  value: string; // As entered; may be invalid, or beyond the slider.
  range: Range;
  unit?: string;
  onValue: (value: string) => void; // Called more often than a browser accepts new addresses.
}

/** A slider with a number field next to it, for values between or beyond its positions. */
export function Slider({ label, value, range, unit, onValue }: SliderProps) {
  return (
    <span class="slider">
      <input
        type="range"
        min={0}
        max={POSITIONS}
        aria-label={`${label}, slider`}
        aria-valuetext={`${value} ${unit ?? ""}`.trim()}
        value={positionOf(Number(value), range)}
        onInput={(event) => onValue(String(valueAt(Number(event.currentTarget.value), range)))}
      />
      <input
        type="number"
        min={range.whole ? Math.min(1, range.least) : 0}
        step={range.whole ? 1 : "any"}
        aria-label={label}
        value={value}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
      {unit}
    </span>
  );
}
