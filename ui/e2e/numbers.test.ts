// The page shows the same figures as the command line.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { headroom, ROOT, reportOf, startUi, startUiIn, type Ui, whatIfOf } from "./support/program";
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
  for (const key of ["step_time_ms", "mean_ms", "p50_ms", "min_ms", "max_ms"])
    expectShown(step, report.steps[key], "ms");
  const rows = await visit.page.locator(".step-bar-parts li").allInnerTexts();
  const parts = Object.entries<number>(report.step_breakdown).filter(
    ([key, ms]) => key.endsWith("_ms") && key !== "wall_ms" && key !== "of_ms" && ms > 0,
  );
  expect(rows.length).toBe(parts.length);
  parts.forEach(([, ms], row) => {
    expectShown(rows[row] ?? "", ms, "ms");
    if (ms > 0.001 * report.step_breakdown.wall_ms)
      expectShown(rows[row] ?? "", (100 * ms) / report.step_breakdown.wall_ms, "%");
  });
  const { summary } = report;
  const figures = await visit.page.locator(".figures").innerText();
  for (const ms of [summary.step_ms.low, summary.step_ms.mid, summary.step_ms.high, summary.gpu_busy_ms])
    expectShown(figures, ms, "ms");
  expectShown(figures, report.efficiency.mfu_pct, "%");
  expectShown(figures, summary.samples_per_s, "samples/s");
  const actions = await visit.page.locator(".action").allInnerTexts();
  expect(actions.length).toBe(Math.min(3, summary.actions.length));
  actions.forEach((text, index) => {
    expect(text).toContain(summary.actions[index].title);
    expectShown(text, summary.actions[index].saves_ms.mid, "ms");
    if (summary.actions[index].speedup !== null) expectShown(text, summary.actions[index].speedup, "x");
  });
  expect(await visit.page.locator("#verdict").innerText()).toBe(report.bottleneck.sentence);
  expectShown(await visit.page.locator(".header-step").innerText(), summary.step_ms.mid, "ms");
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

test("a larger batch has its own throughput, also where the host limits several batch sizes alike", async () => {
  const [forecast] = whatIfOf(BERT, "batch-size:n=16").scenarios;
  const samples = forecast.batch_curve.points.find((point: { samples: number }) => point.samples === 16);
  const visit = await Visit.open(browser, `${bert.link}#what-if?scenario=${encodeURIComponent("batch-size:n=16")}`);
  expectShown(await visit.page.locator(".answer").innerText(), samples.samples_per_s, "samples/s");
  await visit.close();
});

test("a forecast shows a step before and after, on one scale", async () => {
  const visit = await Visit.open(browser, `${resnet.link}#what-if?scenario=tf32`);
  const card = visit.page.locator("section:has(#forecast-steps)");
  await card.getByRole("heading", { name: "Forecast: TF32" }).waitFor();
  expect(await card.getByRole("heading", { level: 3 }).allInnerTexts()).toEqual(["As recorded", "Forecast: TF32"]);
  const boxes = await Promise.all([0, 1].map((pane) => card.locator(".pane").nth(pane).boundingBox()));
  expect(boxes[0]?.width).toBe(boxes[1]?.width);
  expect(visit.faults).toEqual([]);
  await visit.close();
});

test("each action has a button: its forecast, or its evidence", async () => {
  const visit = await Visit.open(browser, bert.link);
  const { actions } = reportOf(BERT).summary;
  const cards = visit.page.locator(".action");
  for (let index = 0; index < Math.min(3, actions.length); ++index) {
    const forecast = cards.nth(index).getByRole("button", { name: "Forecast it" });
    if ((await forecast.count()) > 0) continue;
    await cards.nth(index).getByRole("button", { name: "Evidence" }).click();
    expect(await visit.page.locator(`#finding-${actions[index].finding}`).getAttribute("open")).not.toBeNull();
  }
  await visit.close();
});

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

test("a job without GPU work has the forecasts that its actions offer", async () => {
  const loader = await startUi(LOADER);
  const [action] = reportOf(LOADER).summary.actions;
  const forecast = whatIfOf(LOADER, action.scenario).scenarios[0];
  const visit = await Visit.open(browser, loader.link);
  await visit.page.getByRole("button", { name: "Forecast it" }).first().click();
  await visit.settle();
  const card = await visit.page.locator("section:has(#result)").innerText();
  expectShown(card, forecast.step_ms.mid, "ms");
  expect(forecast.upper_bound).toBe(true);
  expect(card).toContain("At best");
  await Promise.all([visit.close(), loader.stop()]);
});

test("Compare is headroom diff --json", async () => {
  const compared = await startUiIn(ROOT, BERT, RESNET);
  const diff = JSON.parse(headroom("diff", BERT, RESNET, "--json", "-q", "--no-local-state"));
  const visit = await Visit.open(browser, `${compared.link}#compare`);
  const whole = await visit.page.locator("section:has(#whole)").innerText();
  for (const step of [diff.step_ms, diff.corrected_step_ms])
    for (const ms of [step.a, step.b, step.change, step.low, step.high]) expectShown(whole, Math.abs(ms), "ms");
  for (const fact of diff.facts) if (fact.blocks) expect(whole).toContain(`${fact.a} → ${fact.b}`);
  // The median steps begin at the same time.
  const steps = visit.page.locator("section:has(#steps-of-both)");
  const median = (trace: string) => {
    const all = reportOf(trace).steps.list.map(({ index, wall_ms }: { index: number; wall_ms: number }) => ({
      index,
      wall_ms,
    }));
    all.sort((a: { wall_ms: number }, b: { wall_ms: number }) => a.wall_ms - b.wall_ms);
    return all[Math.floor((all.length - 1) / 2)].index;
  };
  expect(await steps.getByRole("heading", { level: 3 }).allInnerTexts()).toEqual([
    `A: step ${median(BERT)}`,
    `B: step ${median(RESNET)}`,
  ]);
  const account = await visit.page.locator("section:has(#account)").innerText();
  expectShown(account, diff.step_ms.a, "ms");
  expectShown(account, diff.step_ms.b, "ms");
  const [largest] = [...diff.account].sort((a, b) => Math.abs(b.change_ms) - Math.abs(a.change_ms));
  expect(account).toContain(largest.label);
  for (const table of ["operators", "kernels"]) {
    await visit.page.getByRole("radio", { name: table }).check();
    const row = diff[table][0];
    const shown = await visit.page.locator("section:has(#rows) tbody tr").first().innerText();
    expect(shown).toContain(row.name.slice(0, 40));
    for (const ms of [row.ms.a, row.ms.b, row.ms.change, row.by_count_ms, row.by_time_ms])
      expectShown(shown, Math.abs(ms), "ms");
  }
  await Promise.all([visit.close(), compared.stop()]);
});

test("each change alone saves what the ranking says", async () => {
  const visit = await Visit.open(browser, `${resnet.link}#what-if`);
  for (const forecast of whatIfOf(RESNET).scenarios) {
    if (forecast.saves_ms === null || forecast.name.includes("+")) continue;
    const name = forecast.name.split(":")[0];
    const row = visit.page.locator(`.changes > li[data-scenario="${name}"]`);
    const text = await row.innerText();
    if (forecast.saves_ms === 0) {
      expect(text).toContain("saves nothing");
      continue;
    }
    expectShown(text, Math.abs(forecast.saves_ms), "ms");
    expect(text).toContain(forecast.saves_ms < 0 ? "costs" : "saves");
  }
  await visit.close();
});
