import { copyAsJson } from "../base/json-text.ts";
import { SettingCheck } from "../authoring/setting-check.ts";
import { Workflow } from "../authoring/workflow.ts";
import { EngineError, messageOf } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { systemClock } from "../engine/system-clock.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { definitionFile, DefinitionFiles, problemText } from "./definition-files.ts";
import { refuseTooLarge } from "./definition-size.ts";
import { FolderFiles } from "./folder-files.ts";
import { Git } from "./git.ts";
import { GitRepository } from "./git-repository.ts";
import { Serial } from "./serial.ts";
import { checkWorkflowName } from "./workflow-name.ts";

/**
 * Keeps definitions as files, `<path>/<workflow>/dag-spec.json`, with their history in git: for programs that embed the
 * engine, without a server and its catalogue. A server's folder has the same layout.
 *
 * ```ts
 * import { WorkflowFileManager } from "heddle/dag";
 *
 * const files = new WorkflowFileManager("definitions");
 * await files.saveDagSpec("nightly", nightly);
 * await files.commitDagSpec("nightly", { by: "ann" });
 * await engine.submitWorkflow(Workflow.fromJSON(await files.loadDagSpec("nightly")));
 * ```
 *
 * Every method throws `WORKFLOW_INVALID` for a name that cannot be a folder's, and for links, pipes and the like in `path`. Calls
 * take effect in the order in which they are made.
 */
export class WorkflowFileManager {
  readonly #files: DefinitionFiles;
  readonly #git = new Git();
  readonly #serial = new Serial();

  /** The first save creates the folder. */
  constructor(path: string) {
    new SettingCheck("OPTION_INVALID", "WorkflowFileManager").name("path", path);
    this.#files = new DefinitionFiles(new FolderFiles(path));
  }

  /** The folder of a workflow, whether or not it exists; other files, such as `metadata.json`, may be in it. */
  getWorkflowDir(name: string): string {
    checkWorkflowName(name);
    return this.#files.folderOf(name);
  }

  /** True if the workflow has a file, valid or not. */
  async exists(name: string): Promise<boolean> {
    checkWorkflowName(name);
    return await this.#serial.run(() => this.#files.exists(name));
  }

  /** The sorted names of the workflows that have a file, valid or not. */
  async listWorkflows(): Promise<string[]> {
    return await this.#serial.run(() => this.#files.names());
  }

  /**
   * Writes the file atomically, pretty-printed; durable when it resolves. Throws what `Workflow.fromJSON`
   * does for a definition that cannot run, and writes nothing then.
   */
  async saveDagSpec(name: string, spec: DagSpec | { toJSON(): DagSpec }): Promise<void> {
    checkWorkflowName(name);
    // Copied now: later changes by the caller are not part of this save.
    const copy = copyAsJson(spec, `the definition of workflow ${preview(name)}`);
    refuseTooLarge(copy, name);
    Workflow.fromJSON(copy, { name });
    await this.#serial.run(() => this.#files.write(name, withName(copy as DagSpec, name)));
  }

  /** `WORKFLOW_UNKNOWN` if there is no file; `WORKFLOW_INVALID`, with file, line and column, if it is no definition. */
  async loadDagSpec(name: string): Promise<DagSpec> {
    checkWorkflowName(name);
    return await this.#serial.run(() => this.#read(name));
  }

  /** Deletes the file only. `WORKFLOW_UNKNOWN` if there is none. */
  async deleteDagSpec(name: string): Promise<void> {
    checkWorkflowName(name);
    await this.#serial.run(async () => {
      if (!(await this.#files.exists(name))) throw this.#unknown(name);
      await this.#files.remove(name);
    });
  }

  /**
   * Commits the file, or its deletion, to the repository of the workflow's folder, which is created if it is missing. Does
   * nothing if the file equals the last commit. `by` is the author.
   *
   * Throws `GIT_FAILED` if git is missing or refuses, and what `loadDagSpec` throws; the file is not changed.
   */
  async commitDagSpec(name: string, options: { readonly by?: string } = {}): Promise<void> {
    checkWorkflowName(name);
    const check = new SettingCheck("OPTION_INVALID", "commitDagSpec");
    check.options(options, { by: true });
    if (options.by !== undefined) check.name("by", options.by);
    await this.#serial.run(() => this.#commit(name, options.by ?? null));
  }

  async #commit(name: string, by: string | null): Promise<void> {
    const isThere = await this.#files.exists(name);
    if (isThere) await this.#read(name);
    else if (!(await GitRepository.exists(this.#files.files.below(name)))) throw this.#unknown(name);
    const folder = await this.#files.makeFolder(name);
    const operation = isThere ? "Update" : "Delete";
    try {
      await this.#git.commit(folder, definitionFile, { operation, by, at: systemClock.now() });
    } catch (error) {
      const message = `workflow ${preview(name)} was not committed: ${messageOf(error)}`;
      throw new EngineError("GIT_FAILED", message, { cause: error });
    }
  }

  async #read(name: string): Promise<DagSpec> {
    const content = await this.#files.read(name);
    if (content.kind === "none") throw this.#unknown(name);
    if (content.kind === "broken") throw new EngineError("WORKFLOW_INVALID", problemText(content.problem));
    return withName(content.spec, name);
  }

  #unknown(name: string): EngineError {
    return new EngineError("WORKFLOW_UNKNOWN", `there is no file ${this.#files.fileOf(name)}`);
  }
}

/** Sets the name, which is that of the folder whatever the definition contains. */
function withName(spec: DagSpec, name: string): DagSpec {
  return Object.assign({ name }, spec, { name });
}
