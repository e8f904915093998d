// Rewrites the pictures in docs/images/: npm run screenshots [NAME...]; without a name, all (e2e/support/pictures.ts).
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileOf, isFontThere, launchForPictures, PICTURES, startAll, take } from "./support/pictures";

async function main(names: string[]): Promise<void> {
  const unknown = names.find((name) => !PICTURES.some((picture) => picture.name === name));
  if (unknown !== undefined)
    throw new Error(`no picture "${unknown}"; there are: ${PICTURES.map((picture) => picture.name).join(", ")}`);
  const meant = PICTURES.filter((picture) => names.length === 0 || names.includes(picture.name));
  const browser = await launchForPictures();
  if (!(await isFontThere(browser))) process.exit(1);
  const pages = await startAll(meant);
  for (const picture of meant) {
    mkdirSync(dirname(fileOf(picture)), { recursive: true });
    writeFileSync(fileOf(picture), await take(browser, pages.of(picture), picture));
  }
  await Promise.all([browser.close(), pages.stop()]);
}

await main(process.argv.slice(2));
