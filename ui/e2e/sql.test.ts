// SQL on the events of the trace.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { formatNs } from "../src/format";
import { EXAMPLES } from "../src/model/sql";
import { seriousFaults } from "./support/axe";
import { headroom, startUi, type Ui } from "./support/program";
import { BERT } from "./support/traces";
import { launch, Visit } from "./support/visit";

let browser: Browser;
let ui: Ui;
beforeAll(async () => {
  [browser, ui] = await Promise.all([launch(), startUi(BERT)]);
});
afterAll(() => Promise.all([browser.close(), ui.stop()]));

const open = (sql: string, more = "") => Visit.open(browser, `${ui.link}#sql?sql=${encodeURIComponent(sql)}${more}`);
const cells = async (visit: Visit) =>
  (await visit.page.locator('[aria-label="Table: Result"] tbody tr').allInnerTexts()).map((row) => row.split("\t"));

test.each(EXAMPLES)("$title: the rows are those of headroom query", async ({ title, sql }) => {
  const { columns, rows } = JSON.parse(headroom("query", BERT, sql, "--json", "-q"));
  expect(rows.length).toBeGreaterThan(0);
  const visit = await Visit.open(browser, `${ui.link}#sql`);
  await visit.page.getByRole("combobox", { name: "Example" }).selectOption({ label: title });
  await visit.settle();
  const shown = await cells(visit);
  expect(shown.length).toBe(rows.length);
  rows.forEach((row: (string | number | null)[], index: number) => {
    const known = row.filter((value) => value !== null);
    known.forEach((value) => {
      const text = typeof value === "number" ? Number(value.toPrecision(6)) : value;
      expect(
        shown[index]?.map((cell) => (typeof text === "number" ? Number(cell.replaceAll(",", "")) : cell)),
      ).toContain(typeof value === "number" && Number.isInteger(value) ? value : text);
    });
  });
  expect(columns.length).toBeGreaterThan(0);
  expect(visit.faults).toEqual([]);
  await visit.close();
});

test("a result can be drawn: bars by name, lines over steps", async () => {
  const bars = await open("select phase, count(*) as n from kernels group by phase order by n desc", "&as=chart");
  expect(await bars.page.locator(".sql-bars tbody tr").count()).toBe(3);
  expect(await seriousFaults(bars.page)).toEqual([]);
  await bars.page.getByRole("button", { name: "Table" }).click();
  await bars.settle();
  expect((await cells(bars))[0]?.[0]).toBe("optimizer");
  await bars.close();
  const lines = await open("select number, wall_ns from step_times order by number", "&as=chart");
  expect(await lines.page.locator(".chart").count()).toBe(1);
  await lines.close();
});

test("wrong SQL says what is wrong, and the address keeps the statement", async () => {
  const visit = await open("select nme from kernels");
  expect(await visit.page.getByRole("alert").innerText()).toContain("did you mean name");
  await visit.page.getByRole("textbox", { name: "Statement" }).fill("select 6 * 7 as answer");
  await visit.page.keyboard.press("Control+Enter");
  await visit.settle();
  expect(await cells(visit)).toEqual([["42"]]);
  expect(visit.page.url()).toContain(encodeURIComponent("select").slice(0, 6));
  await visit.page.goBack();
  await visit.settle();
  expect(await visit.page.getByRole("alert").count()).toBe(1);
  for (const sql of ["delete from steps", "attach 'x' as y", "select 1; select 2"]) {
    await visit.page.getByRole("textbox", { name: "Statement" }).fill(sql);
    await visit.page.getByRole("button", { name: "Run" }).click();
    await visit.settle();
    expect(await visit.page.getByRole("alert").count()).toBe(1);
  }
  await visit.close();
});

test("a statement that takes long is cancelled, and Back shows the statement of its result", async () => {
  const visit = await open("select 1 as one");
  const box = visit.page.getByRole("textbox", { name: "Statement" });
  await box.fill("select count(*) from host_events a, host_events b, host_events c");
  await visit.page.getByRole("button", { name: "Run" }).click();
  await visit.page.getByRole("button", { name: "Cancel" }).click();
  expect(await visit.page.getByRole("alert").innerText()).toBe("The statement was cancelled.");
  await box.fill("select 2 as two");
  const begin = Date.now();
  await visit.page.getByRole("button", { name: "Run" }).click();
  await expect.poll(() => cells(visit)).toEqual([["2"]]);
  expect(Date.now() - begin).toBeLessThan(10_000); // The long statement would take 20 s.
  await visit.page.goBack();
  await visit.page.goBack();
  await visit.settle();
  expect(await box.inputValue()).toBe("select 1 as one");
  expect(await cells(visit)).toEqual([["1"]]);
  await visit.close();
});

test("a table is shown by its name", async () => {
  const visit = await Visit.open(browser, `${ui.link}#sql`);
  await visit.page.getByRole("combobox", { name: "Table" }).selectOption("streams");
  await visit.settle();
  expect((await cells(visit)).length).toBe(1);
  expect(await seriousFaults(visit.page)).toEqual([]);
  expect(visit.faults).toEqual([]);
  await visit.close();
});

test("a kernel leads to its calls, and a call to its place in the timeline", async () => {
  const visit = await Visit.open(browser, `${ui.link}#tables?of=kernels`);
  await visit.page.getByRole("link", { name: "Its calls, with operator, layer and line" }).first().click();
  await visit.settle();
  expect(await visit.current()).toBe("SQL");
  const first = (await cells(visit))[0] ?? [];
  await visit.page.getByRole("link", { name: "Its place in the timeline" }).first().click();
  await visit.settle();
  expect(await visit.current()).toBe("Timeline");
  const panel = visit.page.locator(".timeline-panel");
  await panel.getByText("launched by").waitFor();
  await visit.page.waitForURL(/t=\d+-/);
  const [from, to] = (/t=(\d+)-(\d+)/.exec(visit.page.url()) ?? []).slice(1).map(Number) as [number, number];
  const [call] = JSON.parse(
    headroom(
      "query",
      BERT,
      "select duration_ns from kernels where name = (select name from kernels group by name order by sum(duration_ns) desc limit 1) order by duration_ns desc limit 1",
      "--json",
      "-q",
    ),
  ).rows;
  expect(to - from).toBeGreaterThan(call[0]);
  expect(to - from).toBeLessThan(call[0] + 101_000);
  expect(await panel.locator("p strong").innerText()).toBe(formatNs(call[0]));
  expect(first.length).toBeGreaterThan(3);
  // Leaving the call leaves its place in the address, and keeps what changed meanwhile.
  expect(visit.page.url()).toContain("at=");
  await visit.page.locator(".track-list summary").click();
  await visit.page.getByRole("searchbox", { name: "Filter tracks" }).fill("thread");
  await visit.page.locator(".track-list").getByRole("button", { name: "Hide" }).click();
  await visit.page.locator(".track-list summary").click();
  await visit.page.locator(".track-list summary").blur();
  await visit.page.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  expect(visit.page.url()).not.toContain("at=");
  expect(visit.page.url()).toContain("hide=");
  expect(visit.faults).toEqual([]);
  await visit.close();
});
