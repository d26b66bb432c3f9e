/**
 * Builds the web console into dist/ui. `--if-changed` does nothing if its sources are those of the last build: `npm start`
 * calls it each time. `--serve` serves the sources instead, for work on the console, beside a server on its usual port.
 */
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run.ts";

/** Beside the dependencies: what is in dist/ui is published. */
const stamp = join(root, "node_modules/.heddle-console");
const built = join(root, "dist/ui/index.html");
const server = "127.0.0.1:7411";

/** Everything that the build reads: the console itself, and what it imports of the engine. */
const sources = [
  "console/src/**/*",
  "console/*.{html,json}",
  "src/{api,base,client,kernel}/**/*.ts",
  "src/catalogue/spec-diff.ts",
  "package-lock.json",
];

/** A hash of names, sizes and times: reading every file would take longer than starting the server. */
function sourcesHash(): string {
  const hash = createHash("sha256");
  for (const path of globSync(sources, { cwd: root }).toSorted()) {
    const found = statSync(join(root, path));
    if (found.isFile()) hash.update(`${path} ${found.size} ${found.mtimeMs}\n`);
  }
  return hash.digest("hex");
}

async function buildConsole(hash: string): Promise<void> {
  console.error("Building the console …");
  const [{ build }, { consoleConfig }] = await Promise.all([import("vite"), import("./console-config.ts")]);
  await build(consoleConfig);
  writeFileSync(stamp, hash);
}

async function serveConsole(): Promise<void> {
  const [{ createServer }, { consoleConfig }] = await Promise.all([import("vite"), import("./console-config.ts")]);
  const proxy = { "/api": `http://${server}`, "/ws": { target: `ws://${server}`, ws: true } };
  const vite = await createServer({ ...consoleConfig, logLevel: "info", server: { proxy } });
  await vite.listen();
  vite.printUrls();
}

if (process.argv.includes("--serve")) await serveConsole();
else {
  const hash = sourcesHash();
  const isBuilt = existsSync(built) && existsSync(stamp) && readFileSync(stamp, "utf8") === hash;
  if (!isBuilt || !process.argv.includes("--if-changed")) await buildConsole(hash);
}
