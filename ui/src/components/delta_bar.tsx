/** A difference, as a bar to the left (less) or right (more) of the middle. */
export function DeltaBar({ delta, most, label }: { delta: number; most: number; label: string }) {
  const width = most > 0 ? Math.min(50, (50 * Math.abs(delta)) / most) : 0;
  return (
    <svg class="delta-bar" role="img" aria-label={label} width="100%" height="12">
      <line class="delta-middle" x1="50%" x2="50%" y1="0" y2="12" />
      <rect
        class={delta <= 0 ? "delta-less" : "delta-more"}
        x={`${(delta <= 0 ? 50 - width : 50).toFixed(2)}%`}
        y="1"
        width={`${width.toFixed(2)}%`}
        height="10"
        rx="2"
      />
    </svg>
  );
}
