import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { exitCodes } from "./exit-code.ts";
import { FolderTreeWatch } from "./folder-tree-watch.ts";

/** Debounce: editors write a file in several steps, and formatters write several files. */
const settleMs = 150;
const ignoredFolders = new Set(["node_modules", ".git", ".heddle", "dist", "coverage"]);
/** Modules alone: a job that writes its result to a .json file below the folder would restart the server for ever. */
const sourceFile = /\.[cm]?[jt]sx?$/;

interface WatchParts {
  /** The program and its arguments, without `--watch`. */
  readonly file: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly say: (text: string) => void;
}

/** Runs the program in a child process and restarts it whenever a source file below the folder changes. */
export async function watchSources(parts: WatchParts): Promise<void> {
  const restarts = new Restarts(parts);
  const tree = new FolderTreeWatch({
    folder: parts.folder,
    isIgnored: (name) => ignoredFolders.has(name),
    onChange: (path) => restarts.onChange(path),
  });
  try {
    await restarts.run();
  } finally {
    tree.close();
  }
}

class Restarts {
  readonly #parts: WatchParts;
  readonly #changed = new Set<string>();
  #settling: NodeJS.Timeout | undefined;
  #child: ChildProcess | undefined;
  #isStopping = false;
  #wake = Promise.withResolvers<void>();

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  onChange(path: string): void {
    if (!sourceFile.test(path)) return;
    this.#changed.add(path);
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#wake.resolve(), settleMs);
  }

  async run(): Promise<void> {
    const stop = (signal: NodeJS.Signals): void => this.#stop(signal);
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stop);
    try {
      while (!this.#isStopping) await this.#runOnce();
    } finally {
      clearTimeout(this.#settling);
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.removeListener(signal, stop);
    }
  }

  /** Runs the child until a change or a signal. After a child that exits by itself, such as by a syntax error, waits for the next change. */
  async #runOnce(): Promise<void> {
    this.#wake = Promise.withResolvers<void>();
    const { file, args, say } = this.#parts;
    const child = fork(file, [...args], { stdio: "inherit" });
    this.#child = child;
    const ended = once(child, "exit") as Promise<[number | null]>;
    const first = await Promise.race([ended, this.#wake.promise]);
    if (first !== undefined && !this.#isStopping) {
      say("The server has exited. Waiting for a change.");
      await this.#wake.promise;
    }
    if (this.#isStopping) return void (process.exitCode = (await ended)[0] ?? exitCodes.done);
    say(`Changed: ${this.#takeChanges()}. Restarting.`);
    if (first === undefined) child.kill("SIGTERM");
    await ended;
  }

  #takeChanges(): string {
    const names = [...this.#changed];
    this.#changed.clear();
    return names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
  }

  #stop(signal: NodeJS.Signals): void {
    this.#isStopping = true;
    // The terminal has sent Ctrl-C to the child as well; the child ignores a second signal within its echo time.
    this.#child?.kill(signal);
    this.#wake.resolve();
  }
}
