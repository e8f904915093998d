/** A share of a whole; the dark part is the share in which the GPU works. */
export function Bar({ share, busy, label }: { share: number; busy?: number; label: string }) {
  const percent = (value: number) => `${Math.min(100, Math.max(0, 100 * value)).toFixed(2)}%`;
  return (
    <svg class="bar" role="img" aria-label={label} width="100%" height="12" preserveAspectRatio="none">
      <rect class="bar-track" width="100%" height="12" rx="2" />
      <rect class="bar-part" width={percent(share)} height="12" rx="2" />
      {busy !== undefined && <rect class="bar-busy" width={percent(busy)} height="12" rx="2" />}
    </svg>
  );
}
