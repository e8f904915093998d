// Names of a trace are text, whatever they hold.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeHostileTrace } from "./support/hostile_trace";
import { startUi, withScratch } from "./support/program";
import { launch, NARROW, Visit, WIDE } from "./support/visit";

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

/** What of the names has become more than text, or turns around what stands beside them. */
function broken(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    if ("pwned" in globalThis) found.push("a script ran");
    const live = "script:not([src]):not([type='application/json']), img, iframe, object, embed, base, form, body style, a[href^='javascript:' i]";
    for (const element of document.body.querySelectorAll(live)) found.push(`an element: ${element.outerHTML.slice(0, 100)}`);
    for (const element of document.body.querySelectorAll("*")) {
      for (const name of element.getAttributeNames()) if (/^on/i.test(name)) found.push(`an attribute: ${element.outerHTML.slice(0, 100)}`);
    }
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      const element = text.parentElement;
      if (element === null || element.closest("svg, option") !== null || !/[\u202a-\u202e\u2066-\u2069]/.test(text.nodeValue ?? "")) continue;
      const { display, unicodeBidi } = getComputedStyle(element);
      if (display === "inline" && unicodeBidi === "normal") found.push(`turns its line around (needs unicode-bidi: isolate): ${element.outerHTML.slice(0, 100)}`);
    }
    return found;
  });
}

test("hostile names are text on every view", () =>
  withScratch(async (folder) => {
    const ui = await startUi(writeHostileTrace(folder));
    const visit = await Visit.open(browser, ui.link);
    const faults: string[] = [];
    for (const view of await visit.views()) {
      await visit.show(view);
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
    const question = encodeURIComponent('amp+<img src=x onerror="globalThis.pwned=1">:dtype=</script><script>globalThis.pwned=1</script>');
    const visit = await Visit.open(browser, `${ui.link}#what-if?scenario=${question}`);
    for (const view of await visit.views()) {
      await visit.show(view);
      expect(await broken(visit.page), view).toEqual([]);
    }
    await visit.close();
    await ui.stop();
    expect(visit.faults).toEqual([]);
  }));
