import { type FSWatcher, readdirSync, watch } from "node:fs";
import { join } from "node:path";

/** Limit of watched folders: the sources of one project hardly have more. */
const foldersMax = 2000;

interface TreeParts {
  readonly folder: string;
  readonly isIgnored: (folderName: string) => boolean;
  /** Called with the path of the change, relative to `folder`. */
  readonly onChange: (path: string) => void;
}

/**
 * Watches a folder tree with one watcher per folder. Node's recursive watch on Linux watches files: after an atomic save, which
 * renames a new file over the old one, it no longer sees that file.
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
    // The watcher of a deleted folder fails.
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
      // The folder was deleted meanwhile.
      return [];
    }
  }
}
