import "./spread.css";

/** A bar from minimum to maximum, with a mark at the mean; all are shares of a whole. The numbers are next to it. */
export function Spread({ from, mean, to }: { from: number; mean: number; to: number }) {
  const percent = (share: number) => `${(100 * share).toFixed(2)}%`;
  return (
    <svg class="spread" aria-hidden="true" height="12">
      <rect class="bar-track" width="100%" height="12" rx="2" />
      <rect class="bar-part" x={percent(from)} width={percent(to - from)} height="12" rx="2" />
      <rect class="spread-mean" x={percent(Math.min(0.98, mean))} width="2" height="12" />
    </svg>
  );
}
