// A server that ends while its page is open.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startUi } from "./support/program";
import { RESNET } from "./support/traces";
import { launch, Visit } from "./support/visit";

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

test("a page whose server has ended says so, and keeps what it showed", async () => {
  const ui = await startUi(RESNET);
  const visit = await Visit.open(browser, ui.link);
  await ui.stop();
  await visit.page.getByText("headroom no longer answers").waitFor({ timeout: 30_000 });
  expect(await visit.page.locator("main").innerText()).toContain("per step");
  await visit.close();
});
