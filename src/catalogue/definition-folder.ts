import { EngineError, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import type { Save } from "./catalogue-entry.ts";
import {
  definitionFile,
  DefinitionFiles,
  type FileContent,
  type FileProblem,
  problemText,
} from "./definition-files.ts";
import { FileAccess } from "./file-access.ts";
import { FolderFiles } from "./folder-files.ts";
import type { Git } from "./git.ts";
import { checkWorkflowName } from "./workflow-name.ts";

/** Subfolder for the agreements. No workflow can have this name. */
const ownFolder = ".heddle";

/** The state in which a file and the catalogue last agreed; it distinguishes a manual edit from an outdated file. */
export interface Agreement {
  readonly id: string;
  readonly revision: number;
  /** Hash of the content. */
  readonly hash: string;
  /** A deletion of the workflow had begun. */
  readonly isDeleted?: true;
}

export interface DefinitionFolderParts {
  readonly path: string;
  readonly logger: Logger;
  /** Set if saves are committed. */
  readonly git?: Git;
  /** Time limit of one operation on a file. */
  readonly limitMs?: number;
}

/** The folder of a catalogue: definition files, the problems of broken ones, and the agreements. */
export class DefinitionFolder {
  readonly #files: DefinitionFiles;
  readonly #logger: Logger;
  readonly #git: Git | undefined;
  readonly #problems = new Map<string, FileProblem>();

  constructor({ path, logger, git, limitMs }: DefinitionFolderParts) {
    this.#files = new DefinitionFiles(
      new FolderFiles(path, new FileAccess(path, limitMs === undefined ? {} : { limitMs })),
    );
    this.#logger = logger;
    this.#git = git;
  }

  get path(): string {
    return this.#files.path;
  }

  get files(): FolderFiles {
    return this.#files.files;
  }

  /** Opens the folder. If `.heddle` cannot be used, the server starts, and every save warns. */
  async open(): Promise<void> {
    try {
      await this.files.makeFolder(ownFolder);
    } catch (error) {
      if (!(error instanceof EngineError) || error.retryable) throw error;
      this.#logger.error(
        { folder: this.path, error: messageOf(error) },
        "the folder .heddle cannot be used; definitions and files are not reconciled",
      );
    }
  }

  /** Files that are not definitions, by name. */
  problems(): FileProblem[] {
    return [...this.#problems.values()].sort((a, b) => (a.file < b.file ? -1 : 1));
  }

  /** `<file>:<line>:<column>  <problem>` */
  problemOf(name: string): string | null {
    const found = this.#problems.get(this.#files.fileOf(name));
    return found === undefined ? null : problemText(found);
  }

  /** Names of the workflows that have a file, valid or not. */
  async names(): Promise<string[]> {
    return await this.#files.names();
  }

  /** Reads a file. A broken one is listed among the problems until it is read successfully. */
  async read(name: string): Promise<FileContent> {
    const content = await this.#files.read(name);
    if (content.kind === "broken") this.#addProblem(content.problem);
    else this.#problems.delete(this.#files.fileOf(name));
    return content;
  }

  /** Records a problem of a valid definition, such as a taken name. */
  refuse(name: string, problem: string): void {
    this.#addProblem({ file: this.#files.fileOf(name), line: 1, column: 1, problem });
  }

  async write(name: string, spec: DagSpec): Promise<void> {
    await this.#files.write(name, spec);
    this.#problems.delete(this.#files.fileOf(name));
  }

  async remove(name: string): Promise<void> {
    await this.#files.remove(name);
    await this.forget(name);
  }

  /** Removes the agreement: the next file of that name counts as new. */
  async forget(name: string): Promise<void> {
    this.#problems.delete(this.#files.fileOf(name));
    await this.files.remove(agreementOf(name));
  }

  async agreement(name: string): Promise<Agreement | undefined> {
    const bytes = await this.files.read(agreementOf(name));
    try {
      return bytes && (JSON.parse(bytes.toString()) as Agreement);
    } catch {
      // Half written by a crash: the file then counts as edited, and nothing is lost.
      return undefined;
    }
  }

  async agree(name: string, agreement: Agreement): Promise<void> {
    await this.files.replace(agreementOf(name), JSON.stringify(agreement), `${name}.json.tmp`);
  }

  /** Commits the file; returns the problem if it failed, because the save stands without its commit. */
  async commit(name: string, save: Omit<Save, "version">): Promise<string | null> {
    if (this.#git === undefined) return null;
    try {
      await this.#git.commit(await this.#files.makeFolder(name), definitionFile, save);
      return null;
    } catch (error) {
      this.#logger.warn({ workflow: name, error: messageOf(error) }, "a saved definition was not committed to git");
      return `the definition is saved, but was not committed to git: ${messageOf(error)}`;
    }
  }

  #addProblem(found: FileProblem): void {
    const known = this.#problems.get(found.file);
    this.#problems.set(found.file, found);
    if (JSON.stringify(known) !== JSON.stringify(found)) {
      this.#logger.error({ ...found }, "a file is not a valid definition; the last valid version stays in force");
    }
  }
}

function agreementOf(name: string): string {
  checkWorkflowName(name);
  return `${ownFolder}/${name}.json`;
}
