import { execFile } from "node:child_process";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { messageOf } from "../base/error.ts";
import type { Save } from "./catalogue-entry.ts";

const run = promisify(execFile);

const timeoutMs = 30_000;

/** Nothing of the repository's or the user's own settings runs a program, asks a question or stays behind. */
const settings = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "commit.gpgSign=false",
  "gc.autoDetach=false",
  "user.email=heddle@localhost",
];

/** Keeps the files of a folder in a repository of that folder's own, for people: Heddle reads nothing back. */
export class Git {
  readonly #binary: string;

  constructor(options: { binary?: string } = {}) {
    this.#binary = options.binary ?? "git";
  }

  /** Nothing if the file is as it was committed last. Throws what to tell a person if git is missing or refuses. */
  async commit(folder: string, file: string, save: Omit<Save, "version">): Promise<void> {
    const git = (...args: string[]): Promise<string> => this.#run(folder, save, args);
    if (!(await hasRepository(folder))) await git("init", "--quiet");
    if ((await git("status", "--porcelain", "--", file)) === "") return;
    await git("add", "--all", "--force", "--", file);
    await git("commit", "--quiet", "--no-verify", "-m", messageFor(save), "--", file);
  }

  async #run(folder: string, { by, at }: Omit<Save, "version">, args: readonly string[]): Promise<string> {
    const given = [...settings, `user.name=${oneLine(by) || "heddle"}`].flatMap((setting) => ["-c", setting]);
    try {
      const { stdout } = await run(this.#binary, [...given, ...args], {
        cwd: folder,
        env: environment(folder, at),
        timeout: timeoutMs,
        windowsHide: true,
      });
      return stdout;
    } catch (error) {
      throw new Error(`git ${args[0]} in ${folder}: ${reasonOf(error, this.#binary)}`, { cause: error });
    }
  }
}

/** `Update DAG spec - Create by ann at 2026-01-05T12:00:00.000Z` */
function messageFor({ operation, by, at }: Omit<Save, "version">): string {
  return `Update DAG spec - ${operation} by ${oneLine(by) || "unknown"} at ${new Date(at).toISOString()}`;
}

/** A repository that is somewhere else must not be written to. */
async function hasRepository(folder: string): Promise<boolean> {
  const path = join(folder, ".git");
  try {
    if ((await lstat(path)).isDirectory()) return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
  throw new Error(`${path} is not a folder, so it is left alone and nothing is committed`);
}

/** What this process was told about some other repository does not count here. */
function environment(folder: string, at: number): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.toUpperCase().startsWith("GIT_"));
  return {
    ...Object.fromEntries(own),
    GIT_DIR: join(folder, ".git"),
    GIT_WORK_TREE: folder,
    GIT_TERMINAL_PROMPT: "0",
    GIT_AUTHOR_DATE: `${Math.floor(at / 1000)} +0000`,
    LC_ALL: "C",
  };
}

function reasonOf(error: unknown, binary: string): string {
  const { code, killed, stderr } = error as NodeJS.ErrnoException & { killed?: boolean; stderr?: string };
  if (code === "ENOENT") return `there is no program "${binary}"; install git, or switch commits off`;
  if (killed === true) return `it took longer than ${timeoutMs / 1000} s`;
  const said = stderr?.trim().replaceAll(/\s*\n\s*/g, "; ");
  return said === undefined || said === "" ? messageOf(error) : said.slice(0, 500);
}

/** A name that came over the wire, as it may stand in a commit. */
function oneLine(text: string | null): string {
  // oxlint-disable-next-line no-control-regex -- that is what is taken out
  return (text ?? "").replaceAll(/[<>\u0000-\u001f\u007f]+/g, " ").trim();
}
