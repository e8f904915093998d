#!/usr/bin/env node
// Measures the web page in Chromium with a real server, and checks its contents.
//
//   node bench/page/run.mjs [--smoke]
//
// Requires build/release (headroom, bench/replicate_trace), ui/node_modules (npm ci) and Chromium
// (CHROMIUM, else /usr/bin/chromium). Traces: $HEADROOM_DATA, else data/samples. Prints a table;
// exit code 1 if the page shows something wrong, 2 if something needed is missing. A missed target
// does not change it.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const BUILD = path.join(ROOT, "build/release");
const CACHE = path.join(ROOT, "build/bench");
const HEADROOM = path.join(BUILD, "headroom");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const SMOKE = process.argv.includes("--smoke");
const ROUNDS = SMOKE ? 1 : 5;

function needs(file, remedy) {
  if (existsSync(file)) return file;
  console.error(`bench/page/run.mjs: ${file} is missing: ${remedy}`);
  process.exit(2);
}
needs(HEADROOM, "cmake --build --preset release");
needs(path.join(ROOT, "ui/node_modules/playwright-core"), "cd ui && npm ci");
needs(CHROMIUM, "install Chromium, or name it in CHROMIUM");
const { chromium } = createRequire(path.join(ROOT, "ui/"))("playwright-core");

const given = path.join(process.env.HEADROOM_DATA ?? path.join(ROOT, "../shared"), "h200/traces/gpt2_fp32_layers.json.gz");
const small = existsSync(given) ? given : path.join(ROOT, "data/samples/resnet50_fp32_h200.json.gz");

/** Returns the trace, repeated up to a size in MB of JSON. */
function large(megabytes) {
  mkdirSync(CACHE, { recursive: true });
  const file = path.join(CACHE, `page-${path.basename(small, ".json.gz")}-${megabytes}.json`);
  if (!existsSync(file)) {
    execFileSync(needs(path.join(BUILD, "bench/replicate_trace"), "cmake --build --preset release"), [small, "-o", file, "--size-mb", `${megabytes}`]);
  }
  return file;
}

const rows = [];
let wrong = 0;
function figure(name, value, unit, target) {
  rows.push({ name, value, unit, target });
  console.log(`${name.padEnd(64)} ${value.toFixed(1).padStart(8)} ${unit.padEnd(3)} (target ${target})`);
}
function check(what, holds) {
  if (holds) return;
  wrong += 1;
  console.error(`WRONG: ${what}`);
}
function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

async function serve(trace) {
  const server = spawn(HEADROOM, ["ui", trace, "--quiet", "--no-local-state"]);
  const link = await new Promise((resolve, reject) => {
    server.stdout.once("data", (data) => resolve(data.toString().trim()));
    server.once("exit", (code) => reject(new Error(`headroom ui ended with ${code}`)));
  });
  return { link, pid: server.pid, stop: () => new Promise((resolve) => server.once("exit", resolve) && server.kill()) };
}

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });

async function measureFirstView(trace) {
  const times = [];
  for (let round = 0; round < ROUNDS; ++round) {
    const page = await browser.newPage();
    const begin = performance.now();
    const server = await serve(trace);
    await page.goto(server.link);
    await page.waitForSelector("#verdict");
    times.push(performance.now() - begin);
    await page.close();
    await server.stop();
  }
  return quantile(times, 0.5);
}

/** Returns main-thread work in ms per frame while `act` moves the page. */
async function frameWork(page, act) {
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"] });
  await act();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const frames = traceEvents.filter((event) => event.name === "FireAnimationFrame");
  if (frames.length === 0) return [];
  const { pid, tid } = frames[0];
  const tasks = traceEvents
    .filter((event) => event.pid === pid && event.tid === tid && event.name === "RunTask" && event.dur !== undefined)
    .sort((a, b) => a.ts - b.ts);
  const work = [];
  for (let i = 0; i + 1 < frames.length; ++i) {
    const inside = tasks.filter((task) => task.ts + task.dur > frames[i].ts && task.ts < frames[i + 1].ts);
    work.push(inside.reduce((sum, task) => sum + task.dur, 0) / 1000);
  }
  return work;
}

async function rendererMegabytes() {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const sizes = processInfo
    .filter((one) => one.type === "renderer")
    .map((one) => Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${one.id}/smaps_rollup`, "utf8"))?.[1] ?? 0) / 1000);
  return Math.max(...sizes);
}

/** Measures the time from a click on a view to its first figures, and the server's memory. */
async function measureViews(trace) {
  const server = await serve(trace);
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(server.link);
  await page.waitForSelector("#verdict");
  const views = [
    ["What if", ".changes .alone"],
    ["Scaling", "main .chart"],
    ["Memory", "main .card .chart, main .card table, main .card dl"],
    ["GPUs", ".gpu-table"],
  ];
  for (const [view, shown] of views) {
    const begin = performance.now();
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: view, exact: true }).click();
    await page.waitForSelector(shown);
    figure(`first figures of ${view}, ${Math.round(statSync(trace).size / 1e6)} MB`, (performance.now() - begin) / 1000, "s", "2");
  }
  figure("memory of the server there", Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))[1]) / 1000, "MB", "600");
  await page.close();
  await server.stop();
}

async function measureTimeline(trace) {
  const server = await serve(trace);
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${server.link}#timeline`);
  await page.waitForSelector(".pane-canvas");
  await page.waitForTimeout(1000);
  const box = await (await page.$(".pane-canvas")).boundingBox();
  const middle = [box.x + box.width / 2, box.y + box.height / 2];
  const drag = async () => {
    await page.mouse.move(...middle);
    await page.mouse.down();
    for (let i = 0; i < 60; ++i) await page.mouse.move(middle[0] + 300 * Math.sin(i / 6), middle[1]);
    await page.mouse.up();
  };
  const zoom = async (by) => {
    await page.keyboard.down("Control");
    for (let i = 0; i < 40; ++i) await page.mouse.wheel(0, by);
    await page.keyboard.up("Control");
  };
  const work = await frameWork(page, async () => {
    await drag();
    await zoom(-120);
    await drag();
    await zoom(120);
    await drag();
  });
  check("frames were drawn while the timeline moved", work.length > 20);
  figure("timeline, main-thread work a frame, median", quantile(work, 0.5), "ms", "12");
  figure("timeline, main-thread work a frame, 95th of 100", quantile(work, 0.95), "ms", "30");
  figure("timeline, memory of the page's process", await rendererMegabytes(), "MB", "300");
  await page.close();
  await server.stop();
}

async function measureWhatIf(trace) {
  const server = await serve(trace);
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${server.link}#what-if`);
  await page.waitForSelector(".changes input[type=checkbox]");
  await page.waitForTimeout(1000);
  const times = [];
  for (const factor of SMOKE ? ["1.5"] : ["1.5", "2", "1.2", "3", "1.1", "4", "1.3"]) {
    times.push(
      await page.evaluate(async (scenario) => {
        const before = document.querySelector(".answer")?.textContent ?? "";
        const begin = performance.now();
        location.hash = `#what-if?scenario=${encodeURIComponent(scenario)}`;
        while ((document.querySelector(".answer")?.textContent ?? "") === before) await new Promise(requestAnimationFrame);
        return performance.now() - begin;
      }, `gpu-speed:factor=${factor}`),
    );
  }
  const told = JSON.parse(execFileSync(HEADROOM, ["whatif", trace, "gpu-speed:factor=1.3", "--json", "--no-local-state"]).toString());
  const shown = await page.textContent(".answer");
  if (!SMOKE) check(`the page says ${shown}, the command ${told.scenarios[0].step_ms.mid}`, shown.includes(told.scenarios[0].step_ms.mid.toFixed(2)));
  figure("what-if, from a new value to the new number, median", quantile(times, 0.5), "ms", "100");
  const timeline = [];
  await page.goto(`${server.link}#timeline?scenario=gpu-speed:factor%3D1.1`);
  await page.waitForSelector(".pane-half h2");
  for (const factor of SMOKE ? ["2"] : ["2", "1.2", "3", "1.3", "4"]) {
    timeline.push(
      await page.evaluate(async (scenario) => {
        const begin = performance.now();
        location.hash = `#timeline?scenario=${encodeURIComponent(scenario)}`;
        const shown = () => document.querySelector("main .pane-half + .pane-half h2")?.textContent ?? "";
        while (!shown().includes(`(${scenario.split(":")[1]})`)) await new Promise(requestAnimationFrame);
        return performance.now() - begin;
      }, `gpu-speed:factor=${factor}`),
    );
  }
  figure("what-if, from a new value to the new timeline, median", quantile(timeline, 0.5), "ms", "200");
  await page.close();
  await server.stop();
}

const dist = path.join(ROOT, "ui/dist");
const bundle = ["index.html", "app.js", "app.css"].reduce((sum, name) => sum + gzipSync(readFileSync(path.join(dist, name))).length, 0);
figure("the page's files, compressed", bundle / 1000, "kB", "400");
try {
  await measureWhatIf(small);
  const traces = SMOKE ? [[5, 1]] : [[50, 1], [1000, 4]];
  for (const [megabytes, target] of traces) {
    const trace = large(megabytes);
    figure(`first view, from the program's start, ${Math.round(statSync(trace).size / 1e6)} MB`, (await measureFirstView(trace)) / 1000, "s", `${target}`);
  }
  await measureViews(large(SMOKE ? 5 : 1000));
  await measureTimeline(large(SMOKE ? 5 : 400));
} finally {
  await browser.close();
}
process.exit(wrong === 0 ? 0 : 1);
