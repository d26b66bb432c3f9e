import { Command } from "commander";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { EngineError } from "../../base/error.ts";
import { Output } from "../output.ts";
import { programName } from "../program-name.ts";

export function initCommand(): Command {
  return new Command("init")
    .description("Makes a small project that runs.")
    .argument("[folder]", "made if it is not there; must be empty", ".")
    .option("--json", "one JSON document instead of words")
    .action(async (folder: string, options: { json?: boolean }) => {
      const { projectFiles } = await import("../project-files.ts");
      const target = resolve(folder);
      refuseFilled(target);
      const files = projectFiles(nameFor(target));
      for (const [name, text] of Object.entries(files)) writeFileSync(join(target, name), text, { flag: "wx" });
      new Output(options).give({ folder: target, files: Object.keys(files) }, () =>
        [`Made a project in ${target}: ${Object.keys(files).join(", ")}.`, `Next: ${nextCommands(target)}`].join("\n"),
      );
    });
}

/** Heddle is in no registry: the project gets a package of the copy that made it. */
function nextCommands(project: string): string {
  const short = relative(process.cwd(), project);
  const enter = short === "" ? [] : [`cd ${quoted(short)}`];
  const own = fileURLToPath(new URL("../../..", import.meta.url));
  // A clone is built first; what was installed is built already.
  const pack = `npm pack --silent ${import.meta.url.endsWith(".ts") ? "" : "--ignore-scripts "}`;
  return [...enter, `npm install "$(${pack}${quoted(relative(project, own))})"`, "npm start"].join(" && ");
}

function quoted(path: string): string {
  return /^[\w./@+-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}

function refuseFilled(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) {
    throw new EngineError(
      "OPTION_INVALID",
      `${folder} is a file: name a new folder, such as ${programName()} init my-workflows`,
    );
  }
  mkdirSync(folder, { recursive: true });
  // A repository that was just made has nothing but this.
  const there = readdirSync(folder).filter((name) => name !== ".git");
  if (there.length === 0) return;
  throw new EngineError(
    "OPTION_INVALID",
    `${folder} is not empty (it holds ${there.slice(0, 3).join(", ")}): name a new folder, such as ${programName()} init my-workflows`,
  );
}

/** As npm allows it. */
function nameFor(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
  return name === "" ? "my-workflows" : name;
}
