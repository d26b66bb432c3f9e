import { lstat, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

const objectId = /^[0-9a-f]{40}$/;

/** Names of branches as people give them; nothing that leads out of `refs/heads`. */
const branchName = /^refs\/heads\/[\w@+=,-][\w@+=,.-]*(\/[\w@+=,-][\w@+=,.-]*)*$/;

/** What a repository may have that leads somewhere else, or that is kept in another way than is known here. */
const foreignFiles = ["commondir", "gitdir", "objects/info/alternates", "objects/info/http-alternates"];
/** A setting may stand on the line of its section. */
const foreignSettings = /(?:^|\])[ \t]*(objectformat|refstorage|worktreeconfig)\b/im;

/**
 * The `.git` folder of a workflow, read and written as files: `HEAD`, the branch it names, and nothing else. Refused if
 * somebody else owns it, or if it leads to another place: a link, a shared git directory, alternates.
 */
export class GitRepository {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  static async exists(folder: string): Promise<boolean> {
    return (await find(join(folder, ".git"))) !== undefined;
  }

  static async open(folder: string): Promise<GitRepository> {
    const path = join(folder, ".git");
    for (const each of [folder, path, join(path, "objects"), join(path, "refs")]) await refuseForeign(each);
    for (const name of foreignFiles) {
      if ((await find(join(path, name))) === undefined) continue;
      throw new Error(`${path} has a file ${name}, which leads to another repository; nothing is committed`);
    }
    const config = (await readIfThere(join(path, "config"))) ?? "";
    const setting = foreignSettings.exec(config)?.[1];
    if (setting !== undefined) throw new Error(`${path} has the setting ${setting}, which is not supported here`);
    return new GitRepository(path);
  }

  /** The commit that the branch is at; undefined before the first. */
  async head(): Promise<string | undefined> {
    return await this.#commitOf(await this.#branch());
  }

  /** As git does it: a lock beside the file, which becomes the file. */
  async moveHead({ from, to }: { from: string | undefined; to: string }): Promise<void> {
    const branch = await this.#branch();
    const file = join(this.#path, branch);
    await mkdir(dirname(file), { recursive: true });
    for (let part = dirname(file); part !== this.#path; part = dirname(part)) await refuseForeign(part);
    const lock = `${file}.lock`;
    const handle = await open(lock, "wx");
    try {
      if ((await this.#commitOf(branch)) !== from)
        throw new Error(`${branch} moved meanwhile; the next save commits it`);
      await handle.writeFile(`${to}\n`);
      await handle.sync();
      await rename(lock, file);
    } catch (error) {
      await rm(lock, { force: true });
      throw error;
    } finally {
      await handle.close();
    }
  }

  async #branch(): Promise<string> {
    const text = (await readIfThere(join(this.#path, "HEAD"))) ?? "";
    const branch = /^ref: (\S+)\n?$/.exec(text)?.[1];
    if (branch !== undefined && branchName.test(branch) && !branch.includes("..") && !branch.endsWith(".lock"))
      return branch;
    throw new Error(`${join(this.#path, "HEAD")} names no branch that can be committed to`);
  }

  async #commitOf(branch: string): Promise<string | undefined> {
    const own = await readIfThere(join(this.#path, branch));
    const id = own?.trim() ?? packedId((await readIfThere(join(this.#path, "packed-refs"))) ?? "", branch);
    if (id === undefined || objectId.test(id)) return id;
    throw new Error(`${join(this.#path, branch)} holds no commit`);
  }
}

function packedId(packed: string, branch: string): string | undefined {
  const line = packed.split("\n").find((each) => each.endsWith(` ${branch}`) && !each.startsWith("#"));
  return line?.split(" ")[0];
}

/** A folder of somebody else's could be changed under us, or be a trap. Windows has no such numbers. */
async function refuseForeign(path: string): Promise<void> {
  const found = await lstat(path);
  if (!found.isDirectory()) throw new Error(`${path} is not a folder, so it is left alone and nothing is committed`);
  const self = process.getuid?.();
  if (self === undefined || found.uid === self || found.uid === 0) return;
  throw new Error(
    `${path} belongs to user ${found.uid} and this process is user ${self}; nothing is committed to a repository of another user`,
  );
}

async function find(path: string): Promise<unknown> {
  try {
    return await lstat(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Undefined if it is not there. A link is refused: it may lead anywhere. */
async function readIfThere(path: string): Promise<string | undefined> {
  try {
    if (!(await lstat(path)).isFile()) throw new Error(`${path} is not a file; nothing is committed`);
    return await readFile(path, "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}
