// `headroom ui --run`: the button records the program again, and the page shows the change.
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seriousFaults } from "./support/axe";
import { broken } from "./support/broken";
import { reportOf, startUiIn, withScratch } from "./support/program";
import { BERT } from "./support/traces";
import { launch, NARROW, SCHEMES, Visit, WIDE } from "./support/visit";

const PYTHON = "/usr/bin/python3"; // Debian's Python, which has PyTorch.
const RUN_MS = 60_000;

/** A training loop. The file `pause` holds the seconds that each step sleeps. */
const LOOP = `
import pathlib, sys, time
import torch

pause = float(pathlib.Path("pause").read_text())
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
print("<img src=x onerror='globalThis.pwned=1'>", flush=True)
for step in range(int(sys.argv[1])):
    optimizer.zero_grad()
    loss = model(torch.rand(4, 8)).sum()
    time.sleep(pause)
    loss.backward()
    optimizer.step()
`;

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

/** Opens a page on the loop, which has been recorded once. */
async function open<T>(steps: number, use: (visit: Visit, folder: string) => Promise<T>): Promise<void> {
  await withScratch(async (folder) => {
    writeFileSync(join(folder, "train.py"), LOOP);
    writeFileSync(join(folder, "pause"), "0.2"); // Much longer than the delays of a busy machine.
    // The first run takes `steps` steps. A test may write a file `steps` with another number for later runs.
    const ui = await startUiIn(folder, "--run", `${PYTHON} train.py $(cat steps 2>/dev/null || echo ${steps})`);
    try {
      const visit = await Visit.open(browser, ui.link);
      await use(visit, folder);
      expect(visit.faults).toEqual([]);
      await visit.close();
    } finally {
      await ui.stop(); // Otherwise a program that does not end would keep running.
    }
  });
}

const again = (visit: Visit) => visit.page.getByRole("banner").getByRole("button", { name: "Record again" });
const status = (visit: Visit) => visit.page.getByRole("status");

/** Returns the step time in the header. */
const stepShown = (visit: Visit) => visit.page.locator(".header-step").innerText();

test("the first word about a run is read out: its place is there before", () =>
  withScratch(async (folder) => {
    const ui = await startUiIn(folder, BERT, "--run", "true");
    const visit = await Visit.open(browser, ui.link);
    expect(await status(visit).allInnerTexts()).toEqual([""]); // A hidden element would not be found.
    expect(await visit.page.getByRole("region", { name: "Recording" }).count()).toBe(0);
    await Promise.all([visit.close(), ui.stop()]);
  }));

const hasTorch = spawnSync(PYTHON, ["-c", "import torch"]).status === 0;
if (!hasTorch)
  process.stderr.write(`!! ${PYTHON} has no torch, the tests of --run are SKIPPED; tools/setup installs it\n`);

describe.skipIf(!hasTorch)("a program that is recorded again", () => {
  test("a press shows the new step, and what changed", () =>
    open(20, async (visit, folder) => {
      const slow = await stepShown(visit);
      expect(await visit.page.locator("main").innerText()).not.toContain("→");
      await visit.show("Tables"); // The button is on every view.
      writeFileSync(join(folder, "pause"), "0.001");
      await again(visit).press("Enter");
      await status(visit).filter({ hasText: "Recording." }).waitFor();
      await status(visit).filter({ hasText: "Recorded into headroom-ui-2.pftrace" }).waitFor({ timeout: RUN_MS });
      await visit.page.getByText("headroom-ui-2.pftrace", { exact: true }).waitFor(); // The path in the header.
      await visit.show("Overview");
      const fast = await stepShown(visit);
      expect(Number.parseFloat(fast)).toBeLessThan(Number.parseFloat(slow) / 2);
      expect(fast).toBe(
        `${reportOf(join(folder, "headroom-ui-2.pftrace")).summary.step_ms.mid.toFixed(2)} ms per step`,
      );
      expect(await visit.page.locator("section[aria-labelledby=step]").innerText()).toContain(
        "since headroom-ui-1.pftrace",
      );

      await visit.page.getByRole("link", { name: "What changed" }).click();
      await visit.settle();
      expect(await visit.current()).toBe("Compare");
      const pair = await visit.page.locator(".compare-pair dd").allInnerTexts();
      expect(pair[0]).toContain("headroom-ui-1.pftrace");
      expect(pair[1]).toContain("headroom-ui-2.pftrace");
      const [before, after] = (await visit.page.locator(".answer").innerText()).split("→").map(Number.parseFloat);
      expect(before).toBeGreaterThan(2 * (after ?? 0));
    }));

  test("while it runs, the page says so, and stops it", () =>
    open(5, async (visit, folder) => {
      writeFileSync(join(folder, "steps"), "100000");
      await again(visit).dblclick(); // The second click starts nothing and stops nothing.
      const lines = visit.page.getByRole("region", { name: "Last lines of the program" });
      await lines.filter({ hasText: "<img src=x" }).waitFor();
      expect(await broken(visit.page)).toEqual([]);
      for (const size of [WIDE, NARROW]) {
        await visit.page.setViewportSize(size);
        expect(await visit.overflow()).toBe(0);
      }
      for (const colorScheme of SCHEMES) {
        await visit.page.emulateMedia({ colorScheme });
        expect(await seriousFaults(visit.page)).toEqual([]);
      }
      await visit.page.waitForTimeout(500); // Leaves time for some steps.
      await visit.page.getByRole("button", { name: "Stop" }).press("Enter");
      await status(visit).filter({ hasText: "It was stopped" }).waitFor({ timeout: RUN_MS });
      await again(visit).waitFor();
    }));

  test("a program that fails keeps what was, and says why", () =>
    open(5, async (visit, folder) => {
      const before = await stepShown(visit);
      writeFileSync(join(folder, "train.py"), "raise ValueError('no data today')");
      await again(visit).click();
      await status(visit).filter({ hasText: "exit code 1" }).waitFor({ timeout: RUN_MS });
      expect(await status(visit).innerText()).toContain("The page is unchanged");
      expect(await visit.page.locator(".run-lines").innerText()).toContain("ValueError: no data today");
      expect(await stepShown(visit)).toBe(before);
      expect(existsSync(join(folder, "headroom-ui-2.pftrace"))).toBe(false);
      expect(await seriousFaults(visit.page)).toEqual([]);
    }));
});

test("without --run there is no button", () =>
  withScratch(async (folder) => {
    const ui = await startUiIn(folder, join(__dirname, "../../tests/golden/recording/trace.pftrace"));
    const visit = await Visit.open(browser, ui.link);
    expect(await again(visit).count()).toBe(0);
    expect(visit.requests.filter((url) => url.endsWith("/run"))).toEqual([]);
    expect(visit.faults).toEqual([]);
    await visit.close();
    await ui.stop();
  }));
