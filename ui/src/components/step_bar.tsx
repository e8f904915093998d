import { formatMs, formatPercent } from "../format";
import type { BarPart } from "../model/charts/step_bar";
import "./step_bar.css";

const HEIGHT = 36;
/** Names of smaller parts would not fit. */
const MIN_NAMED_SHARE = 0.07;
const percent = (share: number) => `${(100 * share).toFixed(3)}%`;

/** "12.3 ms, 45.6 %", or the share alone where the time of the whole is unknown. */
function textOf({ ms, share }: BarPart) {
  return (
    <>
      {ms !== null && <strong>{formatMs(ms)}</strong>} <span class="dim">{formatPercent(100 * share)}</span>
    </>
  );
}

const labelOf = ({ name, ms, share, busy }: BarPart, hasGpu: boolean) =>
  `${name}: ${ms === null ? "" : `${formatMs(ms)}, `}${formatPercent(100 * share)}${
    hasGpu ? `, GPU busy in ${formatPercent((100 * busy) / share)} of it` : ""
  }`;

/**
 * The parts of a whole in one bar, and each with its figures below it. In each part, strong: the GPU works; pale and
 * hatched: it is idle.
 *
 * @param hasGpu  false: the trace has no GPU work, so nothing is pale
 */
export function StepBar({ parts, label, hasGpu }: { parts: BarPart[]; label: string; hasGpu: boolean }) {
  return (
    <div class="step-bar">
      <svg width="100%" height={HEIGHT} role="img" aria-label={label}>
        <defs>
          <pattern id="idle" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <line x1="0" y1="0" x2="0" y2="6" stroke="var(--card)" stroke-width="3" stroke-opacity="0.5" />
          </pattern>
        </defs>
        {parts.map((part) => (
          <g key={part.name}>
            <title>{labelOf(part, hasGpu)}</title>
            <rect
              class="idle"
              x={percent(part.begin)}
              width={percent(part.share)}
              height={HEIGHT}
              style={{ fill: `var(${part.color})` }}
            />
            <rect class="hatch" x={percent(part.begin)} width={percent(part.share)} height={HEIGHT} fill="url(#idle)" />
            <rect
              x={percent(part.begin)}
              width={percent(part.busy)}
              height={HEIGHT}
              style={{ fill: `var(${part.color})` }}
            />
          </g>
        ))}
      </svg>
      <div class="step-bar-names" aria-hidden="true">
        {parts.map((part) => (
          <span key={part.name} style={{ left: percent(part.begin), width: percent(part.share) }}>
            {part.share >= MIN_NAMED_SHARE && part.name}
          </span>
        ))}
      </div>
      <ul class="step-bar-parts">
        {parts.map((part) => (
          <li key={part.name} title={part.meaning}>
            <span class="swatch" style={{ background: `var(${part.color})` }} />
            <span>{part.name}</span>
            <span class="time">
              {textOf(part)}
              {hasGpu && part.share > 0 && (
                <span class="dim busy">GPU busy {formatPercent((100 * part.busy) / part.share)}</span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Explains the two shades. */
export function StepBarKey() {
  return (
    <p class="step-bar-key dim">
      <span>
        <span class="swatch" />
        GPU busy
      </span>
      <span>
        <span class="swatch pale" />
        GPU idle
      </span>
    </p>
  );
}
