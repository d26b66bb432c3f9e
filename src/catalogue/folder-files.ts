import { constants, type Dirent, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { FileAccess } from "./file-access.ts";

const defaultBytesMax = 16 * 1024 * 1024;

/** Flags against a race with the check: a link in place of a file is not followed, and a pipe does not block. Windows has neither. */
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants as Partial<typeof constants>;
const readFlags = constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | O_NOFOLLOW;
const overwriteFlags = constants.O_WRONLY | constants.O_TRUNC | O_NOFOLLOW | O_NONBLOCK;

/**
 * The files of a folder that other programs can write to as well. Every operation has the time limit of its `FileAccess`.
 * F1 The folder itself may be a link; below it none is followed, in no part of a path.
 * F2 Only regular files are opened: no pipe, socket, device or folder.
 * Violations of F1 and F2 are refused with `WORKFLOW_INVALID` and the path. Paths are relative, with slashes.
 */
export class FolderFiles {
  readonly path: string;
  readonly access: FileAccess;
  #realPath: string | undefined;

  constructor(path: string, access?: FileAccess) {
    this.path = resolve(path);
    this.access = access ?? new FileAccess(this.path);
  }

  /** A checked subfolder, with the same time limit. */
  below(name: string): FolderFiles {
    return new FolderFiles(join(this.path, name), this.access);
  }

  /** Lists a folder; undefined if it does not exist. */
  async list(path = ""): Promise<Dirent[] | undefined> {
    return await this.#run("list", path, async () => {
      const found = await this.#check(path);
      if (found !== undefined && !found.isDirectory()) throw this.#refusal(path, "folder", found);
      return await ifThere(async () => await readdir(await this.#locate(path), { withFileTypes: true }));
    });
  }

  /** The file's stats; undefined if it does not exist. Links are not followed. */
  async find(path: string): Promise<Stats | undefined> {
    return await this.#run("look at", path, () => this.#check(path));
  }

  /** True if the file exists, or if that cannot be determined: reading it then reports the error. */
  async exists(path: string): Promise<boolean> {
    try {
      return (await this.find(path)) !== undefined;
    } catch (error) {
      if (error instanceof EngineError && error.retryable) throw error;
      return true;
    }
  }

  /** Reads a file; undefined if it does not exist. */
  async read(path: string, { bytesMax = defaultBytesMax } = {}): Promise<Buffer | undefined> {
    return await this.#run("read", path, async () => {
      const found = await this.#checkFile(path);
      if (found === undefined) return undefined;
      return await ifThere(() => this.#withFile(path, { flags: readFlags }, (file) => contentOf(file, bytesMax)));
    });
  }

  /** Replaces a file atomically; durable when it resolves. The temporary file is in the same folder. */
  async replace(path: string, content: string | Uint8Array, temporary: string, mode?: number): Promise<void> {
    await this.#run("write", path, async () => {
      await this.#checkFile(path);
      const beside = sibling(path, temporary);
      await rm(await this.#locate(beside), { force: true });
      await this.#withFile(beside, { flags: createFlags, mode }, (file) => writeThrough(file, content));
      await this.#rename(beside, path);
    });
  }

  /** Creates a new file; `EEXIST` if it exists. */
  async create(path: string, content: string | Uint8Array): Promise<void> {
    await this.#run("create", path, async () => {
      await this.#check(path);
      await this.#withFile(path, { flags: createFlags }, (file) => writeThrough(file, content));
    });
  }

  async overwrite(path: string, content: string | Uint8Array): Promise<void> {
    await this.#run("write", path, async () => {
      await this.#checkFile(path);
      await this.#withFile(path, { flags: overwriteFlags }, (file) => writeThrough(file, content));
    });
  }

  /** Renames a file; an existing file of the new name is replaced. */
  async rename(from: string, to: string): Promise<void> {
    await this.#run("rename", from, async () => {
      await this.#checkFile(from);
      await this.#checkFile(to);
      await this.#rename(from, to);
    });
  }

  /** Deletes a file, if it exists. */
  async remove(path: string): Promise<void> {
    await this.#run("delete", path, async () => {
      if ((await this.#checkFile(path)) === undefined) return;
      await rm(await this.#locate(path), { force: true });
      await this.#syncFolder(parentOf(path));
    });
  }

  /** Creates a folder and its parents, if they are missing. */
  async makeFolder(path: string): Promise<void> {
    await this.#run("make", path, async () => {
      await mkdir(this.path, { recursive: true });
      const parts = path.split("/");
      for (let count = 1; count <= parts.length; count++) {
        const part = parts.slice(0, count).join("/");
        const found = await this.#check(part);
        if (found === undefined) await mkdir(await this.#locate(part));
        else if (!found.isDirectory()) throw this.#refusal(part, "folder", found);
      }
    });
  }

  /** Checks F1 and F2 for everything in a folder, for programs that open files there themselves. */
  async checkAll(path: string): Promise<void> {
    for (const entry of (await this.list(path)) ?? []) {
      const inside = `${path}/${entry.name}`;
      if (entry.isDirectory()) await this.checkAll(inside);
      else if (!entry.isFile()) throw this.#refusal(inside, "file", entry);
    }
  }

  #run<T>(verb: string, path: string, operation: () => Promise<T>): Promise<T> {
    return this.access.run(`${verb} ${join(this.path, path)}`, operation);
  }

  async #locate(path: string): Promise<string> {
    this.#realPath ??= await realpath(this.path);
    return join(this.#realPath, ...path.split("/"));
  }

  /** Checks F1; undefined if the path does not exist. */
  async #check(path: string): Promise<Stats | undefined> {
    const parts = path.split("/");
    for (let count = 1; count < parts.length; count++) {
      const above = parts.slice(0, count).join("/");
      const found = await ifThere(async () => await lstat(await this.#locate(above)));
      if (found === undefined) return undefined;
      if (found.isSymbolicLink()) throw this.#refusal(above, "folder", found);
    }
    return await ifThere(async () => await lstat(await this.#locate(path)));
  }

  /** Checks F1 and F2. */
  async #checkFile(path: string): Promise<Stats | undefined> {
    const found = await this.#check(path);
    if (found !== undefined && !found.isFile()) throw this.#refusal(path, "file", found);
    return found;
  }

  async #withFile<T>(
    path: string,
    { flags, mode }: { flags: number; mode?: number | undefined },
    use: (file: FileHandle) => Promise<T>,
  ): Promise<T> {
    const file = await open(await this.#locate(path), flags, mode);
    try {
      const found = await file.stat();
      if (!found.isFile()) throw this.#refusal(path, "file", found);
      return await use(file);
    } finally {
      await file.close();
    }
  }

  async #rename(from: string, to: string): Promise<void> {
    await rename(await this.#locate(from), await this.#locate(to));
    await this.#syncFolder(parentOf(to));
  }

  /** Makes a rename durable by syncing its folder. Windows has no such operation, and needs none. */
  async #syncFolder(path: string): Promise<void> {
    if (process.platform === "win32") return;
    const folder = await open(await this.#locate(path), readFlags | constants.O_DIRECTORY);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  #refusal(path: string, wanted: "file" | "folder", found: Stats | Dirent): EngineError {
    return new EngineError(
      "WORKFLOW_INVALID",
      `${preview(join(this.path, path))} is not a ${wanted} but a ${kindOf(found)}, and is left alone`,
    );
  }
}

function kindOf(found: Stats | Dirent): string {
  if (found.isSymbolicLink()) return "link";
  if (found.isDirectory()) return "folder";
  if (found.isFIFO()) return "pipe";
  if (found.isSocket()) return "socket";
  return found.isFile() ? "file" : "device";
}

async function contentOf(file: FileHandle, bytesMax: number): Promise<Buffer> {
  const { size } = await file.stat();
  if (size > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`);
  return await file.readFile();
}

async function writeThrough(file: FileHandle, content: string | Uint8Array): Promise<void> {
  await file.writeFile(content);
  await file.sync();
}

function parentOf(path: string): string {
  return path.split("/").slice(0, -1).join("/");
}

function sibling(path: string, name: string): string {
  return [...path.split("/").slice(0, -1), name].join("/");
}

async function ifThere<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}
