// Makes a bare clone ready: installs what package-lock.json names, and sees that scripts run on a new enough Node.
// Plain JavaScript, because it must itself run on whatever Node is there.
import { execFileSync, spawnSync } from "node:child_process";
import { statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const nodeMajorMin = 24;
const root = new URL("../", import.meta.url);

if (!isInstalled()) install();
linkProgram();

const version = versionOfNode();
if (Number(version.split(".")[0]) < nodeMajorMin) {
  stop(
    `Heddle needs Node.js ${nodeMajorMin} or newer, and this is ${version}. One comes with the development ` +
      `dependencies and is found by npm's scripts ("npm test", "npm start"); or install it yourself.`,
  );
}

/** Nothing to do if the folder was installed after the last change of what to install. */
function isInstalled() {
  const installedAt = modifiedAt("node_modules/.package-lock.json");
  const changedAt = Math.max(modifiedAt("package.json"), modifiedAt("package-lock.json"));
  return installedAt >= changedAt && modifiedAt("node_modules/.bin/node") > 0;
}

function install() {
  console.error("Installing dependencies; the first time, this takes a minute …");
  const run = spawnSync("npm", ["install", "--loglevel=error"], {
    cwd: fileURLToPath(root),
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (run.error !== undefined) stop(`npm could not be started: ${run.error.message}`);
  if (run.status !== 0) stop('"npm install" failed; its own words are above.');
}

/** Makes `npx heddle`, which the console and the documents advise, run the sources of this clone. */
function linkProgram() {
  const program = fileURLToPath(new URL("node_modules/.bin/heddle", root));
  if (process.platform === "win32") writeFileSync(`${program}.cmd`, '@node "%~dp0\\..\\..\\src\\cli.ts" %*\r\n');
  else writeFileSync(program, '#!/bin/sh\nexec node "$(dirname "$0")/../../src/cli.ts" "$@"\n', { mode: 0o755 });
}

/** Of the Node that the scripts after this one will find: npm puts node_modules/.bin first in PATH. */
function versionOfNode() {
  return execFileSync("node", ["-p", "process.versions.node"], { encoding: "utf8" }).trim();
}

/** @param {string} path */
function modifiedAt(path) {
  return statSync(new URL(path, root), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** @param {string} sentence */
function stop(sentence) {
  console.error(sentence);
  process.exit(1);
}
