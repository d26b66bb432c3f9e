import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../base/error.ts";
import type { Save } from "./catalogue-entry.ts";
import { commitMessage, oneLine } from "./commit-message.ts";
import type { FolderFiles } from "./folder-files.ts";
import { GitRepository } from "./git-repository.ts";

const timeoutMs = 20_000;

/** Longer than the timeout of git itself: a process that hangs in a file system cannot be killed. */
const accessMs = timeoutMs + 5000;

const outputBytesMax = 64 * 1024 * 1024;

/** Mode of a regular file in a tree. */
const fileMode = "100644";

/**
 * Commits the files of a folder to a repository in that folder, for people: Heddle reads nothing back.
 *
 * A repository's settings can name programs (filters, hooks, monitors), and anyone who can write to the folder can change
 * them. So no git command ever uses the repository: plumbing commands run on an empty git directory that is created for
 * one commit, with a copy of the index, and filters off. Git reads the repository's objects, and writes nothing there:
 * `HEAD`, branch, index and new objects are read and written as files (GitRepository).
 */
export class Git {
  readonly #binary: string;

  constructor(options: { binary?: string } = {}) {
    this.#binary = options.binary ?? "git";
  }

  /** Commits the file, unless it equals the last commit. Throws an error for the user if git is missing or refuses. */
  async commit(files: FolderFiles, file: string, save: Omit<Save, "version">): Promise<void> {
    const scratch = await makeScratch();
    try {
      const run = (args: readonly string[], input?: string): Promise<string> =>
        files.access.run(
          `git ${args[0]} in ${files.path}`,
          () => this.#run({ scratch, folder: files.path, save, args, input }),
          accessMs,
        );
      if (!(await GitRepository.exists(files))) await run(["init", "--quiet", "--template=", files.path]);
      const repository = await GitRepository.open(files);
      await lendObjects(repository, scratch);
      await commitFile({ repository, run, scratch, files, file, save });
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }

  async #run({ scratch, folder, save, args, input }: Command): Promise<string> {
    const env = args[0] === "init" ? cleanEnvironment(scratch) : environment({ scratch, save });
    return await new Promise((resolve, reject) => {
      const options = {
        cwd: scratch,
        env,
        timeout: timeoutMs,
        killSignal: "SIGKILL" as const,
        maxBuffer: outputBytesMax,
        windowsHide: true,
      };
      const child = execFile(this.#binary, [...args], options, (error, stdout, stderr) => {
        if (error === null) return resolve(stdout);
        const reason = reasonOf(error, stderr, this.#binary);
        reject(new Error(`git ${args[0]} in ${folder}: ${reason}`, { cause: error }));
      });
      // A program that exits early reports the reason itself.
      child.stdin?.on("error", () => undefined);
      child.stdin?.end(input ?? "");
    });
  }
}

interface Command {
  readonly scratch: string;
  readonly folder: string;
  readonly save: Omit<Save, "version">;
  readonly args: readonly string[];
  readonly input: string | undefined;
}

interface Committing {
  readonly repository: GitRepository;
  readonly run: (args: readonly string[], input?: string) => Promise<string>;
  readonly scratch: string;
  readonly files: FolderFiles;
  readonly file: string;
  readonly save: Omit<Save, "version">;
}

async function commitFile({ repository, run, scratch, files, file, save }: Committing): Promise<void> {
  const parent = await repository.head();
  const entries = parent === undefined ? [] : splitEntries(await run(["ls-tree", "-z", parent]));
  const old = entries.find(({ name }) => name === file);
  const text = (await files.read(file))?.toString();
  const blob =
    text === undefined ? undefined : (await run(["hash-object", "-w", "--no-filters", "--stdin"], text)).trim();
  if (blob === old?.object) return;
  const others = entries.filter((entry) => entry !== old).map(({ line }) => line);
  const lines = blob === undefined ? others : [...others, `${fileMode} blob ${blob}\t${file}`];
  const tree = (await run(["mktree", "-z"], lines.map((line) => `${line}\0`).join(""))).trim();
  const before = old === undefined ? undefined : await run(["cat-file", "blob", old.object]);
  const message = commitMessage(save, { before, after: text });
  const parents = parent === undefined ? [] : ["-p", parent];
  const commit = (await run(["commit-tree", tree, ...parents], message)).trim();
  // Updates the index as `git add` does, so that `git status` shows no change.
  const entry = blob === undefined ? `0 ${"0".repeat(commit.length)}` : `${fileMode} ${blob}`;
  await takeObjects(repository, scratch);
  await repository.changeIndex(async (before) => {
    const index = join(scratch, "index");
    if (before !== undefined) await writeFile(index, before);
    await run(["update-index", "-z", "--index-info"], `${entry}\t${file}\0`);
    return await readFile(index);
  });
  await repository.moveHead({ from: parent, to: commit });
}

interface TreeEntry {
  readonly line: string;
  readonly object: string;
  readonly name: string;
}

function splitEntries(text: string): TreeEntry[] {
  return text
    .split("\0")
    .filter((line) => line !== "")
    .map((line) => {
      const [facts = "", name = ""] = line.split("\t", 2);
      return { line, object: facts.split(" ")[2] ?? "", name };
    });
}

/** Makes the repository's objects readable for git in the scratch directory. */
async function lendObjects(repository: GitRepository, scratch: string): Promise<void> {
  await mkdir(join(scratch, "objects", "info"));
  await writeFile(join(scratch, "objects", "info", "alternates"), `${repository.objectsPath}\n`);
}

/** Copies the objects that git created to the repository. */
async function takeObjects(repository: GitRepository, scratch: string): Promise<void> {
  const folder = join(scratch, "objects");
  for (const start of await readdir(folder)) {
    if (start.length !== 2) continue;
    for (const rest of await readdir(join(folder, start))) {
      await repository.addObject(start + rest, await readFile(join(folder, start, rest)));
    }
  }
}

/** Creates a git directory without settings, hooks or branches, writable by this user only. */
async function makeScratch(): Promise<string> {
  const scratch = await mkdtemp(join(tmpdir(), "heddle-git-"));
  for (const name of ["objects", "refs"]) await mkdir(join(scratch, name));
  await writeFile(join(scratch, "HEAD"), "ref: refs/heads/main\n");
  await writeFile(join(scratch, "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = true\n");
  return scratch;
}

/** The environment without git variables, and without the settings of the machine and the user. */
function cleanEnvironment(scratch: string): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.toUpperCase().startsWith("GIT_"));
  return {
    ...Object.fromEntries(own),
    HOME: scratch,
    XDG_CONFIG_HOME: scratch,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_SYSTEM: join(scratch, "none"),
    GIT_CONFIG_GLOBAL: join(scratch, "none"),
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_NO_REPLACE_OBJECTS: "1",
    LC_ALL: "C",
  };
}

function environment({ scratch, save }: Pick<Command, "scratch" | "save">): NodeJS.ProcessEnv {
  const name = oneLine(save.by) || "heddle";
  const email = "heddle@localhost";
  return {
    ...cleanEnvironment(scratch),
    GIT_DIR: scratch,
    GIT_INDEX_FILE: join(scratch, "index"),
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_AUTHOR_DATE: `@${Math.floor(save.at / 1000)} +0000`,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  };
}

function reasonOf(error: unknown, stderr: string, binary: string): string {
  const { code, killed } = error as NodeJS.ErrnoException & { killed?: boolean };
  if (code === "ENOENT") return `there is no program "${binary}"; install git, or switch commits off`;
  if (killed === true) return `it took longer than ${timeoutMs / 1000} s`;
  const said = stderr
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join("; ");
  return said === "" ? messageOf(error) : said.slice(0, 500);
}
