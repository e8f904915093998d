import { formatChange, formatMs } from "../format";
import type { Bar } from "../model/charts/waterfall";

const HEIGHT = 18;

interface WaterfallProps {
  baselineMs: number;
  bars: Bar[];
  low: number; // Range of the last step.
  high: number;
  ends?: [string, string]; // Names of the first and the last step.
  caption?: string;
}

/** Bars from the first step, over the saving or cost of each change, to the last step and its range. */
export function Waterfall({ baselineMs, bars, low, high, ends = ["now", "then"], caption }: WaterfallProps) {
  const end = bars.at(-1)?.toMs ?? baselineMs;
  const most = Math.max(baselineMs, high, ...bars.map((bar) => bar.toMs));
  const percent = (ms: number) => `${((100 * ms) / most).toFixed(3)}%`;
  const row = (key: string, title: string, ms: string, drawing: preact.ComponentChildren) => (
    <tr key={key}>
      <th scope="row">{title}</th>
      <td class="number">{ms}</td>
      <td class="wide">
        <svg width="100%" height={HEIGHT} role="presentation">
          {drawing}
        </svg>
      </td>
    </tr>
  );
  const whole = (ms: number) => <rect class="fall-whole" y="2" width={percent(ms)} height={HEIGHT - 4} rx="2" />;
  return (
    <table class="fall">
      {caption !== undefined && <caption class="dim">{caption}</caption>}
      <tbody>
        {row("first", ends[0], formatMs(baselineMs), whole(baselineMs))}
        {bars.map((bar) => {
          const from = Math.min(bar.fromMs, bar.toMs);
          const saves = bar.toMs <= bar.fromMs;
          return row(
            bar.label,
            bar.label,
            formatChange(bar.toMs - bar.fromMs),
            <>
              <rect
                class={saves ? "fall-saves" : "fall-costs"}
                x={percent(from)}
                y="2"
                width={percent(Math.abs(bar.toMs - bar.fromMs))}
                height={HEIGHT - 4}
                rx="2"
              />
              <line class="fall-link" x1={percent(bar.toMs)} x2={percent(bar.toMs)} y1={HEIGHT - 2} y2={HEIGHT + 12} />
            </>,
          );
        })}
        {row(
          "last",
          ends[1],
          formatMs(end),
          <>
            {whole(end)}
            {high > low && (
              <>
                <line class="fall-range" x1={percent(low)} x2={percent(high)} y1={HEIGHT / 2} y2={HEIGHT / 2} />
                <line class="fall-range" x1={percent(low)} x2={percent(low)} y1="4" y2={HEIGHT - 4} />
                <line class="fall-range" x1={percent(high)} x2={percent(high)} y1="4" y2={HEIGHT - 4} />
              </>
            )}
          </>,
        )}
      </tbody>
    </table>
  );
}
