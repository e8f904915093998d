// axe finds nothing serious, on any view, in light and dark.
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startUi, type Ui } from "./support/program";
import { BERT } from "./support/traces";
import { launch, NARROW, SCHEMES, Visit, WIDE } from "./support/visit";

let browser: Browser;
let ui: Ui;
beforeAll(async () => {
  [browser, ui] = await Promise.all([launch(), startUi(BERT)]);
});
afterAll(() => Promise.all([browser.close(), ui.stop()]));

/** What is serious or critical, with the first place of each. */
function seriousFaults(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const found = await (globalThis as unknown as { axe: typeof axe }).axe.run(document, { resultTypes: ["violations"] });
    return found.violations
      .filter((one) => one.impact === "serious" || one.impact === "critical")
      .map((one) => `${one.id}: ${one.help}: ${one.nodes[0]?.html.slice(0, 160)} (${one.nodes.length})`);
  });
}

test.each(SCHEMES)("%s", async (colorScheme) => {
  const visit = await Visit.open(browser, ui.link, { colorScheme });
  await visit.page.evaluate(axe.source);
  const faults: string[] = [];
  for (const view of await visit.views()) {
    await visit.show(view);
    // What is narrow has other elements, not other colours.
    for (const size of colorScheme === "light" ? [WIDE, NARROW] : [WIDE]) {
      await visit.page.setViewportSize(size);
      faults.push(...(await seriousFaults(visit.page)).map((fault) => `${view}, ${size.width} px: ${fault}`));
    }
  }
  expect(faults).toEqual([]);
  await visit.close();
});
