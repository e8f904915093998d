// Views of answers that few traces have. Some tests alter an answer on its way from the server.
import { copyFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { headroom, ROOT, reportOf, startUi, startUiIn, type Ui, withScratch } from "./support/program";
import { BERT, LOADER, RESNET } from "./support/traces";
import { launch, Visit } from "./support/visit";

const NO_STEP = join(ROOT, "tests/golden/no-host/trace.json");

let browser: Browser;
let resnet: Ui;
beforeAll(async () => {
  [browser, resnet] = await Promise.all([launch(), startUi(RESNET)]);
});
afterAll(() => Promise.all([browser.close(), resnet.stop()]));

const main = (visit: Visit) => visit.page.locator("main").innerText();

/** Opens the page and alters one of the server's answers. */
// biome-ignore lint/suspicious/noExplicitAny: each test alters another answer, whose fields it names itself
async function openWith(view: string, path: string, alter: (answer: any) => void): Promise<Visit> {
  const visit = await Visit.open(browser, resnet.link);
  await visit.page.route(`**/api/v1/${path}`, async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    alter(answer);
    await route.fulfill({ response, json: answer });
  });
  await visit.page.reload();
  await visit.settle();
  await visit.show(view);
  return visit;
}

test("a recording without steps is not called one in What if", async () => {
  const visit = await openWith("What if", "report", (report) => (report.steps.source = "none"));
  expect(await main(visit)).toContain("Now the whole recording takes");
  await visit.close();

  const noted = await openWith(
    "What if",
    "whatif",
    (answer) => (answer.baseline.steps_note = "two steps were left out"),
  );
  expect(await main(noted)).toContain("Two steps were left out.");
  await noted.close();
});

test("each view gives the same step time", async () => {
  const visit = await Visit.open(browser, resnet.link);
  const shown = /Step\s+([\d.]+ ms)/.exec(await main(visit))?.[1];
  expect(shown).toBeDefined();
  for (const view of ["What if", "GPUs"]) {
    await visit.show(view);
    expect(await main(visit)).toMatch(new RegExp(`${shown}( per step)? without the profiler`));
  }
  await visit.close();
});

test("without steps, Compare holds shares against each other", () =>
  withScratch(async (folder) => {
    const ui = await startUiIn(folder, NO_STEP, RESNET);
    const visit = await Visit.open(browser, `${ui.link}#compare`);
    const card = await visit.page.locator("section:has(#rows)").innerText();
    expect(card).toContain("Shares of the GPU time");
    expect(card).not.toMatch(/\d ms/);
    await Promise.all([visit.close(), ui.stop()]);
  }));

test("Compare shows no answer under another trace's name", () =>
  withScratch(async (folder) => {
    const ui = await startUiIn(folder, RESNET, BERT, LOADER);
    const visit = await Visit.open(browser, `${ui.link}#compare`);
    const pair = visit.page.locator(".compare-pair");
    expect(await pair.innerText()).toContain(BERT);
    let answer = () => {};
    const held = new Promise<void>((done) => (answer = done));
    await visit.page.route(/diff\?trace=/, async (route) => {
      await held;
      await route.continue();
    });
    await visit.page.getByRole("combobox", { name: "Compared with" }).selectOption({ label: LOADER });
    await visit.page.getByText("Comparing …").waitFor();
    expect(await pair.count()).toBe(0);
    answer();
    await pair.waitFor();
    expect(await pair.innerText()).toContain(LOADER);
    await Promise.all([visit.close(), ui.stop()]);
  }));

/** Makes the server answer requests about any generation from its current files: the tests invent a generation. */
const askOfAny = (visit: Visit) =>
  visit.page.route(/\/api\/v1\//, (route) =>
    route.fallback({ headers: { ...route.request().headers(), "if-match": "*" } }),
  );

test("a page of files that were read again asks for the report once", async () => {
  const visit = await Visit.open(browser, resnet.link);
  await visit.page.route("**/api/v1/state", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), generation: 3 } });
  });
  await askOfAny(visit);
  visit.requests.length = 0;
  await visit.page.reload();
  await visit.settle();
  expect(visit.requests.filter((url) => /\/(report|scenarios)$/.test(url))).toHaveLength(2);
  await visit.close();
});

test("the error of a generation goes with the next", async () => {
  const visit = await Visit.open(browser, resnet.link);
  let generation = 5;
  await visit.page.route("**/api/v1/state", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), generation } });
  });
  await visit.page.route("**/api/v1/report", (route) =>
    generation === 5
      ? route.fulfill({ status: 400, json: { schema: "headroom.error/1", error: "not there for now" } })
      : route.continue(),
  );
  await askOfAny(visit);
  await visit.page.reload();
  await visit.page.getByRole("alert").filter({ hasText: "not there for now" }).waitFor();
  generation = 6;
  await visit.page.locator("#verdict").waitFor();
  expect(await visit.page.getByRole("alert").count()).toBe(0);
  await visit.close();
});

test("a view of files that have been written anew since shows nothing of the new", () =>
  withScratch(async (folder) => {
    const trace = join(folder, "trace.json.gz");
    copyFileSync(RESNET, trace);
    const ui = await startUiIn(folder, trace);
    const visit = await Visit.open(browser, ui.link);
    let isHeld = true;
    await visit.page.route("**/api/v1/state", (route) =>
      isHeld
        ? route.fulfill({ json: { schema: "headroom.state/1", generation: 0, problem: null, can_run: false } })
        : route.continue(),
    );
    copyFileSync(BERT, `${trace}.new`);
    renameSync(`${trace}.new`, trace);
    const { request } = visit.page.context(); // Same visitor, but the page's routes do not apply.
    const generation = async () => (await (await request.get(new URL("api/v1/state", ui.link).href)).json()).generation;
    await expect.poll(generation, { timeout: 20_000 }).toBe(1);
    await visit.show("GPUs");
    expect(await main(visit)).toContain("files have changed");
    isHeld = false;
    await visit.page.getByText("files have changed").waitFor({ state: "detached" });
    await visit.settle();
    const later = await Visit.open(browser, `${ui.link}#gpus`);
    expect(await main(visit)).toBe(await main(later));
    await Promise.all([visit.close(), later.close(), ui.stop()]);
  }));

test("a search of 70,000 letters is not a server that is gone", async () => {
  const visit = await Visit.open(browser, `${resnet.link}#timeline?find=${"a".repeat(70_000)}`);
  await visit.page.getByRole("alert").filter({ hasText: "too long" }).waitFor();
  await visit.close();
});

test("a long name that was opened stays open where its row goes", async () => {
  const visit = await Visit.open(browser, `${resnet.link}#tables?of=kernels`);
  const name = visit.page.locator("td .long-name[aria-expanded]").first();
  await name.click();
  const text = await name.innerText();
  await visit.page.getByRole("columnheader", { name: "Calls" }).getByRole("button").click();
  await visit.drawn();
  const open = visit.page.locator("td .long-name[aria-expanded=true]");
  expect(await open.allInnerTexts()).toEqual([text]);
  await visit.close();
});

test("a large table comes in portions", async () => {
  const visit = await openWith("Tables", "report", (report) => {
    report.kernels = Array.from({ length: 6000 }, (_, i) => ({
      ...report.kernels[0],
      name: `kernel ${i}`,
      total_us: 6000 - i,
    }));
  });
  await visit.page.getByRole("link", { name: /^Kernels/ }).click();
  const rows = visit.page.locator(".data-table tbody tr");
  const more = visit.page.getByRole("button", { name: "Show 500 more of 6,000 rows" });
  await more.waitFor();
  expect(await rows.count()).toBe(100);
  await more.click();
  await visit.drawn();
  expect(await rows.count()).toBe(600);
  await visit.close();
});

test("metrics are shown over the recording and its steps, by server and file alike", () =>
  withScratch(async (folder) => {
    const ui = await startUi(LOADER);
    const file = join(folder, "page.html");
    headroom("report", LOADER, "--html", file, "--no-local-state", "-q");
    const numbers = async (visit: Visit, name: string) => {
      const chart = visit.page
        .locator("figure")
        .filter({ has: visit.page.getByRole("img", { name: `${name} over the recording.` }) });
      await chart.getByText("The numbers").click();
      return chart.locator("table").innerText();
    };
    const shown: string[][] = [];
    for (const page of [ui.link, pathToFileURL(file).href]) {
      const visit = await Visit.open(browser, page);
      await visit.show("Data");
      const queue = await numbers(visit, "loader.ready");
      await visit.show("System");
      const group = visit.page.getByRole("region", { name: "Processes of the job" });
      await visit.page.getByRole("combobox", { name: "Processor over time" }).selectOption("tasks_running");
      await group.getByRole("combobox", { name: "over time" }).selectOption("process_rss_bytes");
      await visit.page.waitForURL(/metric=tasks_running.*process_rss_bytes/);
      await visit.page.reload();
      await visit.settle();
      await visit.page.getByRole("img", { name: "tasks_running over the recording." }).waitFor();
      shown.push([queue, await numbers(visit, "process_rss_bytes")]);
      expect(visit.faults).toEqual([]);
      await visit.close();
    }
    expect(shown[1]).toEqual(shown[0]);
    // Values of the report, rounded as in the chart.
    const extremes = (name: string) =>
      reportOf(LOADER).metrics.find((metric: { name: string }) => metric.name === name);
    expect([extremes("loader.ready").min, extremes("loader.ready").max]).toEqual([0, 0]);
    expect(new Set(shown[0]?.[0]?.match(/\t[\d.]+$/gm))).toEqual(new Set(["\t0"]));
    expect(shown[0]?.[1]).toContain(`${(extremes("process_rss_bytes").max / 1e6).toFixed(0)} MB`);
    await ui.stop();
  }));

test("advice on flags names the command that takes them", async () => {
  const error = "not recorded on one GPU that is known: X; name the GPU with --from NAME";
  const visit = await Visit.open(browser, resnet.link);
  await visit.page.route(/\/predict(\?|$)/, (route) =>
    route.fulfill({ status: 400, json: { schema: "headroom.error/1", error } }),
  );
  for (const view of ["GPUs", "Memory"]) {
    await visit.show(view);
    expect(await main(visit)).toContain(`headroom predict ${RESNET} --from NAME`);
  }
  await visit.close();
});

test("a finding about the input leads to Data", async () => {
  const visit = await openWith("Overview", "report", ({ findings, summary }) => {
    findings[0].id = "data-wait";
    summary.actions[0] = { ...summary.actions[0], finding: "data-wait", scenario: null };
  });
  await visit.page.getByRole("link", { name: "View Data" }).click();
  await visit.settle();
  expect(await visit.current()).toBe("Data");
  await visit.close();
});

test.each([
  ["Scaling", "clusters"],
  ["GPUs", "gpus"],
])("%s says why where %s cannot be told", async (view, path) => {
  const visit = await Visit.open(browser, resnet.link);
  await visit.page.route(`**/api/v1/${path}`, (route) =>
    route.fulfill({ status: 400, json: { schema: "headroom.error/1", error: "the list is gone" } }),
  );
  await visit.show(view);
  expect(await main(visit)).toContain("The list is gone");
  expect(await main(visit)).not.toMatch(/Replaying|Forecasting/);
  await visit.close();
});

test("Memory says that it works on what a step needs", async () => {
  const visit = await Visit.open(browser, resnet.link);
  let answer = () => {};
  const held = new Promise<void>((done) => (answer = done));
  await visit.page.route(/\/predict\?/, async (route) => {
    await held;
    await route.continue();
  });
  await visit.page.getByRole("link", { name: "Memory" }).click();
  await visit.page.getByText("Computing it from the shapes").waitFor();
  answer();
  await visit.page.getByText("from the shapes of its operators").waitFor();
  expect(await visit.page.getByText("Computing it from the shapes").count()).toBe(0);
  await visit.close();
});
