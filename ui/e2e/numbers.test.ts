// The page shows the same figures as the command line.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { headroom, reportOf, startUi, type Ui, whatIfOf } from "./support/program";
import { BERT, LOADER, RESNET } from "./support/traces";
import { launch, Visit } from "./support/visit";

let browser: Browser;
let bert: Ui;
let resnet: Ui;
beforeAll(async () => {
  [browser, bert, resnet] = await Promise.all([launch(), startUi(BERT), startUi(RESNET)]);
});
afterAll(() => Promise.all([browser.close(), bert.stop(), resnet.stop()]));

/** Returns the numbers before a unit in a text, each with half the value of its last digit. */
function numbersIn(text: string, unit: string): { value: number; half: number }[] {
  return [...text.matchAll(new RegExp(`(-?[\\d,]+(?:\\.(\\d+))?)\\s?${unit}`, "g"))].map(([, digits, decimals]) => ({
    value: Number(digits?.replaceAll(",", "")),
    half: 0.5001 * 10 ** -(decimals?.length ?? 0),
  }));
}

/** Expects that a text shows a number, rounded to the digits shown. */
function expectShown(text: string, number: number, unit: string): void {
  const shown = numbersIn(text, unit);
  expect(
    shown.some(({ value, half }) => Math.abs(value - number) <= half),
    `${number} ${unit} in ${JSON.stringify(text)}`,
  ).toBe(true);
}

test("the overview is headroom report --json", async () => {
  const report = reportOf(BERT);
  const visit = await Visit.open(browser, bert.link);
  const step = await visit.page.locator("section", { has: visit.page.locator("#step") }).innerText();
  for (const key of ["step_time_ms", "p50_ms", "min_ms", "max_ms"]) expectShown(step, report.steps[key], "ms");
  expectShown(step, report.steps.corrected_step_ms.mid, "ms");
  const rows = await visit.page.locator("section:has(#step) tbody tr").allInnerTexts();
  const parts = Object.entries<number>(report.step_breakdown).filter(
    ([key]) => key.endsWith("_ms") && key !== "wall_ms" && key !== "of_ms",
  );
  expect(rows.length).toBe(parts.length);
  parts.forEach(([, ms], row) => {
    expectShown(rows[row] ?? "", ms, "ms");
    if (ms > 0.001 * report.step_breakdown.wall_ms)
      expectShown(rows[row] ?? "", (100 * ms) / report.step_breakdown.wall_ms, "%");
  });
  const page = await visit.page.locator("main").innerText();
  for (const finding of report.findings) {
    expect(page.toLowerCase()).toContain(finding.title.toLowerCase());
    if (finding.saves_ms !== null) expectShown(page, finding.saves_ms.mid, "ms");
  }
  expect(page).toContain(`Trace health: ${report.health.grade}`);
  await visit.close();
});

test.each(["amp:dtype=bf16", "cuda-graph", "amp:dtype=bf16+cuda-graph"])(
  "what if %s is headroom whatif --json",
  async (scenario) => {
    const forecast = whatIfOf(RESNET, scenario).scenarios[0];
    const visit = await Visit.open(browser, `${resnet.link}#what-if?scenario=${encodeURIComponent(scenario)}`);
    expectShown(await visit.page.locator(".answer").innerText(), forecast.step_ms.mid, "ms");
    expectShown(await visit.page.locator(".answer").innerText(), forecast.speedup, "x");
    const card = await visit.page.locator("section:has(#result)").innerText();
    for (const end of ["low", "high"]) expectShown(card, forecast.step_ms[end], "ms");
    await visit.close();
  },
);

test("another setting of a loader is headroom data --json, also while a slider moves", async () => {
  const loader = await startUi(LOADER);
  const visit = await Visit.open(browser, `${loader.link}#data`);
  await visit.page.getByRole("slider", { name: "Workers, slider" }).press("End");
  for (const position of [100, 50, 75])
    await visit.page.getByRole("slider", { name: "Workers, slider" }).fill(String(position));
  await visit.settle();
  const workers = await visit.page.getByRole("spinbutton", { name: "Workers" }).inputValue();
  expect(Number(workers)).toBeGreaterThan(1);
  const [asked] = JSON.parse(headroom("data", LOADER, `workers=${workers}`, "--json", "-q")).forecast.asked;
  const card = await visit.page.locator("section:has(#would)").innerText();
  expect(card).toContain(`workers=${workers}:`);
  expectShown(await visit.page.locator(".answer").innerText(), asked.step_ms.mid, "ms");
  expectShown(await visit.page.locator(".answer").innerText(), asked.speedup, "x");
  for (const end of ["low", "high"]) expectShown(card, asked.step_ms[end], "ms");
  await visit.page.waitForURL(new RegExp(`workers=${workers}$`)); // After the slider has settled.
  await Promise.all([visit.close(), loader.stop()]);
});

test("each change alone saves what the ranking says", async () => {
  const visit = await Visit.open(browser, `${resnet.link}#what-if`);
  for (const forecast of whatIfOf(RESNET).scenarios) {
    if (forecast.saves_ms === null || forecast.name.includes("+")) continue;
    const name = forecast.name.split(":")[0];
    const row = visit.page.locator(".changes > li", { has: visit.page.getByRole("checkbox", { name, exact: true }) });
    const text = await row.innerText();
    expectShown(text, Math.abs(forecast.saves_ms), "ms");
    expect(text).toContain(forecast.saves_ms < 0 ? "costs" : "saves");
  }
  await visit.close();
});
