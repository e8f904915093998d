// How much two pictures differ, and whether that is more than another way of drawing letters (docs/ui.md: what was
// measured).
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";

/** Of pixelmatch, from 0 to 1: letters that are drawn in another way have few pixels beyond this. */
const STRONG = 0.4;
/** Nor many beyond this in one place; a surface of another colour has. */
const WEAK = 0.1;

const PATCH = { width: 64, height: 32 };

/** Pixels: in all, as a share; in the patch that has most, as a share of it. */
export const MOST = { strong: 0.001, strongInPatch: 0.022, weakInPatch: 0.2 };

export interface Difference {
  strong: number;
  strongInPatch: number;
  weakInPatch: number;
  /** What differs strongly, in red over the first picture, as PNG; null: their sizes differ. */
  drawn: Buffer | null;
}

/** @param threshold  as pixelmatch has it */
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

/** The largest share of a patch; patches overlap by half, so that none cuts what lies together. */
function mostInPatch(mask: PNG): number {
  let most = 0;
  for (let top = 0; top < mask.height; top += PATCH.height / 2) {
    for (let left = 0; left < mask.width; left += PATCH.width / 2) {
      let count = 0;
      for (let y = top; y < Math.min(mask.height, top + PATCH.height); ++y) {
        for (let x = left; x < Math.min(mask.width, left + PATCH.width); ++x) {
          const at = 4 * (y * mask.width + x);
          // Red; yellow are those that pixelmatch takes for the edges of letters.
          if (mask.data[at + 3] !== 0 && mask.data[at + 1] === 0) ++count;
        }
      }
      most = Math.max(most, count);
    }
  }
  return most / (PATCH.width * PATCH.height);
}

/** Of two pictures in PNG. */
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

/** What is more than it may be, in words; empty: nothing. */
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
