// Names of a trace appear as text, whatever they contain.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { broken } from "./support/broken";
import { writeHostileTrace } from "./support/hostile_trace";
import { startUi, withScratch } from "./support/program";
import { launch, NARROW, Visit, WIDE } from "./support/visit";

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

test("hostile names are text on every view", () =>
  withScratch(async (folder) => {
    const ui = await startUi(writeHostileTrace(folder));
    const visit = await Visit.open(browser, ui.link);
    const faults: string[] = [];
    for (const view of await visit.views()) {
      await visit.show(view).catch(() => faults.push(`${view}: shows nothing`));
      faults.push(...(await broken(visit.page)).map((fault) => `${view}: ${fault}`));
      for (const size of [NARROW, WIDE]) {
        await visit.page.setViewportSize(size);
        const overflow = await visit.overflow();
        if (overflow > 0) faults.push(`${view}: ${overflow} px wider than ${size.width} px`);
      }
      faults.push(...visit.faults.splice(0).map((fault) => `${view}: ${fault}`));
    }
    expect(await visit.page.locator("header").innerText()).toContain("<img src=x");
    await visit.close();
    await ui.stop();
    expect(faults).toEqual([]);
  }));

test("a hostile question in the address is text", () =>
  withScratch(async (folder) => {
    const ui = await startUi(writeHostileTrace(folder));
    const question = encodeURIComponent(
      'amp+<img src=x onerror="globalThis.pwned=1">:dtype=</script><script>globalThis.pwned=1</script>',
    );
    const visit = await Visit.open(browser, `${ui.link}#what-if?scenario=${question}`);
    for (const view of await visit.views()) {
      await visit.show(view);
      expect(await broken(visit.page), view).toEqual([]);
    }
    await visit.close();
    await ui.stop();
    expect(visit.faults).toEqual([]);
  }));
