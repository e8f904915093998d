// Measures how much two pictures differ, and whether font rendering can explain it (docs/ui.md has the measurements).
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";

/** Threshold of pixelmatch, from 0 to 1. Font rendering makes few pixels differ by more than this. */
const STRONG = 0.4;
/** Lower threshold. Font rendering makes few pixels of one patch differ by more; an area of another colour, many. */
const WEAK = 0.1;

const PATCH = { width: 64, height: 32 };

/** Limits, as a share of all pixels, or of the pixels of the patch with the most. */
export const MOST = { strong: 0.001, strongInPatch: 0.022, weakInPatch: 0.2 };

export interface Difference {
  strong: number;
  strongInPatch: number;
  weakInPatch: number;
  /** Strong differences, in red over the first picture, as PNG; null: the sizes differ. */
  drawn: Buffer | null;
}

/** @param threshold  as in pixelmatch */
function differing(one: PNG, other: PNG, threshold: number): { mask: PNG; count: number } {
  const mask = new PNG({ width: one.width, height: one.height });
  const count = pixelmatch(one.data, other.data, mask.data, one.width, one.height, {
    threshold,
    diffMask: true,
    diffColor: [255, 0, 0],
    aaColor: [255, 255, 0],
  });
  return { mask, count };
}

/** Returns the largest share of a patch. Patches overlap by half, so no boundary splits every patch of a difference. */
function mostInPatch(mask: PNG): number {
  let most = 0;
  for (let top = 0; top < mask.height; top += PATCH.height / 2) {
    for (let left = 0; left < mask.width; left += PATCH.width / 2) {
      let count = 0;
      for (let y = top; y < Math.min(mask.height, top + PATCH.height); ++y) {
        for (let x = left; x < Math.min(mask.width, left + PATCH.width); ++x) {
          const at = 4 * (y * mask.width + x);
          // Counts red pixels. Yellow marks pixels that pixelmatch regards as edges of letters.
          if (mask.data[at + 3] !== 0 && mask.data[at + 1] === 0) ++count;
        }
      }
      most = Math.max(most, count);
    }
  }
  return most / (PATCH.width * PATCH.height);
}

/** Compares two PNG pictures. */
export function differenceOf(kept: Buffer, now: Buffer): Difference {
  const [one, other] = [PNG.sync.read(kept), PNG.sync.read(now)];
  if (one.width !== other.width || one.height !== other.height)
    return { strong: 1, strongInPatch: 1, weakInPatch: 1, drawn: null };
  const strong = differing(one, other, STRONG);
  const drawn = new PNG({ width: one.width, height: one.height });
  pixelmatch(one.data, other.data, drawn.data, one.width, one.height, { threshold: STRONG });
  return {
    strong: strong.count / (one.width * one.height),
    strongInPatch: mostInPatch(strong.mask),
    weakInPatch: mostInPatch(differing(one, other, WEAK).mask),
    drawn: PNG.sync.write(drawn),
  };
}

/** Describes the measures that exceed their limits; empty: none. */
export function excessOf(difference: Difference): string[] {
  const percent = (share: number) => `${(100 * share).toFixed(2)} %`;
  const words: Record<keyof typeof MOST, string> = {
    strong: "of all pixels differ strongly",
    strongInPatch: `of the pixels of one patch (${PATCH.width}x${PATCH.height}) differ strongly`,
    weakInPatch: "of the pixels of one patch differ",
  };
  return (Object.keys(MOST) as (keyof typeof MOST)[])
    .filter((key) => difference[key] > MOST[key])
    .map((key) => `${percent(difference[key])} ${words[key]}, and ${percent(MOST[key])} may`);
}
