// axe reports no serious or critical violation on any view, in light and dark.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seriousFaults } from "./support/axe";
import { startUi, type Ui } from "./support/program";
import { BERT } from "./support/traces";
import { launch, NARROW, SCHEMES, Visit, WIDE } from "./support/visit";

/** The test opens each view, and checks the light page at two widths, so it takes longer than others. */
const ALL_VIEWS_MS = 180_000;

let browser: Browser;
let ui: Ui;
beforeAll(async () => {
  [browser, ui] = await Promise.all([launch(), startUi(BERT)]);
});
afterAll(() => Promise.all([browser.close(), ui.stop()]));

test.each(SCHEMES)(
  "%s",
  async (colorScheme) => {
    const visit = await Visit.open(browser, ui.link, { colorScheme });
    const faults: string[] = [];
    for (const view of await visit.views()) {
      await visit.show(view);
      // A narrow page has other elements but the same colours, so one colour scheme is enough.
      for (const size of colorScheme === "light" ? [WIDE, NARROW] : [WIDE]) {
        await visit.page.setViewportSize(size);
        faults.push(...(await seriousFaults(visit.page)).map((fault) => `${view}, ${size.width} px: ${fault}`));
      }
    }
    expect(faults).toEqual([]);
    await visit.close();
  },
  ALL_VIEWS_MS,
);
