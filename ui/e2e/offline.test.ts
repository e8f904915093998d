// `headroom report --html`: the page as one file, which makes no requests.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { broken } from "./support/broken";
import { writeHostileTrace } from "./support/hostile_trace";
import { headroom, reportOf, startUi, withScratch } from "./support/program";
import { LOADER, RESNET, WITHOUT_STEPS } from "./support/traces";
import { launch, Visit } from "./support/visit";

const MOST_BYTES = 3_000_000;

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

/** Writes the page of a trace, and opens it from disk in a browser without a network. */
async function openFile(trace: string, folder: string, hash = ""): Promise<Visit> {
  const file = join(folder, "page.html");
  headroom("report", trace, "--html", file, "--no-local-state", "-q");
  return Visit.open(browser, `${pathToFileURL(file)}${hash}`, { offline: true });
}

test("every view opens from disk, and asks nobody", () =>
  withScratch(async (folder) => {
    const visit = await openFile(RESNET, folder);
    for (const view of await visit.views()) {
      await visit.show(view);
      expect(await visit.current()).toBe(view);
      expect((await visit.page.locator("main").innerText()).trim()).not.toBe("");
      expect(await visit.overflow()).toBe(0);
    }
    expect(visit.faults).toEqual([]);
    expect(new Set(visit.requests.map((url) => url.replace(/#.*/, "").replace(/^data:.*/, "data:")))).toEqual(
      new Set([`${pathToFileURL(join(folder, "page.html"))}`]),
    );
    await visit.close();
  }));

test.each([RESNET, WITHOUT_STEPS, LOADER])("it holds what the views ask first: %s", (trace) =>
  withScratch(async (folder) => {
    const ui = await startUi(trace);
    const served = await Visit.open(browser, ui.link);
    const file = await openFile(trace, folder);
    const kept = await file.page.evaluate(() =>
      Object.keys(JSON.parse(document.getElementById("answers")?.textContent ?? "{}")),
    );
    for (const view of await served.views()) await served.show(view);
    const asked = served.requests
      .flatMap((url) => url.split("/api/v1/").slice(1))
      // A file holds no events, and its answers never change.
      .filter((path) => !/^(timeline\/|query\?|whatif\/progress|state$)/.test(path));
    const tiles = kept.filter((path) => path.startsWith("timeline/tile?"));
    expect(tiles.length).toBeGreaterThan(0);
    // Changes alone and all GPUs are asked for later.
    const later = kept.filter((path) => path.startsWith("whatif?scenario=") || path === "predict?total-steps=1000");
    expect([...new Set(asked)].sort()).toEqual(
      kept.filter((path) => !tiles.includes(path) && !later.includes(path)).sort(),
    );
    await Promise.all([served.close(), file.close(), ui.stop()]);
  }),
);

const linksToSearch = (visit: Visit) => visit.page.locator('main a[href*="find="]');

test("it shows what the server shows", () =>
  withScratch(async (folder) => {
    const ui = await startUi(RESNET);
    const served = await Visit.open(browser, ui.link);
    const file = await openFile(RESNET, folder);
    // A file holds no events.
    for (const view of (await file.views()).filter((view) => view !== "Timeline" && view !== "SQL")) {
      await served.show(view);
      await file.show(view);
      // A file cannot search.
      expect(await linksToSearch(file).count(), view).toBe(0);
      await linksToSearch(served).evaluateAll((links) => {
        for (const link of links) (link as HTMLElement).style.display = "none";
      });
      await served.page.locator(".row-links, .data-table thead td").evaluateAll((cells) => {
        for (const cell of cells) cell.remove();
      });
      const texts = await Promise.all([served, file].map((visit) => visit.page.locator("main").innerText()));
      expect(texts[1], view).toBe(texts[0]);
    }
    await Promise.all([served.close(), file.close(), ui.stop()]);
  }));

test("each change alone answers, a combination says that it needs headroom ui", () =>
  withScratch(async (folder) => {
    const visit = await openFile(RESNET, folder, "#what-if");
    const boxes = visit.page.locator(".changes > li:visible input[type=checkbox]");
    const count = await boxes.count();
    expect(count).toBeGreaterThan(10);
    for (let index = 0; index < count; ++index) {
      await boxes.nth(index).check();
      await visit.settle();
      expect(await visit.page.locator("main").innerText(), `change ${index}`).not.toContain("headroom ui TRACE");
      await boxes.nth(index).uncheck();
    }
    await visit.page.getByRole("checkbox", { name: "TF32" }).check();
    await visit.settle();
    expect(await visit.page.locator("main").innerText()).not.toContain("headroom ui TRACE");
    await visit.page.getByRole("checkbox", { name: "Mixed precision" }).check();
    await visit.settle();
    expect(await visit.page.locator("main").innerText()).toContain("headroom ui TRACE");
    expect(visit.faults).toEqual([]);
    await visit.close();
  }));

test("another setting of a loader says that it needs headroom ui, and the first answer stays", () =>
  withScratch(async (folder) => {
    const visit = await openFile(LOADER, folder, "#data");
    await visit.page.getByRole("spinbutton", { name: "Workers" }).fill("3");
    await visit.settle();
    const text = await visit.page.locator("main").innerText();
    expect(text).toContain("headroom ui TRACE");
    expect(text).toContain("workers=2,prefetch=2");
    expect(visit.faults).toEqual([]);
    await visit.close();
  }));

test("its size is the page and the answers", () =>
  withScratch(async (folder) => {
    const visit = await openFile(RESNET, folder);
    await visit.close();
    expect(statSync(join(folder, "page.html")).size - JSON.stringify(reportOf(RESNET)).length).toBeLessThan(MOST_BYTES);
  }));

test("hostile names stay text", () =>
  withScratch(async (folder) => {
    const visit = await openFile(writeHostileTrace(folder), folder);
    for (const view of await visit.views()) {
      await visit.show(view);
      expect(await broken(visit.page), view).toEqual([]);
    }
    expect(await visit.page.locator("header").innerText()).toContain("<img src=x");
    expect(visit.faults).toEqual([]);
    await visit.close();
  }));

test("nothing runs that was not there when it was written", () =>
  withScratch(async (folder) => {
    const visit = await openFile(RESNET, folder);
    expect(readFileSync(join(folder, "page.html"), "utf8")).not.toContain("unsafe");
    await visit.page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "globalThis.pwned = 1";
      document.body.append(script);
    });
    expect(await visit.page.evaluate(() => "pwned" in globalThis)).toBe(false);
    expect(visit.faults.join()).toContain("Content Security Policy");
    await visit.close();
  }));
