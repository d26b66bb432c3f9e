import { type FSWatcher, watch } from "node:fs";
import { join } from "node:path";
import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { definitionFile } from "./definition-files.ts";
import type { FolderFiles } from "./folder-files.ts";

/** Debounce: editors write in several steps. */
const settleMs = 100;

/** Poll interval for file systems without change notifications. */
const lookMs = 5000;

/** Reports workflows whose files may have changed: by notifications, and by polling. */
export class FolderWatch {
  readonly #files: FolderFiles;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onChange: (names: readonly string[]) => void;
  /** Watchers by folder; the root's name is empty. */
  readonly #watchers = new Map<string, FSWatcher>();
  /** Size and modification time of each file. */
  #stamps = new Map<string, string>();
  readonly #changed = new Set<string>();
  #settling: Timer | undefined;
  #looking: Timer | undefined;
  #isRunning = false;
  #isTold = true;

  constructor(parts: {
    files: FolderFiles;
    clock: Clock;
    logger: Logger;
    onChange: (names: readonly string[]) => void;
  }) {
    this.#files = parts.files;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#onChange = parts.onChange;
  }

  async start(): Promise<void> {
    this.#isRunning = true;
    this.#watch("");
    this.#stamps = await this.#look();
    this.#lookLater();
  }

  stop(): void {
    this.#isRunning = false;
    this.#settling?.cancel();
    this.#settling = undefined;
    this.#looking?.cancel();
    for (const name of this.#watchers.keys()) this.#unwatch(name);
  }

  #lookLater(): void {
    if (!this.#isRunning) return;
    this.#looking?.cancel();
    this.#looking = this.#clock.after(lookMs, () => {
      this.#compare()
        .catch((error: unknown) => {
          this.#logger.warn(
            { folder: this.#files.path, error: messageOf(error) },
            "the folder of definitions cannot be read",
          );
        })
        .finally(() => this.#lookLater());
    });
  }

  async #compare(): Promise<void> {
    const before = this.#stamps;
    this.#stamps = await this.#look();
    for (const name of new Set([...before.keys(), ...this.#stamps.keys()])) {
      if (before.get(name) !== this.#stamps.get(name)) this.#note(name);
    }
  }

  /** Polls the folder, and begins to watch new subfolders. */
  async #look(): Promise<Map<string, string>> {
    const stamps = new Map<string, string>();
    const folders = ((await this.#files.list()) ?? []).filter((entry) => entry.isDirectory());
    const names = new Set(folders.map(({ name }) => name).filter((name) => !name.startsWith(".")));
    for (const name of names) {
      this.#watch(name);
      const stamp = await this.#stampOf(name);
      if (stamp !== undefined) stamps.set(name, stamp);
    }
    for (const name of this.#watchers.keys()) if (name !== "" && !names.has(name)) this.#unwatch(name);
    return stamps;
  }

  async #stampOf(name: string): Promise<string | undefined> {
    const found = await this.#files.find(`${name}/${definitionFile}`);
    return found && [found.ino, found.size, found.mtimeMs, found.ctimeMs].join(" ");
  }

  /** Watches a subfolder again. Links are not followed. */
  async #watchAnew(name: string): Promise<void> {
    try {
      const found = await this.#files.find(name);
      this.#unwatch(name);
      if (found?.isDirectory() === true) this.#watch(name);
    } catch (error) {
      this.#logger.warn(
        { folder: this.#files.path, error: messageOf(error) },
        "the folder of definitions cannot be read",
      );
    }
  }

  #watch(name: string): void {
    if (!this.#isRunning || this.#watchers.has(name)) return;
    try {
      const watcher = watch(join(this.#files.path, name), { persistent: false }, (_, file) => this.#hear(name, file));
      watcher.on("error", () => this.#unwatch(name));
      this.#watchers.set(name, watcher);
    } catch (error) {
      // The path is not a folder, or the system has no watches left: polling covers it.
      if (this.#isTold && !["ENOTDIR", "ENOENT"].includes((error as NodeJS.ErrnoException).code ?? "")) {
        this.#isTold = false;
        this.#logger.warn({ error: messageOf(error) }, "the folder cannot be watched; polling it every few seconds");
      }
    }
  }

  #unwatch(name: string): void {
    this.#watchers.get(name)?.close();
    this.#watchers.delete(name);
  }

  #hear(name: string, file: string | null): void {
    if (name !== "") {
      if (file === null || file === definitionFile) this.#note(name);
      return;
    }
    if (file === null || file.startsWith(".")) return;
    // A replaced folder needs a new watcher.
    void this.#watchAnew(file).then(() => this.#note(file));
  }

  #note(name: string): void {
    if (!this.#isRunning) return;
    this.#changed.add(name);
    this.#settling ??= this.#clock.after(settleMs, () => {
      this.#settling = undefined;
      const names = [...this.#changed];
      this.#changed.clear();
      this.#onChange(names);
    });
  }
}
