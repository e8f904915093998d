// Writes docs/images/ui-VIEW.png, of a sample trace: npm run screenshots [VIEW...]; without any, of the first view.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT, startUi } from "./support/program";
import { launch, Visit } from "./support/visit";

const TRACE = "data/samples/bert_base_amp_fp16_h200.json.gz";
const FOLDER = join(ROOT, "docs/images");

async function main(views: string[]): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  const [browser, ui] = await Promise.all([launch(), startUi(TRACE)]);
  for (const view of views) {
    const visit = await Visit.open(browser, `${ui.link}#${view}`, { colorScheme: "light" });
    await visit.page.screenshot({ path: join(FOLDER, `ui-${view}.png`) });
    await visit.close();
  }
  await Promise.all([browser.close(), ui.stop()]);
}

const views = process.argv.slice(2);
await main(views.length > 0 ? views : ["overview"]);
