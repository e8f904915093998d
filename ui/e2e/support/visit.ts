// A page in Chromium, and all faults that occur in it.
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

export const WIDE = { width: 1280, height: 800 };
export const NARROW = { width: 390, height: 844 };
export const SCHEMES = ["light", "dark"] as const;

/**
 * Starts Debian's Chromium; downloads nothing.
 *
 * @param environment  variables in addition to those of this process
 */
export function launch(environment: Record<string, string> = {}): Promise<Browser> {
  const asRoot = process.getuid?.() === 0; // As root, Chromium has no sandbox.
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    env: { ...process.env, ...environment },
    args: ["--disable-dev-shm-usage", ...(asRoot ? ["--no-sandbox"] : [])],
  });
}

/** One visitor with separate cookies. */
export class Visit {
  /**
   * Faults that a user would find in the console: errors, violations of the content policy, and requests that failed or
   * went to another server.
   */
  readonly faults: string[] = [];
  /** Requested addresses. */
  readonly requests: string[] = [];
  private pending = 0;

  private constructor(
    readonly page: Page,
    private readonly address: string,
  ) {
    page.setDefaultTimeout(30_000);
    page.on("console", (message) => message.type() === "error" && this.blame(message.text()));
    page.on("pageerror", (error) => this.blame(`not caught: ${error.message}`));
    page.on("request", (request) => this.asked(request.url()));
    page.on("requestfinished", () => --this.pending);
    page.on("requestfailed", (request) => this.failed(request.url(), request.failure()?.errorText ?? ""));
  }

  static async open(browser: Browser, address: string, options: BrowserContextOptions = {}): Promise<Visit> {
    const context = await browser.newContext({ viewport: WIDE, reducedMotion: "reduce", ...options });
    const visit = new Visit(await context.newPage(), address);
    await visit.page.goto(address);
    await visit.settle();
    return visit;
  }

  close(): Promise<void> {
    return this.page.context().close();
  }

  /** Waits until the report has arrived, no request is pending, and no view announces a later answer. */
  async settle(): Promise<void> {
    await this.page.waitForFunction(() => {
      const text = document.querySelector("main")?.textContent?.trim() ?? "";
      return text !== "" && !text.startsWith("Reading the report");
    });
    for (let quiet = 0; quiet < 3; ) {
      const waits = this.pending > 0 || (await this.page.locator(".stale").count()) > 0 || (await this.announces());
      quiet = waits ? 0 : quiet + 1;
      await this.page.waitForTimeout(20);
    }
    await this.drawn();
  }

  /** Returns true while a view announces an answer: "Replaying the job …". */
  private async announces(): Promise<boolean> {
    return (await this.page.locator("main p.dim", { hasText: / …$/ }).count()) > 0;
  }

  /** Waits for the next frame. */
  async drawn(): Promise<void> {
    await this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }

  private links() {
    return this.page.getByRole("navigation", { name: "Views" }).getByRole("link");
  }

  /** Returns the names of all views, in the order of their links. */
  views(): Promise<string[]> {
    return this.links().allInnerTexts();
  }

  /** Opens a view by its link. */
  async show(view: string): Promise<void> {
    await this.links()
      .filter({ hasText: exactly(view) })
      .click();
    await this.settle();
  }

  /** Returns the view whose link is the current one. */
  current(): Promise<string> {
    return this.links().and(this.page.locator('[aria-current="page"]')).innerText();
  }

  /** Returns how many pixels the page is wider than the window, once drawings have had time to adapt. */
  async overflow(): Promise<number> {
    const now = () =>
      this.page.evaluate(() =>
        Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth),
      );
    for (let tries = 0; tries < 10 && (await now()) > 0; ++tries) await this.page.waitForTimeout(50);
    return now();
  }

  private asked(url: string): void {
    ++this.pending;
    this.requests.push(url);
    if (!url.startsWith("data:") && new URL(url).origin !== new URL(this.address).origin)
      this.blame(`asks elsewhere: ${url}`);
  }

  private failed(url: string, why: string): void {
    --this.pending;
    // A view cancels a request when a newer one replaces it.
    if (why !== "net::ERR_ABORTED") this.blame(`${url}: ${why}`);
  }

  private blame(fault: string): void {
    // Status 400 means that this trace has no answer to the request, which is an answer that views show.
    if (!/^Failed to load resource: .* status of 400/.test(fault)) this.faults.push(fault);
  }
}

function exactly(text: string): RegExp {
  return new RegExp(`^\\s*${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}\\s*$`);
}
