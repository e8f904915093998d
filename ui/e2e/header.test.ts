// The first fold, and the header that stays.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startUi, type Ui, withScratch } from "./support/program";
import { BERT } from "./support/traces";
import { launch, Visit, WIDE } from "./support/visit";

let browser: Browser;
let ui: Ui;
beforeAll(async () => {
  [browser, ui] = await Promise.all([launch(), startUi(BERT)]);
});
afterAll(() => Promise.all([browser.close(), ui.stop()]));

test("verdict, figures, the step and the best actions are visible without scrolling", async () => {
  const visit = await Visit.open(browser, ui.link);
  for (const part of [".verdict", ".figures", ".step-bar", ".actions"]) {
    const box = await visit.page.locator(part).boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? Infinity), part).toBeLessThanOrEqual(WIDE.height);
  }
  await visit.close();
});

test("trace, step time and tabs stay while the page scrolls", async () => {
  const visit = await Visit.open(browser, ui.link);
  await visit.page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  expect(await visit.page.evaluate(() => scrollY)).toBeGreaterThan(0);
  expect((await visit.page.locator("header").boundingBox())?.y).toBe(0);
  // Nothing that takes the focus hides below the header.
  await visit.page.locator(".finding summary").first().focus();
  const header = await visit.page.locator("header").boundingBox();
  const focused = await visit.page.locator(".finding summary").first().boundingBox();
  expect(focused?.y ?? 0).toBeGreaterThanOrEqual(header?.height ?? Infinity);
  await visit.close();
});

test("the theme is the user's choice, also after the page was loaded again", async () => {
  const visit = await Visit.open(browser, ui.link, { colorScheme: "light" });
  const background = () => visit.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  const themed = (name: string) => visit.page.getByRole("button", { name: `Theme: ${name}` });
  const shown = (theme: string | undefined) =>
    visit.page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, theme);
  await themed("system").click();
  await shown("light");
  expect(await background()).toBe(light);
  await themed("light").click();
  await shown("dark");
  const dark = await background();
  expect(dark).not.toBe(light);
  await visit.page.reload();
  await visit.settle();
  expect(await background()).toBe(dark);
  await themed("dark").click();
  await shown(undefined);
  expect(await background()).toBe(light);
  await visit.close();
});

test("the page saves itself as a file that opens without a server", () =>
  withScratch(async (folder) => {
    const visit = await Visit.open(browser, ui.link);
    const [download] = await Promise.all([
      visit.page.waitForEvent("download", { timeout: 120_000 }),
      visit.page.getByRole("button", { name: "Save as one HTML file" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("bert_base_amp_fp16_h200.html");
    const file = join(folder, "page.html");
    await download.saveAs(file);
    const saved = await Visit.open(browser, pathToFileURL(file).href, { offline: true });
    expect(await saved.page.locator("#verdict").innerText()).toBe(await visit.page.locator("#verdict").innerText());
    expect(await saved.page.getByRole("button", { name: "Save as one HTML file" }).count()).toBe(0);
    expect(saved.faults).toEqual([]);
    await Promise.all([visit.close(), saved.close()]);
  }));

test("a tab without data says why", async () => {
  const visit = await Visit.open(browser, ui.link);
  const tab = visit.page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Compare" });
  expect(await tab.getAttribute("title")).toContain("Only one trace is open");
  await visit.close();
});
