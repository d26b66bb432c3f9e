import { lstat, mkdir, open, readdir, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { EngineError, messageOf } from "../base/error.ts";
import { shown } from "../base/shown.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { contentHash, named } from "./catalogue-entry.ts";
import { readDefinition } from "./definition-text.ts";
import { checkWorkflowName, nameProblem } from "./workflow-name.ts";

export const definitionFile = "dag-spec.json";

const temporaryFile = `.${definitionFile}.tmp`;

/** Larger ones are not definitions. */
const bytesMax = 16 * 1024 * 1024;

/** A file that is not a definition. */
export interface FileProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly problem: string;
}

export type FileContent =
  | { readonly kind: "none" }
  | { readonly kind: "broken"; readonly problem: FileProblem }
  | { readonly kind: "definition"; readonly spec: DagSpec; readonly hash: string };

/** `<file>:<line>:<column>  <problem>` */
export function problemText({ file, line, column, problem }: FileProblem): string {
  return `${file}:${line}:${column}  ${problem}`;
}

/**
 * Reads and writes `<path>/<workflow>/dag-spec.json`. Other files in these folders are not touched. Links that lead out
 * of `path` are refused with `WORKFLOW_INVALID`.
 */
export class DefinitionFiles {
  readonly path: string;
  #realPath: string | undefined;

  constructor(path: string) {
    this.path = resolve(path);
  }

  folderOf(name: string): string {
    return join(this.path, name);
  }

  fileOf(name: string): string {
    return join(this.path, name, definitionFile);
  }

  /** The workflows that have a file, good or not. */
  async names(): Promise<string[]> {
    const names: string[] = [];
    for (const name of (await readdir(this.path)).sort()) {
      if (!name.startsWith(".") && (await this.exists(name))) names.push(name);
    }
    return names;
  }

  async exists(name: string): Promise<boolean> {
    return await isThere(this.fileOf(name));
  }

  async read(name: string): Promise<FileContent> {
    const file = this.fileOf(name);
    const unusable = nameProblem(name);
    if (unusable !== undefined) return brokenFile(file, `the name of a workflow ${unusable}`);
    if (!(await isThere(file))) return { kind: "none" };
    let text: string;
    try {
      text = await this.#readText(name);
    } catch (error) {
      return brokenFile(file, messageOf(error));
    }
    const read = readDefinition(text, name);
    if ("problem" in read) return brokenFile(file, read.problem, read);
    const spec = named(read.spec, name);
    return { kind: "definition", spec, hash: contentHash(spec) };
  }

  /** Whole or not at all, and on disk when it resolves. */
  async write(name: string, spec: DagSpec): Promise<void> {
    const folder = await this.makeFolder(name);
    await replaceFile(folder, definitionFile, `${JSON.stringify(spec, undefined, 2)}\n`);
  }

  /** Deletes the file alone: what lies beside it stays, and so does its repository. */
  async remove(name: string): Promise<void> {
    const folder = await this.makeFolder(name);
    await rm(join(folder, definitionFile), { force: true });
    await syncFolder(folder);
  }

  /** The folder of a workflow, made if it is missing. */
  async makeFolder(name: string): Promise<string> {
    checkWorkflowName(name);
    const folder = this.folderOf(name);
    await mkdir(folder, { recursive: true });
    await this.#refuseOutside(folder);
    return folder;
  }

  async #readText(name: string): Promise<string> {
    const file = this.fileOf(name);
    await this.#refuseOutside(file);
    const found = await stat(file);
    if (!found.isFile()) throw new Error("it is not a file");
    if (found.size > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`);
    const bytes = await readFile(file);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch (error) {
      throw new Error("it is not UTF-8", { cause: error });
    }
  }

  async #refuseOutside(path: string): Promise<void> {
    this.#realPath ??= await realpath(this.path);
    const real = await realpath(path);
    if (real.startsWith(this.#realPath + sep)) return;
    throw new EngineError("WORKFLOW_INVALID", `${shown(path)} is a link that leads out of the folder of definitions`);
  }
}

function brokenFile(file: string, problem: string, place = { line: 1, column: 1 }): FileContent {
  return { kind: "broken", problem: { file, line: place.line, column: place.column, problem } };
}

/** Whole or not at all, and on disk when it resolves. */
export async function replaceFile(folder: string, name: string, text: string): Promise<void> {
  const temporary = join(folder, name === definitionFile ? temporaryFile : `${name}.tmp`);
  await rm(temporary, { force: true });
  const file = await open(temporary, "wx");
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, join(folder, name));
  await syncFolder(folder);
}

/** A rename lasts once its folder is on disk. Windows has no such thing, and needs none. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** What cannot be looked at is there: whoever reads it says why it cannot be read. */
async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    return !isMissing(error);
  }
}

export function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}
