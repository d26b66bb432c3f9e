import { join } from "node:path";
import { EngineError, messageOf } from "../base/error.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { contentHash, withName } from "./catalogue-entry.ts";
import { readDefinition } from "./definition-text.ts";
import type { FolderFiles } from "./folder-files.ts";
import { checkWorkflowName, nameProblem } from "./workflow-name.ts";

export const definitionFile = "dag-spec.json";

const temporaryFile = `.${definitionFile}.tmp`;

/** Size limit of a definition file. */
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

/** Reads and writes `<path>/<workflow>/dag-spec.json`. Other files in these folders are not touched. */
export class DefinitionFiles {
  readonly files: FolderFiles;

  constructor(files: FolderFiles) {
    this.files = files;
  }

  get path(): string {
    return this.files.path;
  }

  folderOf(name: string): string {
    return join(this.path, name);
  }

  fileOf(name: string): string {
    return join(this.path, name, definitionFile);
  }

  /** Names of the workflows that have a file, valid or not. */
  async names(): Promise<string[]> {
    const names: string[] = [];
    const entries = (await this.files.list()) ?? [];
    for (const name of entries.map((entry) => entry.name).sort()) {
      if (!name.startsWith(".") && (await this.exists(name))) names.push(name);
    }
    return names;
  }

  async exists(name: string): Promise<boolean> {
    return await this.files.exists(`${name}/${definitionFile}`);
  }

  async read(name: string): Promise<FileContent> {
    const file = this.fileOf(name);
    const unusable = nameProblem(name);
    if (unusable !== undefined) return brokenFile(file, `the name of a workflow ${unusable}`);
    let text: string | undefined;
    try {
      text = await this.#readText(name);
    } catch (error) {
      if (error instanceof EngineError && error.retryable) throw error;
      return brokenFile(file, messageOf(error));
    }
    if (text === undefined) return { kind: "none" };
    const read = readDefinition(text, name);
    if ("problem" in read) return brokenFile(file, read.problem, read);
    const spec = withName(read.spec, name);
    return { kind: "definition", spec, hash: contentHash(spec) };
  }

  /** Writes the file atomically; durable when it resolves. */
  async write(name: string, spec: DagSpec): Promise<void> {
    await this.makeFolder(name);
    const text = `${JSON.stringify(spec, undefined, 2)}\n`;
    await this.files.replace(`${name}/${definitionFile}`, text, temporaryFile);
  }

  /** Deletes the file only; other files and the repository are kept. */
  async remove(name: string): Promise<void> {
    await this.makeFolder(name);
    await this.files.remove(`${name}/${definitionFile}`);
  }

  /** The folder of a workflow, created if it is missing. */
  async makeFolder(name: string): Promise<FolderFiles> {
    checkWorkflowName(name);
    await this.files.makeFolder(name);
    return this.files.below(name);
  }

  async #readText(name: string): Promise<string | undefined> {
    const bytes = await this.files.read(`${name}/${definitionFile}`, { bytesMax });
    if (bytes === undefined) return undefined;
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch (error) {
      throw new Error("it is not UTF-8", { cause: error });
    }
  }
}

function brokenFile(file: string, problem: string, place = { line: 1, column: 1 }): FileContent {
  return { kind: "broken", problem: { file, line: place.line, column: place.column, problem } };
}
