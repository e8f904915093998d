// The pictures in docs/images/ match the page.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { differenceOf, excessOf } from "./support/difference";
import { fileOf, isFontThere, launchForPictures, PICTURES, type Picture, startAll, take } from "./support/pictures";

/** Folder for the new versions of pictures that differ. */
const DIFFERENCES = join(__dirname, "differences");

let browser: Browser;
let pages: Awaited<ReturnType<typeof startAll>>;
let hasFont = false;
beforeAll(async () => {
  rmSync(DIFFERENCES, { recursive: true, force: true });
  [browser, pages] = await Promise.all([launchForPictures(), startAll(PICTURES)]);
  hasFont = await isFontThere(browser);
});
afterAll(() => Promise.all([browser.close(), pages.stop()]));

/** Writes the new picture and the marked difference. Returns their paths as text. */
function show(picture: Picture, now: Buffer, drawn: Buffer | null): string {
  mkdirSync(DIFFERENCES, { recursive: true });
  const file = join(DIFFERENCES, `${picture.name}.png`);
  writeFileSync(file, now);
  if (drawn === null) return file;
  const marked = join(DIFFERENCES, `${picture.name}-difference.png`);
  writeFileSync(marked, drawn);
  return `${file} and ${marked}`;
}

test.for(PICTURES)("the picture $name", async (picture, { skip }) => {
  skip(!hasFont);
  const renew = `cd ui && npm run screenshots -- ${picture.name}`;
  if (!existsSync(fileOf(picture))) expect.fail(`none is kept: ${renew}`);
  const now = await take(browser, pages.of(picture), picture);
  const difference = differenceOf(readFileSync(fileOf(picture)), now);
  const excess = excessOf(difference);
  if (excess.length === 0) return;
  expect.fail(
    `the page is not as it is kept: ${excess.join("; ")}. See ${show(picture, now, difference.drawn)}. If the page is right: ${renew}`,
  );
});

/** Adds styles in a way that the page's content policy does not block. */
const styled = (text: string) => (page: Page) =>
  page.evaluate((rules) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(rules);
    document.adoptedStyleSheets = [sheet];
  }, text);

/** Removes the first matching element. */
const removed = (selector: string) => (page: Page) =>
  page
    .locator(selector)
    .first()
    .evaluate((element) => element.remove());

/** Replaces a text. */
const rewritten = (from: string, to: string) => (page: Page) =>
  page.evaluate(
    ([before, after]) => {
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
        if (text.nodeValue !== before) continue;
        text.nodeValue = after;
        return;
      }
      throw new Error(`no text is ${before}`);
    },
    [from, to] as const,
  );

const FAULTS: [string, (page: Page) => Promise<void>][] = [
  ["a card that is missing", removed("main > section:not(.run-panel-silent)")],
  ["bars of another colour", styled(":root { --series-1: #c02020 !important; }")],
  ["pale bars of another shade", styled(".step-bar .idle { opacity: 0.1 !important; }")],
  ["a layout that is one pixel lower", styled("main { padding-top: 17px; }")],
  ["a number that is longer", rewritten("33.83 ms", "1234567.89 ms")],
  ["a number that is another", rewritten("33.83 ms", "81.97 ms")],
];

test.for(FAULTS)("%s would be seen", async ([, fault], { skip }) => {
  skip(!hasFont);
  const picture = PICTURES.find((one) => one.name === "overview") as Picture;
  const faulty = await take(browser, pages.of(picture), picture, fault);
  expect(excessOf(differenceOf(readFileSync(fileOf(picture)), faulty))).not.toEqual([]);
});
