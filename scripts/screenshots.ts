/**
 * Takes the pictures of docs/images/screens from a server that `heddle dev --demo` runs: each screen in both themes, both
 * languages, and at the width of a phone. `node scripts/screenshots.ts [http://127.0.0.1:7411 [folder [name …]]]`
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";

const [url = "http://127.0.0.1:7411", folder = "docs/images/screens", ...wanted] = process.argv.slice(2);

async function ask<T>(path: string): Promise<T> {
  const answer = (await (await fetch(`${url}${path}`)).json()) as { data: T };
  return answer.data;
}

/** The newest instance of a workflow in a status. */
async function instanceOf(workflow: string, status: string): Promise<string> {
  const { items } = await ask<{ items: readonly { instanceId: string }[] }>(
    `/api/instance?workflow=${workflow}&status=${status}&limit=1`,
  );
  const [found] = items;
  if (found === undefined) throw new Error(`no instance of ${workflow} is ${status}`);
  return encodeURIComponent(found.instanceId);
}

async function screens(): Promise<Record<string, string>> {
  const failed = await instanceOf("nightly-etl", "Failed");
  const code = await instanceOf("order", "Running");
  return {
    overview: "/",
    workflows: "/workflows",
    workflow: "/workflows/nightly-etl",
    runs: "/workflows/nightly-etl/runs",
    grid: "/workflows/nightly-etl/grid",
    schedule: "/workflows/nightly-etl/schedule",
    versions: "/workflows/nightly-etl/versions",
    editor: "/workflows/nightly-etl/edit",
    start: "/workflows/nightly-etl/start",
    instances: "/instances",
    instance: `/instances/${failed}`,
    timeline: `/instances/${failed}/timeline`,
    tasks: `/instances/${failed}/tasks`,
    history: `/instances/${failed}/history`,
    logs: `/instances/${failed}/logs`,
    data: `/instances/${failed}/data`,
    code: `/instances/${code}`,
    schedules: "/schedules",
    jobs: "/jobs",
    domains: "/domains",
    workers: "/workers",
    cluster: "/cluster",
    audit: "/audit",
    tokens: "/tokens",
    settings: "/settings",
  };
}

interface Look {
  readonly suffix: string;
  readonly theme: "light" | "dark";
  readonly language: "en" | "zh";
  readonly width: number;
  readonly height: number;
}

const looks: readonly Look[] = [
  { suffix: "", theme: "light", language: "en", width: 1440, height: 900 },
  { suffix: "-dark-zh", theme: "dark", language: "zh", width: 1440, height: 900 },
  { suffix: "-phone", theme: "light", language: "en", width: 390, height: 844 },
  { suffix: "-phone-dark-zh", theme: "dark", language: "zh", width: 390, height: 844 },
];

/** Stacks name the folder in which the server's sources are; the pictures show a usual one. */
const withoutPaths = `
  for (const part of document.querySelectorAll(".failure pre")) {
    part.textContent = part.textContent.replaceAll(/file:\\/\\/\\/.*?\\/src\\//g, "file:///app/src/");
  }
`;

async function shoot(browser: Browser, look: Look, all: Readonly<Record<string, string>>): Promise<void> {
  const { theme, language, width, height } = look;
  const context = await browser.newContext({ viewport: { width, height }, reducedMotion: "reduce" });
  const stored = JSON.stringify({ language, theme, zone: "utc", palette: "standard" });
  await context.addInitScript((text) => localStorage.setItem("heddle-preferences", text), stored);
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  for (const [name, path] of Object.entries(all)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    await page.goto(`${url}${path}`);
    await page.locator("main h1").first().waitFor();
    await page.waitForFunction("document.querySelector('main .loading') === null");
    // Lists, graphs and the texts of waits come with their own answers.
    await page.waitForTimeout(1500);
    await page.evaluate(withoutPaths);
    const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 82 });
    writeFileSync(join(folder, `${name}${look.suffix}.webp`), Buffer.from(data, "base64"));
  }
  await context.close();
}

mkdirSync(folder, { recursive: true });
const executablePath = process.env["HEDDLE_TEST_CHROMIUM"] ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const all = await screens();
for (const look of looks) await shoot(browser, look, all);
await browser.close();
