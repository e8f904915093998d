// Computes the contribution of each part of a combination, from forecasts of the first part, the first two parts, and
// so on, in the order in which they apply.
import type { Forecast, Scenario } from "../../api/types";
import { type Choice, textOf } from "../scenario";

/** Returns the combinations of the first part, the first two, ..., without the complete one. */
export function prefixesOf(choice: Choice, catalogue: Scenario[]): string[] {
  const names = catalogue.map((one) => one.name).filter((name) => choice[name] !== undefined);
  return names.slice(1).map((_, index) => {
    const part = Object.fromEntries(names.slice(0, index + 1).map((name) => [name, choice[name] ?? {}]));
    return textOf(part, catalogue);
  });
}

/** The change from one step time to the next. */
export interface Bar {
  label: string;
  fromMs: number;
  toMs: number;
}

/**
 * Returns null if the combination does not apply.
 *
 * @param prefixes  forecasts of prefixesOf(); a part that does not apply alone is drawn with the next
 * @param whole     forecast of the combination
 */
export function barsOf(baselineMs: number, prefixes: Forecast[], whole: Forecast): Bar[] | null {
  if (!whole.applies || whole.step_ms.mid === null) return null;
  const bars: Bar[] = [];
  let from = baselineMs;
  let before = "";
  for (const forecast of [...prefixes, whole]) {
    const to = forecast.applies ? forecast.step_ms.mid : null;
    if (to === null) continue;
    bars.push({ label: addedTo(before, forecast.name), fromMs: from, toMs: to });
    from = to;
    before = forecast.name;
  }
  return bars;
}

/** Returns "B+C" for "A+B+C" after "A". */
function addedTo(before: string, name: string): string {
  return before !== "" && name.startsWith(`${before}+`) ? name.slice(before.length + 1) : name;
}
