import { type FSWatcher, readdirSync, watch } from "node:fs";
import { join } from "node:path";

/** More folders than these are hardly one project's sources. */
const foldersMax = 2000;

interface TreeParts {
  readonly folder: string;
  readonly isIgnored: (folderName: string) => boolean;
  /** With the path from the folder. */
  readonly onChange: (path: string) => void;
}

/**
 * Watches every folder of a tree, each by itself. Node's own recursive watch of Linux watches files: after a save that renames a new file
 * over the old one it sees that file no more.
 */
export class FolderTreeWatch {
  readonly #parts: TreeParts;
  readonly #watchers = new Map<string, FSWatcher>();

  constructor(parts: TreeParts) {
    this.#parts = parts;
    this.#add("");
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #add(path: string): void {
    if (this.#watchers.has(path) || this.#watchers.size >= foldersMax) return;
    const full = join(this.#parts.folder, path);
    const watcher = watch(full, (_event, name) => name !== null && this.#onEvent(join(path, name)));
    // A folder that is deleted takes its watcher along.
    watcher.on("error", () => this.#remove(path));
    this.#watchers.set(path, watcher);
    for (const child of this.#foldersIn(full)) this.#add(join(path, child));
  }

  #remove(path: string): void {
    this.#watchers.get(path)?.close();
    this.#watchers.delete(path);
  }

  #onEvent(path: string): void {
    this.#parts.onChange(path);
    const parent = path.split(/[\\/]/).slice(0, -1).join("/");
    for (const child of this.#foldersIn(join(this.#parts.folder, parent))) this.#add(join(parent, child));
  }

  #foldersIn(folder: string): string[] {
    try {
      return readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && !this.#parts.isIgnored(entry.name))
        .map(({ name }) => name);
    } catch {
      // It was deleted in the meantime.
      return [];
    }
  }
}
