// The pictures of the page in docs/images/, and how to make each. The result is the same on every machine, except for
// font rendering.
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { jobOfRanks } from "./job_of_ranks";
import { ROOT, startUi, type Ui } from "./program";
import { launch, NARROW, type SCHEMES, Visit, WIDE } from "./visit";

export interface Picture {
  name: string; // docs/images/ui-NAME.png
  address: string; // The part after "#".
  trace: string; // Path in the checkout, which the page's header shows; of a job of ranks, the folder's name.
  size: typeof WIDE;
  colorScheme: (typeof SCHEMES)[number];
}

const BERT = "data/samples/bert_base_amp_fp16_h200.json.gz";
const VIEWS = ["overview", "timeline", "what-if", "tables", "roofline", "memory", "gpus", "scaling"];

const wide = (view: string): Picture => ({ name: view, address: view, trace: BERT, size: WIDE, colorScheme: "light" });

/** Pictures of the sample trace: wide windows, some narrow ones, some dark ones. */
export const PICTURES: Picture[] = [
  { ...wide("ranks"), trace: jobOfRanks() },
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

/** Returns true if the font is installed; otherwise prints a warning. */
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

/**
 * Returns the picture as PNG.
 *
 * @param change  alters the page before the picture is taken
 */
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
    // Moves the pointer away from elements that would react to it.
    await visit.page.mouse.move(0, 0);
    await change?.(visit.page);
    return await visit.page.screenshot({ animations: "disabled", caret: "hide", scale: "css" });
  } finally {
    await visit.close();
  }
}

/** Starts one server for each trace of the pictures. */
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
