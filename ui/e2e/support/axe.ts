// Accessibility violations that axe finds on a page.
import axe from "axe-core";
import type { Page } from "playwright-core";

/** Returns the serious and critical violations, each with its first element. */
export async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const found = await (globalThis as unknown as { axe: typeof axe }).axe.run(document, {
      resultTypes: ["violations"],
    });
    return found.violations
      .filter((one) => one.impact === "serious" || one.impact === "critical")
      .map((one) => `${one.id}: ${one.help}: ${one.nodes[0]?.html.slice(0, 160)} (${one.nodes.length})`);
  });
}
