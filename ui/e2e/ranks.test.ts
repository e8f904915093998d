// A job of several ranks: a folder with a trace per rank.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seriousFaults } from "./support/axe";
import { jobOfRanks, LATE_RANK, RANKS, writeJobOfRanks } from "./support/job_of_ranks";
import { headroom, reportOf, startUi, type Ui, withScratch } from "./support/program";
import { launch, NARROW, Visit, WIDE } from "./support/visit";

const JOB = jobOfRanks();

let browser: Browser;
let ui: Ui;
beforeAll(async () => {
  [browser, ui] = await Promise.all([launch(), startUi(JOB)]);
});
afterAll(() => Promise.all([browser.close(), ui.stop()]));

/** Formats like the page. */
const ms = (value: number) =>
  value === 0 ? "0 ms" : `${value.toFixed(value < 0.9995 ? 3 : value < 999.995 ? 2 : 1)} ms`;

test("the overview is headroom report FOLDER --json", async () => {
  const { summary, job_ranks } = reportOf(JOB);
  const visit = await Visit.open(browser, ui.link);
  const text = await visit.page.locator("main").innerText();
  expect(job_ranks.straggler.rank).toBe(LATE_RANK);
  expect(text).toContain(`Rank ${LATE_RANK} (on node2) holds the others up in 10 of 12 steps`);
  expect(text).toContain(summary.rank_note);
  const actions = await visit.page.locator(".action").allInnerTexts();
  expect(actions.length).toBe(summary.actions.length);
  actions.forEach((action, index) => {
    expect(action).toContain(summary.actions[index].title);
    expect(action).toContain(ms(summary.actions[index].saves_ms.mid));
  });
  expect(await visit.page.getByRole("combobox", { name: "Rank" }).inputValue()).toBe("");
  await visit.page.getByRole("link", { name: "View Ranks" }).first().click();
  await visit.settle();
  expect(await visit.current()).toBe("Ranks");
  expect(visit.faults).toEqual([]);
  await visit.close();
});

test("Ranks and Overview are of all ranks, also after another view showed one", async () => {
  const { job_ranks } = reportOf(JOB);
  const visit = await Visit.open(browser, `${ui.link}#tables?rank=2`);
  await visit.show("Ranks");
  expect(job_ranks.sentence).toContain(await visit.page.locator("#ranks").innerText());
  await visit.page.getByRole("combobox", { name: "Rank" }).selectOption("3");
  await visit.settle();
  expect(job_ranks.sentence).toContain(await visit.page.locator("#ranks").innerText());
  await visit.show("Overview");
  const text = await visit.page.locator("main").innerText();
  expect(text).toContain("This is rank 3.");
  expect(text).toContain(`Rank ${LATE_RANK} (on node2) holds the others up`);
  expect(visit.faults).toEqual([]);
  await visit.close();
});

test("the view Ranks has the figures of the command line", async () => {
  const { job_ranks } = reportOf(JOB);
  const visit = await Visit.open(browser, `${ui.link}#ranks`);
  expect(job_ranks.sentence).toContain(await visit.page.locator("#ranks").innerText());
  const rows = await visit.page.locator('[aria-label="Table: Ranks"] tbody tr').allInnerTexts();
  expect(rows.length).toBe(RANKS);
  for (const row of job_ranks.waits) {
    const shown = rows.find((text) => text.startsWith(`${row.rank}\t`));
    for (const value of [row.caused_ms, row.waited_ms, row.computing_ms]) expect(shown).toContain(ms(value));
  }
  // A cell of the steps, and one of the pairs.
  const [steps, pairs] = [visit.page.locator(".heat-map").nth(0), visit.page.locator(".heat-map").nth(1)];
  const one = job_ranks.steps.find((row: { rank: number; step: number }) => row.rank === 2 && row.step === 4);
  await steps.locator("g").nth(2).locator("rect").nth(4).hover();
  expect(await steps.locator(".heat-said").innerText()).toContain(`rank 2, step 4: ${ms(one.waited_ms)}`);
  await visit.page.getByRole("button", { name: "Step time" }).click();
  await steps.locator("g").nth(2).locator("rect").nth(4).hover();
  expect(await steps.locator(".heat-said").innerText()).toContain(ms(one.wall_ms));
  const pair = job_ranks.pairs[0];
  expect(pair.waited_for).toBe(LATE_RANK);
  await pairs.locator("g").nth(pair.rank).locator("rect").nth(LATE_RANK).hover();
  expect(await pairs.locator(".heat-said").innerText()).toContain(
    `rank ${pair.rank}, for rank ${LATE_RANK}: ${ms(pair.waited_ms)}`,
  );
  const collectives = await visit.page.locator('[aria-label="Table: Collectives"] tbody').innerText();
  expect(collectives).toContain("allreduce");
  expect(collectives).toContain(`${Number(job_ranks.collectives[0].bus_gbs.toPrecision(3))} GB/s`);
  expect(visit.faults).toEqual([]);
  await visit.close();
});

test("a step of all ranks on one clock: the late rank transfers, the others wait", async () => {
  const visit = await Visit.open(browser, `${ui.link}#ranks?step=4`);
  const lanes = visit.page.locator(".rank-lanes svg");
  const box = await lanes.boundingBox();
  const waits = lanes.locator(".waiting");
  for (let rank = 0; rank < RANKS; ++rank) {
    const length = (await waits.nth(rank).getAttribute("d"))?.length ?? 0;
    if (rank === LATE_RANK) expect(length).toBe(0);
    else expect(length).toBeGreaterThan(0);
  }
  expect(box).not.toBeNull();
  // The row of the late rank, at the first wait of rank 0.
  const wait = await waits.nth(0).boundingBox();
  const row = await lanes.locator("g").nth(LATE_RANK).locator(".lane").boundingBox();
  await visit.page.mouse.move((wait?.x ?? 0) + 10, (row?.y ?? 0) + 4);
  expect(await visit.page.locator(".rank-said").innerText()).toMatch(
    new RegExp(`^At .*, rank ${LATE_RANK} (computes|is idle)\\.$`),
  );
  await visit.page.getByRole("button", { name: "Next step" }).click();
  await visit.settle();
  expect(visit.page.url()).toContain("step=5");
  expect(await lanes.getAttribute("aria-label")).toBe(`Step 5 of ${RANKS} ranks on one clock`);
  // A click on a cell chooses its step; the keyboard has the list of steps.
  await visit.page.locator(".heat-map").first().locator("g").nth(1).locator("rect").nth(2).click();
  await visit.settle();
  expect(await lanes.getAttribute("aria-label")).toContain("Step 2 of");
  await visit.page.getByRole("combobox", { name: "Step" }).selectOption("0");
  await visit.settle();
  expect(await lanes.getAttribute("aria-label")).toContain("Step 0 of");
  expect(visit.faults).toEqual([]);
  await visit.close();
});

test("a rank leads to its timeline at the step, and the rank stays until another is chosen", async () => {
  const visit = await Visit.open(browser, `${ui.link}#ranks?step=4`);
  await visit.page.locator(".rank-lanes a", { hasText: `rank ${LATE_RANK}` }).click();
  await visit.settle();
  expect(await visit.current()).toBe("Timeline");
  const rank = visit.page.getByRole("combobox", { name: "Rank" });
  expect(await rank.inputValue()).toBe(String(LATE_RANK));
  const requests = visit.requests.filter((url) => url.includes("timeline/tile"));
  expect(requests.every((url) => url.includes(`rank=${LATE_RANK}`))).toBe(true);
  await visit.show("Tables");
  expect(await rank.inputValue()).toBe(String(LATE_RANK));
  expect(await visit.page.locator(".header-trace").innerText()).toContain(`node2_${4711 + LATE_RANK}`);
  await visit.page.goBack();
  await visit.settle();
  expect(await visit.current()).toBe("Timeline");
  expect(await rank.inputValue()).toBe(String(LATE_RANK));
  await rank.selectOption("1");
  await visit.settle();
  expect(await visit.page.locator(".header-trace").innerText()).toContain("node1_4712");
  await visit.page.reload();
  await visit.settle();
  expect(await rank.inputValue()).toBe("1");
  await visit.show("Overview");
  await rank.selectOption("");
  await visit.settle();
  expect(await visit.page.locator(".header-trace").innerText()).toContain("traces");
  // Other views show the slowest rank then.
  await visit.show("What if");
  expect(await rank.inputValue()).toBe(String(reportOf(JOB).summary.rank));
  expect(visit.faults).toEqual([]);
  await visit.close();
});

test("a rank that the job does not have is named, and another can be chosen", async () => {
  const visit = await Visit.open(browser, `${ui.link}#timeline?rank=99`);
  expect(await visit.page.getByRole("alert").innerText()).toContain("rank 99: the job has ranks 0, 1, 2, 3");
  await visit.page.getByRole("combobox", { name: "Rank" }).selectOption("3");
  await visit.settle();
  expect(await visit.page.getByRole("alert").count()).toBe(0);
  expect(await visit.page.locator(".header-trace").innerText()).toContain("node1_4714");
  await visit.close();
});

test("every view opens, wide and narrow, without serious faults", async () => {
  const visit = await Visit.open(browser, ui.link);
  for (const view of await visit.views()) {
    await visit.show(view);
    for (const size of [WIDE, NARROW]) {
      await visit.page.setViewportSize(size);
      await visit.drawn();
      expect(await visit.overflow(), `${view} at ${size.width}`).toBe(0);
      expect(await seriousFaults(visit.page), `${view} at ${size.width}`).toEqual([]);
    }
    await visit.page.setViewportSize(WIDE);
  }
  expect(visit.faults).toEqual([]);
  await visit.close();
});

test("stages of a pipeline", () =>
  withScratch(async (folder) => {
    const job = writeJobOfRanks(folder, true);
    const { pipeline } = reportOf(job).job_ranks;
    const other = await startUi(job);
    const visit = await Visit.open(browser, `${other.link}#ranks`);
    const section = visit.page.locator("section:has(#pipeline)");
    expect(await section.innerText()).toContain(pipeline.sentence);
    const rows = await section.locator("tbody tr").allInnerTexts();
    expect(rows.length).toBe(pipeline.stages.length);
    rows.forEach((text, index) => {
      const stage = pipeline.stages[index];
      for (const value of [stage.computing_ms, stage.bubble_ms, stage.idle_ms]) expect(text).toContain(ms(value));
    });
    await Promise.all([visit.close(), other.stop()]);
  }));

test("as one file, with each rank's report and timeline", () =>
  withScratch(async (folder) => {
    const file = join(folder, "page.html");
    headroom("report", JOB, "--html", file, "--no-local-state", "-q");
    const visit = await Visit.open(browser, `${pathToFileURL(file)}#ranks`, { offline: true });
    expect(await visit.page.locator(".rank-lanes g").count()).toBe(RANKS);
    const rank = visit.page.getByRole("combobox", { name: "Rank" });
    for (const view of await visit.views()) {
      await visit.show(view);
      expect(await visit.page.locator("main").innerText(), view).not.toContain("headroom ui TRACE.");
    }
    await visit.show("Timeline");
    await rank.selectOption("3");
    await visit.settle();
    expect(await visit.page.locator("canvas").count()).toBeGreaterThan(0);
    await visit.show("Tables");
    expect(await visit.page.locator(".header-trace").innerText()).toContain("node1_4714");
    await visit.show("What if");
    expect(await visit.page.locator("main").innerText()).toContain("This page is a file");
    expect(visit.faults).toEqual([]);
    await visit.close();
  }));

test("as one file of another rank than the slowest", () =>
  withScratch(async (folder) => {
    const file = join(folder, "page.html");
    const other = (reportOf(JOB).summary.rank + 1) % RANKS;
    headroom("report", JOB, "--html", file, "--rank", String(other), "--no-local-state", "-q");
    const visit = await Visit.open(browser, `${pathToFileURL(file)}#what-if`, { offline: true });
    const rank = visit.page.getByRole("combobox", { name: "Rank" });
    expect(await rank.inputValue()).toBe(String(other));
    expect(await visit.page.locator("main").innerText()).not.toContain("This page is a file");
    await rank.selectOption(String((other + 1) % RANKS));
    await visit.settle();
    expect(await visit.page.locator("main").innerText()).toContain("This page is a file");
    await rank.selectOption(String(other));
    await visit.settle();
    expect(await visit.page.locator("main").innerText()).not.toContain("This page is a file");
    await visit.close();
  }));
