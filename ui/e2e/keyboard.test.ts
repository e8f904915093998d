// Use without a mouse: Tab reaches the controls of every view in the order of the page, the focus is visible, and an
// opened view begins at its top. Some tests also use controls; timeline.test.ts tests the timeline's keys.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startUi, type Ui } from "./support/program";
import { RESNET } from "./support/traces";
import { launch, NARROW, Visit } from "./support/visit";

/** Number of controls to test per view. The others are of the same kinds. */
const STEPS = 40;

let browser: Browser;
let ui: Ui;
beforeAll(async () => {
  [browser, ui] = await Promise.all([launch(), startUi(RESNET)]);
});
afterAll(() => Promise.all([browser.close(), ui.stop()]));

interface Focused {
  what: string;
  inNav: boolean;
  isVisible: boolean;
}

/** Returns the element that has the focus; null: none. */
function focused(page: Page): Promise<Focused | null> {
  return page.evaluate(() => {
    const element = document.activeElement;
    if (element === null || element === document.body) return null;
    const style = getComputedStyle(element);
    const isOutlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    const box = element.getBoundingClientRect();
    const isInWindow = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
    const name = element.getAttribute("aria-label") ?? element.textContent ?? "";
    return {
      what: `${element.tagName.toLowerCase()} ${name.trim().slice(0, 40)}`,
      inNav: element.closest("nav") !== null,
      isVisible: (isOutlined || style.boxShadow !== "none") && isInWindow,
    };
  });
}

test("Tab walks the links first, Enter opens a view, and Shift+Tab leads back to the links", async () => {
  const visit = await Visit.open(browser, ui.link);
  for (const [index, view] of (await visit.views()).entries()) {
    const found = await tabTo(visit.page, `a ${view}`, index === 0 ? "Tab" : "Shift+Tab");
    expect(found, `Tab does not reach the link of ${view}`).toMatchObject({ inNav: true, isVisible: true });
    await visit.page.keyboard.press("Enter");
    await visit.settle();
    expect(await visit.current()).toBe(view);
  }
  await visit.close();
});

/** Presses the key until the element with this name has the focus. */
async function tabTo(page: Page, what: string, key = "Tab"): Promise<Focused | null> {
  for (let step = 0; step < 3 * STEPS; ++step) {
    await page.keyboard.press(key);
    const now = await focused(page);
    if (now?.what === what) return now;
  }
  return null;
}

test("where the focus is can be seen on every view", async () => {
  const visit = await Visit.open(browser, ui.link);
  const hidden: string[] = [];
  for (const view of await visit.views()) {
    await visit.show(view);
    await visit.page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    for (let step = 0; step < STEPS; ++step) {
      await visit.page.keyboard.press("Tab");
      const now = await focused(visit.page);
      if (now === null) break;
      if (!now.isVisible) hidden.push(`${view}: ${now.what}`);
    }
  }
  expect(hidden).toEqual([]);
  await visit.close();
});

test("Tab reaches every control of every view", async () => {
  const visit = await Visit.open(browser, ui.link);
  const missed: string[] = [];
  for (const view of await visit.views()) {
    await visit.show(view);
    const reached = await walk(visit.page);
    for (const control of await controls(visit.page)) {
      if (!reached.has(control)) missed.push(`${view}: ${control}`);
    }
  }
  expect(missed).toEqual([]);
  await visit.close();
});

/** Returns the marks of the first usable controls; walk() sets the marks. One radio button stands for its group. */
function controls(page: Page): Promise<string[]> {
  return page.evaluate((most) => {
    const all = [
      ...document.querySelectorAll<HTMLElement>(
        "main :is(button, a[href], input:not([type=radio]), select, textarea, summary, [tabindex])",
      ),
    ];
    const usable = all.filter((one) => one.tabIndex >= 0 && !one.matches(":disabled") && one.checkVisibility());
    return usable.slice(0, most).map((one) => one.dataset.tested ?? `never: ${one.outerHTML.slice(0, 80)}`);
  }, STEPS);
}

/** Presses Tab through a page, and returns the marks of the elements that had the focus. */
async function walk(page: Page): Promise<Set<string>> {
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  const reached = new Set<string>();
  for (let step = 0; step < 2 * STEPS; ++step) {
    await page.keyboard.press("Tab");
    const mark = await page.evaluate((number) => {
      const element = document.activeElement as HTMLElement | null;
      if (element === null || element === document.body) return null;
      element.dataset.tested ??= String(number);
      return element.dataset.tested;
    }, step);
    if (mark === null) break;
    reached.add(mark);
  }
  return reached;
}

test("Space switches a change on and off, and the answer follows", async () => {
  const visit = await Visit.open(browser, `${ui.link}#what-if`);
  const box = visit.page.getByRole("checkbox", { name: "TF32" });
  await box.focus();
  await visit.page.keyboard.press("Space");
  await visit.page.locator(".answer").waitFor();
  expect(await box.isChecked()).toBe(true);
  expect(visit.page.url()).toContain("scenario=tf32");
  await visit.page.keyboard.press("Space");
  await visit.page.locator(".answer").waitFor({ state: "detached" });
  expect(await box.isChecked()).toBe(false);
  await visit.close();
});

test("an operator of the roofline is picked by its name", async () => {
  const visit = await Visit.open(browser, `${ui.link}#roofline`);
  const name = visit.page.locator("button.long-name").nth(1);
  const operator = await name.innerText();
  await name.focus();
  await visit.page.keyboard.press("Enter");
  await visit.settle();
  expect(visit.page.url()).toContain(`operator=${operator.replaceAll(":", "%3A")}`);
  const row = visit.page.locator("button.long-name");
  expect(await row.allInnerTexts()).toEqual([operator]);
  expect(await row.getAttribute("aria-pressed")).toBe("true");
  await row.press("Enter");
  await visit.settle();
  expect(await row.count()).toBeGreaterThan(1);
  await visit.close();
});

test("a view that is opened begins at its top, with the focus on its heading; the first is left as it is", async () => {
  const visit = await Visit.open(browser, ui.link, { viewport: NARROW });
  const place = () => visit.page.evaluate(() => ({ at: document.activeElement?.tagName, scrolled: scrollY }));
  expect(await place()).toEqual({ at: "BODY", scrolled: 0 });
  await visit.page.getByRole("button", { name: "Forecast it" }).first().click();
  await visit.settle();
  expect(await place()).toEqual({ at: "H2", scrolled: 0 });
  await visit.show("Timeline");
  expect((await place()).at).toBe("MAIN");
  // A new setting of the same view keeps focus and scroll position.
  await visit.show("Roofline");
  const name = visit.page.locator("button.long-name").first();
  await name.scrollIntoViewIfNeeded();
  await name.click();
  await visit.settle();
  expect(await place()).toMatchObject({ at: "BUTTON" });
  await visit.close();
});
