import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../base/clock.ts";
import { EngineError, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { type CatalogueEntry, contentHash, type StoredEntry } from "./catalogue-entry.ts";
import type { Agreement, DefinitionFolder } from "./definition-folder.ts";
import { problemText } from "./definition-files.ts";
import type { DocumentLock } from "./document-lock.ts";
import type { Entries } from "./entries.ts";
import { FolderWatch } from "./folder-watch.ts";
import { Serial } from "./serial.ts";

export interface FolderSyncParts {
  readonly folder: DefinitionFolder;
  readonly lock: DocumentLock;
  readonly entries: Entries;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Saves a manually created or edited file. */
  readonly saveEdit: (name: string, spec: DagSpec) => Promise<StoredEntry>;
}

/**
 * Reconciles the folder with the catalogue, on the member that holds the lock.
 * S1 A file is overwritten only if its content is that of its last agreement with an earlier revision.
 * S2 Any other file that differs was edited manually, and becomes the next version.
 * S3 A file is removed only if it is as it was when this member saw its workflow, or set out to delete it. So neither a
 *    new database nor one that lost something empties a folder.
 */
export class FolderSync {
  readonly #parts: FolderSyncParts;
  readonly #serial = new Serial();
  readonly #watch: FolderWatch;
  /** The ids of the workflows that this process has seen in agreement with their files, by name. */
  readonly #agreed = new Map<string, string>();
  /** Reason why the last save of a workflow is not committed, by workflow. The next save returns it as its warning. */
  readonly #commitWarnings = new Map<string, string>();
  /** Hash of the text that is being written, by workflow. A write that passed its time limit may still happen later. */
  readonly #writing = new Map<string, string>();
  #isActive = false;

  constructor(parts: FolderSyncParts) {
    this.#parts = parts;
    const { folder, clock, logger } = parts;
    const onChange = (names: readonly string[]): void => void this.#syncQuietly(names);
    this.#watch = new FolderWatch({ files: folder.files, clock, logger, onChange });
  }

  async start(): Promise<void> {
    await this.#parts.folder.open();
    await this.keepLock();
  }

  async stop(): Promise<void> {
    this.#watch.stop();
    this.#isActive = false;
    await this.#serial.run(async () => {
      if (this.#parts.lock.isHeld) await this.#parts.lock.release();
    });
  }

  /** Acquires or renews the lock, and takes over the folder with it. Call it every few seconds. */
  async keepLock(): Promise<void> {
    const isHeld = await this.#parts.lock.take();
    if (isHeld === this.#isActive) return;
    this.#isActive = isHeld;
    if (!isHeld) return this.#watch.stop();
    this.#agreed.clear();
    try {
      await this.#watch.start();
      await this.syncAll();
    } catch (error) {
      this.#isActive = false;
      this.#watch.stop();
      throw error;
    }
  }

  async syncAll(): Promise<void> {
    if (!this.#isActive) return;
    const names = new Set([...(await this.#parts.folder.names()), ...this.#agreed.keys()]);
    for await (const { entry } of this.#parts.entries.all()) names.add(entry.name);
    await this.#syncQuietly([...names]);
  }

  /** Marks the file before its workflow is deleted, so that after a crash it is known to be left over. */
  async expectDeletion(name: string): Promise<void> {
    const { folder, lock, logger } = this.#parts;
    await this.#serial.run(async () => {
      if (!this.#isActive || !lock.isHeld) return;
      try {
        const agreement = await folder.agreement(name);
        if (agreement !== undefined) await folder.agree(name, { ...agreement, isDeleted: true });
      } catch (error) {
        logger.warn(
          { workflow: name, error: messageOf(error) },
          "a deleted workflow's file could not be marked; after a crash now it would count as new",
        );
      }
    });
  }

  /** Reconciles one workflow; returns the problem with its file or commit. `by` is the user who deleted it. */
  async sync(name: string, by: string | null = null): Promise<string | null> {
    return await this.#serial.run(async () => {
      if (!this.#isActive || !this.#parts.lock.isHeld) return null;
      try {
        return await this.#sync(name, by);
      } catch (error) {
        const problem = `the file of workflow "${name}" is not up to date: ${messageOf(error)}`;
        this.#parts.logger.warn({ workflow: name, error: messageOf(error) }, "a definition and its file differ");
        return problem;
      }
    });
  }

  async #syncQuietly(names: readonly string[]): Promise<void> {
    // Problems are logged and listed by the folder.
    for (const name of names) await this.sync(name);
  }

  async #sync(name: string, by: string | null): Promise<string | null> {
    const { folder, entries } = this.#parts;
    const file = await folder.read(name);
    if (file.kind === "broken") {
      return `the file of workflow "${name}" is no definition, and is left as it is: ${problemText(file.problem)}`;
    }
    const stored = await entries.find(name);
    const agreement = await folder.agreement(name);
    if (stored === undefined) {
      const wasAgreed = this.#agreed.delete(name);
      if (file.kind === "none") {
        await folder.forget(name);
        return null;
      }
      const isLeftOver = (wasAgreed || agreement?.isDeleted === true) && agreement?.hash === file.hash;
      return isLeftOver ? await this.#remove(name, by) : await this.#takeEdit(name, file.spec);
    }
    const hash = contentHash(stored.entry.spec);
    if (file.kind === "definition" && file.hash !== hash && !this.#isOutOfDate(file.hash, agreement, stored)) {
      return await this.#takeEdit(name, file.spec);
    }
    if (file.kind === "none" || file.hash !== hash) {
      this.#writing.set(name, hash);
      await folder.write(name, stored.entry.spec);
    } else if (isDeepStrictEqual(agreement, agreementOn(stored, hash))) {
      this.#agreed.set(name, stored.entry.id);
      return this.#commitWarnings.get(name) ?? null;
    }
    return await this.#commitAndAgree(stored, hash);
  }

  /** S1. Revisions of a recreated workflow start again, so only an agreement that this process has seen counts. */
  #isOutOfDate(hash: string, agreement: Agreement | undefined, { entry, revision }: StoredEntry): boolean {
    if (this.#writing.get(entry.name) === hash) return true;
    if (agreement?.hash !== hash) return false;
    if (agreement.id === entry.id) return agreement.revision < revision;
    return this.#agreed.get(entry.name) === agreement.id;
  }

  async #takeEdit(name: string, spec: DagSpec): Promise<string | null> {
    const { folder, saveEdit } = this.#parts;
    let stored: StoredEntry;
    try {
      stored = await saveEdit(name, spec);
    } catch (error) {
      if (!(error instanceof EngineError) || error.retryable) throw error;
      folder.refuse(name, messageOf(error));
      return null;
    }
    return await this.#commitAndAgree(stored, contentHash(spec));
  }

  /** Commits before it records the agreement: after a crash in between, the next round finds no agreement and commits again. */
  async #commitAndAgree(stored: StoredEntry, hash: string): Promise<string | null> {
    const { folder } = this.#parts;
    const { entry } = stored;
    const warning = await folder.commit(entry.name, lastSave(entry));
    if (warning === null) this.#commitWarnings.delete(entry.name);
    else this.#commitWarnings.set(entry.name, warning);
    await folder.agree(entry.name, agreementOn(stored, hash));
    this.#writing.delete(entry.name);
    this.#agreed.set(entry.name, entry.id);
    return warning;
  }

  async #remove(name: string, by: string | null): Promise<string | null> {
    const { folder, clock } = this.#parts;
    await folder.remove(name);
    return await folder.commit(name, { operation: "Delete", by, at: clock.now() });
  }
}

function agreementOn({ entry, revision }: StoredEntry, hash: string): Agreement {
  return { id: entry.id, revision, hash };
}

function lastSave({ saves, updatedAt, updatedBy }: CatalogueEntry): {
  operation: string;
  by: string | null;
  at: number;
} {
  return saves.at(-1) ?? { operation: "Update", by: updatedBy, at: updatedAt };
}
