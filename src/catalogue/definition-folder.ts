import { lstat, mkdir, open, readdir, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { EngineError, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { shown } from "../base/shown.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { contentHash, named, type Save } from "./catalogue-entry.ts";
import { readDefinition } from "./definition-text.ts";
import type { Git } from "./git.ts";
import { checkWorkflowName, nameProblem } from "./workflow-name.ts";

export const definitionFile = "dag-spec.json";

/** Where the folder keeps what it knows of each file. No workflow can have this name. */
const ownFolder = ".heddle";

const temporaryFile = `.${definitionFile}.tmp`;

/** Larger ones are not definitions. */
const bytesMax = 16 * 1024 * 1024;

/** A file that is not a definition. The last good version stays in force. */
export interface FileProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly problem: string;
}

/** What a file and the catalogue last agreed on; it tells an edit by hand from a file that is out of date. */
export interface Agreement {
  readonly id: string;
  readonly revision: number;
  /** Of the content. */
  readonly hash: string;
  /** The workflow was about to be deleted. */
  readonly isDeleted?: true;
}

export type FileContent =
  | { readonly kind: "none" }
  | { readonly kind: "broken" }
  | { readonly kind: "definition"; readonly spec: DagSpec; readonly hash: string };

export interface DefinitionFolderParts {
  readonly path: string;
  readonly logger: Logger;
  /** If each save is to be a commit. */
  readonly git?: Git;
}

/** `<path>/<workflow>/dag-spec.json`: definitions as files. Whatever else lies beside them is nobody's business here. */
export class DefinitionFolder {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #git: Git | undefined;
  readonly #problems = new Map<string, FileProblem>();
  #realPath = "";

  constructor({ path, logger, git }: DefinitionFolderParts) {
    this.#path = resolve(path);
    this.#logger = logger;
    this.#git = git;
  }

  get path(): string {
    return this.#path;
  }

  async open(): Promise<void> {
    await mkdir(join(this.#path, ownFolder), { recursive: true });
    this.#realPath = await realpath(this.#path);
  }

  /** Files that are not definitions, by name. */
  problems(): FileProblem[] {
    return [...this.#problems.values()].sort((a, b) => (a.file < b.file ? -1 : 1));
  }

  /** `<file>:<line>:<column>  <problem>` */
  problemOf(name: string): string | null {
    const found = this.#problems.get(this.#fileOf(name));
    return found === undefined ? null : `${found.file}:${found.line}:${found.column}  ${found.problem}`;
  }

  /** The workflows that have a file here, good or not. */
  async names(): Promise<string[]> {
    const names: string[] = [];
    for (const name of (await readdir(this.#path)).sort()) {
      if (!name.startsWith(".") && (await isThere(this.#fileOf(name)))) names.push(name);
    }
    return names;
  }

  /** A file that is broken is among the problems from then on, and no longer once it is read well. */
  async read(name: string): Promise<FileContent> {
    const file = this.#fileOf(name);
    const unusable = nameProblem(name);
    if (unusable !== undefined) return this.#broken(file, `the name of a workflow ${unusable}`);
    if (!(await isThere(file))) {
      this.#problems.delete(file);
      return { kind: "none" };
    }
    let text: string;
    try {
      text = await this.#readText(name);
    } catch (error) {
      return this.#broken(file, messageOf(error));
    }
    const read = readDefinition(text, name);
    if ("problem" in read) return this.#broken(file, read.problem, read);
    this.#problems.delete(file);
    const spec = named(read.spec, name);
    return { kind: "definition", spec, hash: contentHash(spec) };
  }

  /** The definition is sound, but its name is not free, or the like. */
  refuse(name: string, problem: string): void {
    this.#broken(this.#fileOf(name), problem);
  }

  /** Whole or not at all, and on disk when it resolves. */
  async write(name: string, spec: DagSpec): Promise<void> {
    const folder = await this.#folderOf(name);
    await replaceFile(folder, definitionFile, `${JSON.stringify(spec, undefined, 2)}\n`);
    this.#problems.delete(this.#fileOf(name));
  }

  /** What lies beside the file stays, and so does its repository. */
  async remove(name: string): Promise<void> {
    const folder = await this.#folderOf(name);
    await rm(join(folder, definitionFile), { force: true });
    await syncFolder(folder);
    await this.forget(name);
  }

  /** The next file of that name is a new one. */
  async forget(name: string): Promise<void> {
    this.#problems.delete(this.#fileOf(name));
    await rm(this.#agreementOf(name), { force: true });
  }

  async agreement(name: string): Promise<Agreement | undefined> {
    try {
      return JSON.parse(await readFile(this.#agreementOf(name), "utf8")) as Agreement;
    } catch (error) {
      // None yet, or one that a crash left half written: then the file counts as edited, and nothing of it is lost.
      if (error instanceof SyntaxError || isMissing(error)) return undefined;
      throw error;
    }
  }

  async agree(name: string, agreement: Agreement): Promise<void> {
    await replaceFile(join(this.#path, ownFolder), `${name}.json`, JSON.stringify(agreement));
  }

  /** Gives back what went wrong: the save stands without its commit. */
  async commit(name: string, save: Omit<Save, "version">): Promise<string | null> {
    if (this.#git === undefined) return null;
    try {
      await this.#git.commit(await this.#folderOf(name), definitionFile, save);
      return null;
    } catch (error) {
      this.#logger.warn({ workflow: name, error: messageOf(error) }, "a saved definition was not committed to git");
      return `the definition is saved, but was not committed to git: ${messageOf(error)}`;
    }
  }

  #fileOf(name: string): string {
    return join(this.#path, name, definitionFile);
  }

  #agreementOf(name: string): string {
    checkWorkflowName(name);
    return join(this.#path, ownFolder, `${name}.json`);
  }

  /** The folder of a workflow, made if need be. A link that leads out is refused. */
  async #folderOf(name: string): Promise<string> {
    checkWorkflowName(name);
    const folder = join(this.#path, name);
    await mkdir(folder, { recursive: true });
    await this.#refuseOutside(folder);
    return folder;
  }

  async #readText(name: string): Promise<string> {
    const file = this.#fileOf(name);
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
    const real = await realpath(path);
    if (real.startsWith(this.#realPath + sep)) return;
    throw new EngineError("WORKFLOW_INVALID", `${shown(path)} is a link that leads out of the folder of definitions`);
  }

  #broken(file: string, problem: string, place = { line: 1, column: 1 }): FileContent {
    const found = { file, line: place.line, column: place.column, problem };
    const known = this.#problems.get(file);
    this.#problems.set(file, found);
    if (JSON.stringify(known) !== JSON.stringify(found)) {
      this.#logger.error({ ...found }, "a file is not a definition; the last good version stays in force");
    }
    return { kind: "broken" };
  }
}

async function replaceFile(folder: string, name: string, text: string): Promise<void> {
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

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}
