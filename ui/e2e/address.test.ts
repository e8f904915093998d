// The address holds the state of the page: it survives a reload, and the back button works.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startUi, type Ui } from "./support/program";
import { RESNET } from "./support/traces";
import { launch, Visit } from "./support/visit";

let browser: Browser;
let ui: Ui;
beforeAll(async () => {
  [browser, ui] = await Promise.all([launch(), startUi(RESNET)]);
});
afterAll(() => Promise.all([browser.close(), ui.stop()]));

test("the token leaves the address", async () => {
  const visit = await Visit.open(browser, ui.link);
  expect(visit.page.url()).not.toContain("token");
  await visit.close();
});

test("a reload keeps the view", async () => {
  const visit = await Visit.open(browser, ui.link);
  for (const view of await visit.views()) {
    await visit.show(view);
    const address = visit.page.url();
    await visit.page.reload();
    await visit.settle();
    expect([await visit.current(), visit.page.url()]).toEqual([view, address]);
  }
  expect(visit.faults).toEqual([]);
  await visit.close();
});

test("back and forward walk through the views", async () => {
  const visit = await Visit.open(browser, ui.link);
  const views = (await visit.views()).slice(1);
  for (const view of views) await visit.show(view);
  for (const view of [...views].reverse().slice(1)) {
    await visit.page.goBack();
    await visit.settle();
    expect(await visit.current()).toBe(view);
  }
  for (const view of views.slice(1)) {
    await visit.page.goForward();
    await visit.settle();
    expect(await visit.current()).toBe(view);
  }
  await visit.close();
});

test("a question survives a reload", async () => {
  const visit = await Visit.open(browser, `${ui.link}#what-if?scenario=amp%3Adtype%3Dbf16%2Bcuda-graph`);
  const shown = await visit.page.locator(".answer").innerText();
  await visit.page.reload();
  await visit.settle();
  expect(await visit.page.locator(".answer").innerText()).toBe(shown);
  expect(await visit.page.getByRole("checkbox", { name: "CUDA graphs" }).isChecked()).toBe(true);
  await visit.close();
});

test("a filter of a table is in the address once it was typed, and is no step back", async () => {
  const visit = await Visit.open(browser, `${ui.link}#tables?of=kernels`);
  const steps = () => visit.page.evaluate(() => history.length);
  const before = await steps();
  await visit.page.getByRole("searchbox", { name: "Filter by name" }).pressSequentially("gemm");
  await visit.page.waitForURL(/filter=gemm/);
  expect(await steps()).toBe(before);
  const shown = await visit.page.locator(".data-table").innerText();
  await visit.page.reload();
  await visit.settle();
  expect(await visit.page.locator(".data-table").innerText()).toBe(shown);
  await visit.close();
});

test("nonsense in the address is the first view", async () => {
  const visit = await Visit.open(browser, `${ui.link}#no-such-view?x=<script>&&%E0%A4%A`);
  expect(await visit.current()).toBe((await visit.views())[0]);
  expect(visit.faults).toEqual([]);
  await visit.close();
});
