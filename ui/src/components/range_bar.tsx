/** A value and its range, on a logarithmic scale shared by several rows. */
export function RangeBar({
  low,
  mid,
  high,
  least,
  most,
  label,
}: {
  low: number;
  mid: number;
  high: number;
  least: number;
  most: number;
  label: string;
}) {
  const span = Math.log(most / least) || 1;
  const at = (value: number) => 1 + 98 * Math.min(1, Math.max(0, Math.log(value / least) / span));
  const percent = (value: number) => `${at(value).toFixed(2)}%`;
  return (
    <svg class="range-bar" role="img" aria-label={label} width="100%" height="14">
      <line class="range-track" x1="0%" x2="100%" y1="7" y2="7" />
      <line class="range-part" x1={percent(low)} x2={percent(high)} y1="7" y2="7" />
      <circle class="range-mid" cx={percent(mid)} cy="7" r="4" />
    </svg>
  );
}
