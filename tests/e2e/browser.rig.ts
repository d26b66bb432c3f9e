import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const root = join(import.meta.dirname, "../..");
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Builds the console if its sources have changed, as `npm start` does. */
export function buildConsole(): void {
  execFileSync(process.execPath, [join(root, "scripts/build-console.ts"), "--if-changed"], { stdio: "inherit" });
}

export async function startBrowser(): Promise<Browser> {
  const executablePath = process.env["HEDDLE_TEST_CHROMIUM"] ?? "/usr/bin/chromium";
  return await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

export interface Preferences {
  readonly language?: "en" | "zh";
  readonly theme?: "light" | "dark";
  readonly width?: number;
}

/** A page of the console that remembers everything that went wrong in it. */
export class ConsolePage {
  readonly page: Page;
  readonly problems: string[] = [];
  readonly #context: BrowserContext;
  readonly #url: string;

  private constructor(page: Page, context: BrowserContext, url: string) {
    this.page = page;
    this.#context = context;
    this.#url = url;
    page.setDefaultTimeout(20_000);
    page.on("console", (message) => {
      if (message.type() === "error") this.problems.push(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => this.problems.push(`error: ${error.message}`));
    page.on("response", (answer) => {
      if (answer.status() >= 400) this.problems.push(`${answer.status()} ${answer.url()}`);
    });
    page.on("request", (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol !== "data:" && host !== new URL(url).host) this.problems.push(`another host: ${request.url()}`);
    });
  }

  static async open(browser: Browser, url: string, preferences: Preferences = {}): Promise<ConsolePage> {
    const { language = "en", theme = "light", width = 1280 } = preferences;
    const context = await browser.newContext({ viewport: { width, height: 800 }, reducedMotion: "reduce" });
    const stored = JSON.stringify({ language, theme, zone: "utc", palette: "standard" });
    await context.addInitScript((text) => localStorage.setItem("heddle-preferences", text), stored);
    return new ConsolePage(await context.newPage(), context, url);
  }

  async go(path: string): Promise<void> {
    await this.page.goto(`${this.#url}${path}`);
  }

  /** Goes to an address as a link of the console does, without loading the page again. */
  async follow(path: string): Promise<void> {
    await this.page.evaluate(
      `history.pushState(null, "", ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent("popstate"))`,
    );
  }

  /** Waits until the text is on the page. */
  async sees(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).filter({ visible: true }).first().waitFor();
  }

  async press(name: string | RegExp): Promise<void> {
    await this.page
      .getByRole("button", { name, exact: typeof name === "string" })
      .first()
      .click();
  }

  /** Serious problems of accessibility, as axe finds them. */
  async seriousProblems(): Promise<string[]> {
    // The content security policy allows no inline script; evaluating is the debugger's.
    await this.page.evaluate(axeSource);
    return await this.page.evaluate(async () => {
      interface Violation {
        readonly id: string;
        readonly impact: string;
        readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
      }
      const { axe } = globalThis as unknown as { axe: { run: () => Promise<{ violations: Violation[] }> } };
      const { violations } = await axe.run();
      return violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join(" | ")}`);
    });
  }

  async close(): Promise<void> {
    await this.#context.close();
  }

  /** Closes the page; nothing may have gone wrong in it. */
  async endWell(): Promise<void> {
    await this.close();
    assert.deepEqual(this.problems, []);
  }
}
