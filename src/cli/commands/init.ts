import { Command } from "commander";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { EngineError } from "../../base/error.ts";
import { Output } from "../output.ts";
import { programName } from "../program-name.ts";

export function initCommand(): Command {
  return new Command("init")
    .description("Create a small project.")
    .argument("[folder]", "folder of the project; created if missing, must be empty", ".")
    .option("--json", "print one JSON document")
    .action(async (folder: string, options: { json?: boolean }) => {
      const { projectFiles } = await import("../project-files.ts");
      const target = resolve(folder);
      refuseFilled(target);
      const files = projectFiles(nameFor(target));
      for (const [name, text] of Object.entries(files)) writeFileSync(join(target, name), text, { flag: "wx" });
      new Output(options).give({ folder: target, files: Object.keys(files) }, () =>
        [`Created a project in ${target}: ${Object.keys(files).join(", ")}.`, `Next: ${nextCommands(target)}`].join(
          "\n",
        ),
      );
    });
}

/** The commands that install Heddle in the project. It is in no registry, so the package is made of this copy. */
function nextCommands(project: string): string {
  const short = relative(process.cwd(), project);
  const enter = short === "" ? [] : [`cd ${quote(short)}`];
  const own = fileURLToPath(new URL("../../..", import.meta.url));
  // A clone has to be built by npm pack; an installed package is built already.
  const pack = `npm pack --silent ${import.meta.url.endsWith(".ts") ? "" : "--ignore-scripts "}`;
  return [...enter, `npm install "$(${pack}${quote(relative(project, own))})"`, "npm start"].join(" && ");
}

function quote(path: string): string {
  return /^[\w./@+-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}

function refuseFilled(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) {
    throw new EngineError(
      "OPTION_INVALID",
      `${folder} is a file; name a new folder, such as ${programName()} init my-workflows`,
    );
  }
  mkdirSync(folder, { recursive: true });
  // A new git repository counts as empty.
  const there = readdirSync(folder).filter((name) => name !== ".git");
  if (there.length === 0) return;
  throw new EngineError(
    "OPTION_INVALID",
    `${folder} is not empty (it holds ${there.slice(0, 3).join(", ")}); name a new folder, such as ${programName()} init my-workflows`,
  );
}

/** A package name that npm allows. */
function nameFor(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
  return name === "" ? "my-workflows" : name;
}
