// The pictures of the page that docs/images/ keeps, and how each is made: the same wherever it is made, as far as fonts
// are.
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { ROOT, startUi, type Ui } from "./program";
import { launch, NARROW, type SCHEMES, Visit, WIDE } from "./visit";

export interface Picture {
  name: string; // docs/images/ui-NAME.png
  address: string; // Behind the "#".
  trace: string; // In the checkout, as the page's header shows it.
  size: typeof WIDE;
  colorScheme: (typeof SCHEMES)[number];
}

const BERT = "data/samples/bert_base_amp_fp16_h200.json.gz";
const VIEWS = ["overview", "timeline", "what-if", "tables", "roofline", "memory", "gpus", "scaling"];

const wide = (view: string): Picture => ({ name: view, address: view, trace: BERT, size: WIDE, colorScheme: "light" });

/** Of the sample trace: views in a wide window, some in a narrow one, some in the dark. */
export const PICTURES: Picture[] = [
  ...VIEWS.map(wide),
  ...["overview", "timeline", "tables", "roofline"].map((view) => ({
    ...wide(view),
    name: `${view}-narrow`,
    size: NARROW,
  })),
  ...["overview", "timeline", "roofline"].map(
    (view): Picture => ({ ...wide(view), name: `${view}-dark`, colorScheme: "dark" }),
  ),
];

export const fileOf = (picture: Picture): string => join(ROOT, "docs/images", `ui-${picture.name}.png`);

/** A browser with one font. */
export const launchForPictures = (): Promise<Browser> => launch({ FONTCONFIG_FILE: join(__dirname, "fonts.conf") });

/** Whether the font is there; says so where it is not. */
export async function isFontThere(browser: Browser): Promise<boolean> {
  const page = await browser.newPage();
  const isThere = await page.evaluate(() => {
    const context = document.createElement("canvas").getContext("2d");
    const widthIn = (font: string) => {
      if (context === null) return 0;
      context.font = `20px ${font}`;
      return context.measureText("million").width;
    };
    return (
      widthIn('"DejaVu Sans", monospace') !== widthIn("monospace") && widthIn("system-ui") === widthIn('"DejaVu Sans"')
    );
  });
  await page.close();
  if (!isThere)
    process.stderr.write(
      "!! THE FONT OF THE PICTURES IS MISSING, their tests are SKIPPED: install fonts-dejavu-core\n",
    );
  return isThere;
}

/** As PNG.
 *
 * @param change  what is done to the page before */
export async function take(
  browser: Browser,
  ui: Ui,
  picture: Picture,
  change?: (page: Page) => Promise<void>,
): Promise<Buffer> {
  const visit = await Visit.open(browser, `${ui.link}#${picture.address}`, {
    viewport: picture.size,
    colorScheme: picture.colorScheme,
    deviceScaleFactor: 1,
    locale: "en-US",
    timezoneId: "UTC",
  });
  try {
    // Neither a pointer nor a focus that was there by chance.
    await visit.page.mouse.move(0, 0);
    await change?.(visit.page);
    return await visit.page.screenshot({ animations: "disabled", caret: "hide", scale: "css" });
  } finally {
    await visit.close();
  }
}

/** One running page for each trace that pictures are of. */
export async function startAll(
  pictures: Picture[],
): Promise<{ of: (picture: Picture) => Ui; stop: () => Promise<void> }> {
  const traces = [...new Set(pictures.map((picture) => picture.trace))];
  const pages = new Map(
    await Promise.all(traces.map(async (trace): Promise<[string, Ui]> => [trace, await startUi(trace)])),
  );
  return {
    of: (picture) => pages.get(picture.trace) as Ui,
    stop: async () => void (await Promise.all([...pages.values()].map((ui) => ui.stop()))),
  };
}
