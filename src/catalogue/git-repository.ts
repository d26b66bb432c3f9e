import { join } from "node:path";
import type { FolderFiles } from "./folder-files.ts";

const objectId = /^[0-9a-f]{40}$/;

/** Valid branch names; nothing that leads out of `refs/heads`. */
const branchName = /^refs\/heads\/[\w@+=,-][\w@+=,.-]*(\/[\w@+=,-][\w@+=,.-]*)*$/;

/** Files of repositories that refer to another place, or have an unsupported format. */
const foreignFiles = ["commondir", "gitdir", "objects/info/alternates", "objects/info/http-alternates"];
/** Settings of unsupported formats; a setting may be on the line of its section. */
const foreignSettings = /(?:^|\])[ \t]*(objectformat|refstorage|worktreeconfig)\b/im;

/** Size limit of the index, which has about a hundred bytes per file. */
const indexBytesMax = 64 * 1024 * 1024;

/**
 * The `.git` folder of a workflow, read and written as files: `HEAD`, the branch it names, the index, and new objects.
 * Refused if another user owns it, or if it refers to another place: a link, a shared git directory, alternates.
 */
export class GitRepository {
  /** Files of the workflow's folder. */
  readonly #files: FolderFiles;

  private constructor(files: FolderFiles) {
    this.#files = files;
  }

  static async exists(files: FolderFiles): Promise<boolean> {
    return (await files.find(".git")) !== undefined;
  }

  static async open(files: FolderFiles): Promise<GitRepository> {
    for (const each of ["", ".git", ".git/objects", ".git/refs"]) await refuseForeign(files, each);
    for (const name of foreignFiles) {
      if ((await files.find(`.git/${name}`)) === undefined) continue;
      throw new Error(
        `${join(files.path, ".git")} has a file ${name}, which leads to another repository; nothing is committed`,
      );
    }
    const repository = new GitRepository(files);
    const setting = foreignSettings.exec((await repository.#read("config")) ?? "")?.[1];
    if (setting !== undefined) {
      throw new Error(`${join(files.path, ".git")} has the setting ${setting}, which is not supported here`);
    }
    // Git reads the objects itself, so all of them are checked first.
    await files.checkAll(".git/objects");
    return repository;
  }

  /** The object folder, which git reads and never writes. */
  get objectsPath(): string {
    return join(this.#files.path, ".git", "objects");
  }

  /** The head commit of the branch; undefined before the first. */
  async head(): Promise<string | undefined> {
    return await this.#commitOf(await this.#branch());
  }

  /** Adds a git object by its id; `content` is its file. */
  async addObject(id: string, content: Uint8Array): Promise<void> {
    const folder = `.git/objects/${id.slice(0, 2)}`;
    await this.#files.makeFolder(folder);
    const path = `${folder}/${id.slice(2)}`;
    if ((await this.#files.find(path)) !== undefined) return;
    await this.#files.replace(path, content, "tmp_obj_heddle", 0o444);
  }

  /** Replaces the index as git does: a lock file, which is renamed to the index. */
  async changeIndex(change: (before: Buffer | undefined) => Promise<Uint8Array>): Promise<void> {
    await this.#underLock(".git/index", async (lock) => {
      const after = await change(await this.#files.read(".git/index", { bytesMax: indexBytesMax }));
      await this.#files.overwrite(lock, after);
    });
  }

  async moveHead({ from, to }: { from: string | undefined; to: string }): Promise<void> {
    const branch = await this.#branch();
    const folders = branch.split("/").slice(0, -1);
    await this.#files.makeFolder([".git", ...folders].join("/"));
    for (let count = folders.length; count > 0; count--) {
      await refuseForeign(this.#files, [".git", ...folders.slice(0, count)].join("/"));
    }
    await this.#underLock(`.git/${branch}`, async (lock) => {
      if ((await this.#commitOf(branch)) !== from)
        throw new Error(`${branch} moved meanwhile; the next save commits it`);
      await this.#files.overwrite(lock, `${to}\n`);
    });
  }

  async #underLock(path: string, fill: (lock: string) => Promise<void>): Promise<void> {
    const lock = `${path}.lock`;
    await this.#files.create(lock, "");
    try {
      await fill(lock);
      await this.#files.rename(lock, path);
    } catch (error) {
      await this.#files.remove(lock);
      throw error;
    }
  }

  async #branch(): Promise<string> {
    const text = (await this.#read("HEAD")) ?? "";
    const branch = /^ref: (\S+)\n?$/.exec(text)?.[1];
    if (branch !== undefined && branchName.test(branch) && !branch.includes("..") && !branch.endsWith(".lock"))
      return branch;
    throw new Error(`${join(this.#files.path, ".git/HEAD")} names no branch that can be committed to`);
  }

  async #commitOf(branch: string): Promise<string | undefined> {
    const own = await this.#read(branch);
    const id = own?.trim() ?? packedId((await this.#read("packed-refs")) ?? "", branch);
    if (id === undefined || objectId.test(id)) return id;
    throw new Error(`${join(this.#files.path, ".git", branch)} holds no commit`);
  }

  /** Reads a file as text; undefined if it does not exist. */
  async #read(name: string): Promise<string | undefined> {
    return (await this.#files.read(`.git/${name}`))?.toString();
  }
}

function packedId(packed: string, branch: string): string | undefined {
  const line = packed.split("\n").find((each) => each.endsWith(` ${branch}`) && !each.startsWith("#"));
  return line?.split(" ")[0];
}

/** Refuses a folder of another user, who could change it concurrently. Windows has no user ids. */
async function refuseForeign(files: FolderFiles, name: string): Promise<void> {
  const path = join(files.path, name);
  const found = await files.find(name);
  if (found?.isDirectory() !== true)
    throw new Error(`${path} is not a folder, so it is left alone and nothing is committed`);
  const self = process.getuid?.();
  if (self === undefined || found.uid === self || found.uid === 0) return;
  throw new Error(
    `${path} belongs to user ${found.uid} and this process is user ${self}; nothing is committed to a repository of another user`,
  );
}
