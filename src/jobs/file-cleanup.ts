import { lstat, opendir, realpath, unlink } from "node:fs/promises";
import { join, sep } from "node:path";
import { z } from "zod";
import { defineJob, type Job } from "../authoring/job.ts";
import { messageOf } from "../base/error.ts";
import { isWildcardMatch } from "./wildcard.ts";
import { JobFailure } from "./job-failure.ts";
import { inScope, type JobScope } from "./job-scope.ts";
import { defaultSecretRules } from "./secret-rules.ts";

const folder = z.strictObject({
  dirPath: z.string().min(1).max(4096),
  filePattern: z.string().min(1).max(255).meta({ description: "File names, with * and ?: *.log" }),
  retentionHours: z.number().min(0),
});

const input = z.strictObject({
  folders: z.array(folder).min(1).max(100),
  filesMax: z.number().int().min(1).max(1_000_000).default(10_000),
  dryRun: z.boolean().default(false),
});

/** Which files are deleted; docs/jobs.md has the fields. */
export type FileCleanupParams = z.output<typeof input>;

/** What was deleted. */
export interface FileCleanupResult {
  /** With `dryRun`: files that would be deleted. */
  readonly deleted: number;
  readonly bytes: number;
  /** Files that could not be deleted; the log says why. */
  readonly failed: number;
  /** True if `filesMax` ended it. */
  readonly truncated: boolean;
}

/** Options of the job that deletes files. */
export interface FileCleanupJobOptions {
  /** Folders in which, and below which, files may be deleted. */
  readonly folders: readonly string[];
}

/** The job `file-cleanup`: deletes old files below the folders that the worker allows. Symbolic links are not followed. */
export function fileCleanupJob({
  folders,
}: FileCleanupJobOptions): Job<FileCleanupParams, FileCleanupResult, z.input<typeof input>> {
  const description = "Deletes files of the worker that are older than a number of hours.";
  return defineJob(
    "file-cleanup",
    { input, description },
    inScope(defaultSecretRules, (params: FileCleanupParams, scope) => new Cleanup(params, scope).run(folders)),
  );
}

class Cleanup {
  readonly #params: FileCleanupParams;
  readonly #scope: JobScope;
  #deleted = 0;
  #bytes = 0;
  #failed = 0;

  constructor(params: FileCleanupParams, scope: JobScope) {
    this.#params = params;
    this.#scope = scope;
  }

  async run(allowed: readonly string[]): Promise<FileCleanupResult> {
    const roots = await Promise.all(allowed.map((each) => realpath(each).catch(() => undefined)));
    for (const { dirPath, filePattern, retentionHours } of this.#params.folders) {
      const path = await realpath(dirPath).catch((error: unknown) => {
        throw refused(`the folder ${dirPath} cannot be read: ${messageOf(error)}`);
      });
      if (!roots.some((root) => root !== undefined && `${path}${sep}`.startsWith(`${root}${sep}`))) {
        throw refused(`the folder ${dirPath} is not below one in which this worker may delete files`);
      }
      await this.#clean(path, { filePattern, before: Date.now() - retentionHours * 3_600_000 });
    }
    const truncated = this.#isFull;
    return { deleted: this.#deleted, bytes: this.#bytes, failed: this.#failed, truncated };
  }

  get #isFull(): boolean {
    return this.#deleted >= this.#params.filesMax;
  }

  async #clean(path: string, rule: { filePattern: string; before: number }): Promise<void> {
    for await (const entry of await opendir(path)) {
      this.#scope.ctx.signal.throwIfAborted();
      if (this.#isFull) return;
      const inner = join(path, entry.name);
      if (entry.isDirectory()) await this.#clean(inner, rule);
      else if (entry.isFile() && isWildcardMatch(rule.filePattern, entry.name)) await this.#delete(inner, rule.before);
    }
  }

  async #delete(path: string, before: number): Promise<void> {
    const { log } = this.#scope;
    try {
      const { mtimeMs, size } = await lstat(path);
      if (mtimeMs > before) return;
      if (!this.#params.dryRun) await unlink(path);
      this.#deleted++;
      this.#bytes += size;
      log.debug({ path, size }, this.#params.dryRun ? "would be deleted" : "deleted");
    } catch (error) {
      this.#failed++;
      log.warn({ path, error: messageOf(error) }, "cannot be deleted");
    }
  }
}

function refused(message: string): JobFailure {
  return new JobFailure("CleanupFailed", message, { retryable: false });
}
