// The timeline in a browser. The tests read the address and the pixels of the canvas.
import type { Browser, Locator } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seriousFaults } from "./support/axe";
import { startUi, type Ui } from "./support/program";
import { BERT } from "./support/traces";
import { launch, Visit } from "./support/visit";

/** Time until the address reflects the view. */
const ADDRESS_MS = 700;

let browser: Browser;
let ui: Ui;
beforeAll(async () => {
  [browser, ui] = await Promise.all([launch(), startUi(BERT)]);
});
afterAll(() => Promise.all([browser.close(), ui.stop()]));

const open = (question = "") => Visit.open(browser, `${ui.link}#timeline${question}`);

const canvasOf = (visit: Visit): Locator => visit.page.getByRole("application", { name: "Timeline as recorded" });

/** Returns the content of the canvas, once it no longer changes. */
async function pictureOf(visit: Visit): Promise<string> {
  const now = () => canvasOf(visit).evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
  for (let before = ""; ; ) {
    await visit.settle();
    const picture = await now();
    if (picture === before) return picture;
    before = picture;
  }
}

/** Returns the time range in the address, in ns. */
async function stretchOf(visit: Visit): Promise<[number, number]> {
  await visit.page.waitForTimeout(ADDRESS_MS);
  const match = /[?&]t=(-?\d+)-(-?\d+)/.exec(visit.page.url());
  return [Number(match?.[1]), Number(match?.[2])];
}

/** Sets the address, as a link or the user does. */
async function goTo(visit: Visit, hash: string): Promise<void> {
  await visit.page.evaluate((to) => {
    location.hash = to;
  }, hash);
  await visit.settle();
}

test("another address is another picture, and Back is the one before", async () => {
  const visit = await open("?t=0-1000000");
  const first = await pictureOf(visit);
  await goTo(visit, "#timeline?t=20000000-60000000");
  const second = await pictureOf(visit);
  expect(second).not.toBe(first);
  await visit.page.waitForTimeout(ADDRESS_MS);
  await visit.page.goBack();
  expect(await pictureOf(visit)).toBe(first);
  await goTo(visit, `#timeline?t=0-${"9".repeat(400)}`);
  const nonsense = await pictureOf(visit);
  await goTo(visit, "#timeline");
  expect(await pictureOf(visit)).toBe(nonsense);
  expect(visit.faults).toEqual([]);
  await visit.close();
});

test("a search begins with its first hit, and the text counts", async () => {
  const visit = await open("?find=Optimizer.step");
  const box = visit.page.getByRole("search");
  const starts: number[] = [];
  const next = async (button: string) => {
    const before = visit.page.url();
    await box.getByRole("button", { name: button }).click();
    await visit.settle();
    await visit.page.waitForURL((url) => url.href !== before);
    const [begin, end] = await stretchOf(visit);
    starts.push((begin + end) / 2);
    return (await box.locator("[aria-live]").innerText()).replace(/ spans.*/, "");
  };
  expect([
    await next("Next hit"),
    await next("Next hit"),
    await next("Previous hit"),
    await next("Previous hit"),
  ]).toEqual(["1 of 6", "2 of 6", "1 of 6", "6 of 6"]);
  expect(starts[2]).toBe(starts[0]);
  expect(starts[0]).toBeLessThan(starts[1] as number);
  expect(starts[3]).toBeGreaterThan(starts[1] as number);
  await visit.close();
});

test("each change that can be forecast below has all its values", async () => {
  const visit = await open();
  const choice = visit.page.getByRole("combobox", { name: "Forecast below" });
  const changes = await choice
    .locator("option")
    .evaluateAll((options) =>
      options.map((option) => (option as HTMLOptionElement).value).filter((value) => value !== ""),
    );
  expect(changes.length).toBeGreaterThan(10);
  let drawn = 0;
  for (const change of changes) {
    await choice.selectOption(change);
    await visit.settle();
    drawn += await visit.page.getByRole("heading", { name: "Forecast", exact: false }).count();
    for (const error of await visit.page.getByRole("alert").allInnerTexts())
      expect(error, change).not.toMatch(/is required|must be given|needs/);
  }
  expect(drawn).toBeGreaterThan(changes.length / 3);
  await visit.close();
});

/** Returns how often lanes were painted during an action. */
async function paintsOf(visit: Visit, action: () => Promise<void>): Promise<number> {
  const count = () => visit.page.evaluate(() => (globalThis as unknown as { painted: number }).painted);
  await visit.page.evaluate(() => {
    const counted = globalThis as unknown as { painted: number };
    counted.painted = 0;
    const put = CanvasRenderingContext2D.prototype.putImageData;
    CanvasRenderingContext2D.prototype.putImageData = function (...given: unknown[]) {
      ++counted.painted;
      Reflect.apply(put, this, given);
    };
  });
  await action();
  await visit.drawn();
  return count();
}

test("a pointer that moves paints nothing, and is told what is under it", async () => {
  const visit = await open();
  await pictureOf(visit);
  const box = await canvasOf(visit).boundingBox();
  if (box === null) throw new Error("no canvas");
  const told = new Set<string>();
  const paints = await paintsOf(visit, async () => {
    for (let x = 0; x < 60; ++x) {
      await visit.page.mouse.move(box.x + 10 * x, box.y + 205);
      await visit.drawn();
      told.add((await visit.page.locator(".hover-card").allInnerTexts()).join());
    }
  });
  expect(paints).toBe(0);
  expect(told.size).toBeGreaterThan(2);
  expect(
    await paintsOf(visit, () =>
      visit.page
        .getByRole("combobox", { name: "Go to" })
        .selectOption("-1")
        .then(() => {}),
    ),
  ).toBeGreaterThan(0);
  await visit.close();
});

test("its rules change no other view", async () => {
  const visit = await Visit.open(browser, `${ui.link}#roofline`);
  expect(
    await visit.page
      .locator("dl.facts")
      .first()
      .evaluate((facts) => getComputedStyle(facts).display),
  ).toBe("grid");
  await visit.close();
});

test("a hit on a folded track is unfolded and in sight, and what is known of it, too", async () => {
  const visit = await open("?find=Optimizer.step");
  await pictureOf(visit);
  const titles = visit.page.locator(".pane-title[aria-expanded=true]");
  while ((await titles.count()) > 0) await titles.last().click();
  await visit.page.getByRole("search").getByRole("button", { name: "Next hit" }).click();
  await pictureOf(visit);
  const title = visit.page.locator(".pane-title[aria-expanded=true]");
  expect(await title.count()).toBe(1);
  await expect.poll(async () => inWindow(visit.page.getByRole("heading", { name: /^Optimizer\.step/ }))).toBe(true);
  // The user can fold the track again.
  await title.click();
  await visit.settle();
  expect(await title.count()).toBe(0);
  await visit.close();
});

test("the last lane is scrolled to", async () => {
  const visit = await open("?find=Optimizer.step");
  await pictureOf(visit);
  const scrolled = () => visit.page.locator(".pane-scroller").evaluate((scroller) => scroller.scrollTop);
  expect(await scrolled()).toBe(0);
  await visit.page.getByRole("search").getByRole("button", { name: "Previous hit" }).click();
  await pictureOf(visit);
  expect(await scrolled()).toBeGreaterThan(0);
  await visit.close();
});

test("keys act wherever the focus is, but in a field", async () => {
  const visit = await open("?t=20000000-60000000");
  const { keyboard } = visit.page;
  const lengthAfter = async (key: string) => {
    await keyboard.press(key);
    const [begin, end] = await stretchOf(visit);
    return end - begin;
  };
  expect(await visit.page.evaluate(() => document.activeElement === document.body)).toBe(true);
  const closer = await lengthAfter("w");
  expect(closer).toBeLessThan(30e6);
  const [before] = await stretchOf(visit);
  await keyboard.press("d");
  expect((await stretchOf(visit))[0]).toBeGreaterThan(before);
  // With the focus on the canvas, a key acts once, not twice.
  await canvasOf(visit).focus();
  expect(await lengthAfter("s")).toBeCloseTo(40e6, -3);
  await keyboard.press("/");
  expect(await visit.page.getByRole("searchbox").evaluate((box) => box === document.activeElement)).toBe(true);
  const [stays] = await stretchOf(visit);
  await keyboard.type("wasd");
  expect((await stretchOf(visit))[0]).toBe(stays);
  expect(await visit.page.getByRole("searchbox").inputValue()).toBe("wasd");
  await visit.close();
});

test("a stretch is measured without a pointer, and let go", async () => {
  const visit = await open("?t=20000000-60000000");
  await visit.page.getByRole("button", { name: "Measure this view" }).focus();
  await visit.page.keyboard.press("Enter");
  const heading = visit.page.getByRole("heading", { name: "40 ms selected" });
  await heading.waitFor();
  expect(await inWindow(heading)).toBe(true);
  expect(await visit.page.locator("main").innerText()).toContain("stream 7 GPU 0 NVIDIA H200: busy");
  expect(await visit.page.locator("main").innerText()).toMatch(/the 12 longest of \d+ names/);
  await visit.page.keyboard.press("Escape");
  await heading.waitFor({ state: "detached" });
  await visit.close();
});

test("each finding's link leads to events", async () => {
  const visit = await Visit.open(browser, ui.link);
  const links = await visit.page
    .locator('main a[href*="find="]')
    .evaluateAll((all) => all.map((link) => link.getAttribute("href") ?? ""));
  expect(links.length).toBeGreaterThan(2);
  for (const link of links) {
    await goTo(visit, link);
    expect(await visit.page.getByRole("search").locator("[aria-live]").innerText(), link).toMatch(/^[\d,]+ spans?,/);
  }
  await visit.close();
});

/** Returns true if the element is entirely inside the window's height. */
const inWindow = (element: Locator): Promise<boolean> =>
  element.evaluate((one) => {
    const box = one.getBoundingClientRect();
    return box.top >= 0 && box.bottom <= innerHeight;
  });

test("the strip shows the whole trace, and moves the window", async () => {
  const visit = await Visit.open(browser, `${ui.link}#timeline`);
  const strip = await visit.page.locator(".overview-strip").boundingBox();
  if (strip === null) throw new Error("no strip");
  await visit.page.mouse.click(strip.x + strip.width / 2, strip.y + 20);
  await expect.poll(() => visit.page.url()).toMatch(/t=\d+-\d+/);
  const [from, to] = (/t=(\d+)-(\d+)/.exec(visit.page.url()) ?? []).slice(1).map(Number) as [number, number];
  const { length_ns } = await visit.page.evaluate(async () => (await fetch("api/v1/timeline")).json());
  expect((from + to) / 2 / length_ns).toBeCloseTo(0.5, 1);
  expect(to - from).toBeLessThan(length_ns / 4);
  await visit.page.keyboard.press("0");
  await expect.poll(() => visit.page.url()).not.toContain(`t=${from}-`);
  expect(visit.faults).toEqual([]);
  await visit.close();
});

test("tracks are hidden, pinned and filtered, also after a reload", async () => {
  const visit = await Visit.open(browser, `${ui.link}#timeline`);
  const titles = async () => (await visit.page.locator(".pane-title").allInnerTexts()).map((text) => text.slice(2));
  const before = await titles();
  await visit.page.locator(".track-list summary").click();
  await visit.page.getByRole("searchbox", { name: "Filter tracks" }).fill("thread");
  await visit.page.locator(".track-list").getByRole("button", { name: "Hide" }).click();
  await visit.settle();
  expect((await titles()).some((title) => title.startsWith("thread"))).toBe(false);
  await visit.page.getByRole("searchbox", { name: "Filter tracks" }).fill("stream 7");
  await visit.page.getByRole("button", { name: "Pin stream 7 to the top" }).click();
  await visit.settle();
  expect((await titles())[0]).toContain("stream 7");
  await visit.page.reload();
  await visit.settle();
  expect((await titles())[0]).toContain("stream 7");
  expect((await titles()).length).toBeLessThan(before.length);
  expect(visit.faults).toEqual([]);
  await visit.close();
});

test("the lanes keep their height when a span is selected, and ? shows the keys", async () => {
  const visit = await Visit.open(browser, `${ui.link}#timeline`);
  const canvas = visit.page.locator(".pane-canvas");
  const box = await canvas.boundingBox();
  if (box === null) throw new Error("no canvas");
  await visit.page.mouse.click(box.x + 500, box.y + 90);
  await visit.settle();
  expect(await visit.page.locator(".timeline-panel").count()).toBe(1);
  expect((await canvas.boundingBox())?.height).toBe(box.height);
  expect(await seriousFaults(visit.page)).toEqual([]);
  await visit.page.keyboard.press("?");
  const keys = visit.page.getByRole("dialog", { name: "Keys of the timeline" });
  await keys.waitFor();
  await visit.page.keyboard.press("Escape");
  await keys.waitFor({ state: "hidden" });
  await visit.close();
});
