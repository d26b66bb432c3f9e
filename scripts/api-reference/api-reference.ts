import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import packageJson from "../../package.json" with { type: "json" };
import { root } from "../run.ts";
import { Declarations, docAtTop } from "./declarations.ts";
import { type Door, indexOf, pageOf } from "./page.ts";

/** The pages of docs/api/, by file name. */
export async function apiReference(): Promise<Map<string, string>> {
  const doors = await readDoors();
  return new Map([["README.md", indexOf(doors)], ...doors.map((door) => [door.page, pageOf(door, doors)] as const)]);
}

/** The public doors, as the compiler declares them to users. */
export async function readDoors(): Promise<Door[]> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-api-"));
  try {
    await emitDeclarations(folder);
    const declarations = new Declarations(folder);
    return Object.entries(packageJson.exports).flatMap(([subpath, target]) =>
      typeof target === "string" ? [] : [doorOf(declarations, folder, { subpath, types: target.types })],
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function emitDeclarations(folder: string): Promise<void> {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const options = ["--emitDeclarationOnly", "--sourceMap", "false", "--inlineSources", "false", "--outDir", folder];
  await promisify(execFile)(process.execPath, [compiler, "-p", "tsconfig.build.json", ...options], { cwd: root });
}

function doorOf(declarations: Declarations, folder: string, door: { subpath: string; types: string }): Door {
  const path = join(folder, door.types.replace(/^\.\/dist\//, ""));
  const source = join(root, door.types.replace(/^\.\/dist\/(.+)\.d\.ts$/, "src/$1.ts"));
  const names = declarations.namesOf(path);
  const name = join("heddle", door.subpath);
  return {
    name,
    page: `${name.replace(/^heddle\//, "")}.md`,
    doc: docAtTop(readFileSync(source, "utf8")),
    declarations: names.map((each) => declarations.read(path, each, (parent) => names.includes(parent))),
  };
}
