// Every view opens on every kind of trace: wide and narrow, light and dark.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startUi, type Ui } from "./support/program";
import { isThere, MORE_TRACES, TRACES } from "./support/traces";
import { launch, NARROW, SCHEMES, Visit, WIDE } from "./support/visit";

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

/** Returns the faults of the current view. */
async function faultsOf(visit: Visit, view: string): Promise<string[]> {
  const faults: string[] = [];
  if ((await visit.current()) !== view) faults.push(`${view}: its link is not the current one`);
  const text = await visit.page.locator("main").innerText();
  if (text.trim() === "") faults.push(`${view}: shows nothing`);
  for (const word of ["NaN", "undefined", "[object Object]", "Infinity"]) {
    if (text.includes(word)) faults.push(`${view}: shows ${word}`);
  }
  const backgrounds = new Set<string>();
  for (const size of [WIDE, NARROW]) {
    await visit.page.setViewportSize(size);
    for (const colorScheme of SCHEMES) {
      await visit.page.emulateMedia({ colorScheme });
      await visit.drawn();
      backgrounds.add(await visit.page.evaluate(() => getComputedStyle(document.body).backgroundColor));
      const overflow = await visit.overflow();
      if (overflow > 0) faults.push(`${view}: ${overflow} px wider than ${size.width} px, ${colorScheme}`);
    }
  }
  if (backgrounds.size !== SCHEMES.length) faults.push(`${view}: light is as dark as dark`);
  await visit.page.setViewportSize(WIDE);
  return faults;
}

for (const trace of [...TRACES, ...MORE_TRACES]) {
  describe.skipIf(!isThere(trace))(trace.name, () => {
    let ui: Ui;
    beforeAll(async () => {
      ui = await startUi(trace.path);
    });
    afterAll(() => ui.stop());

    test("every view opens", async () => {
      const visit = await Visit.open(browser, ui.link);
      const views = await visit.views();
      expect(views.length).toBeGreaterThan(1);
      const faults: string[] = [];
      for (const view of views) {
        await visit.show(view);
        faults.push(...(await faultsOf(visit, view)));
        faults.push(...visit.faults.splice(0).map((fault) => `${view}: ${fault}`));
      }
      await visit.close();
      expect(faults).toEqual([]);
    });
  });
}
