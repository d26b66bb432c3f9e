import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { BareTimes } from "./ceiling.ts";
import type { BenchStorage } from "./storages/bench-storage.ts";

/** It does not outlive this process. */
function forkBeside(file: string, args: readonly string[]): ChildProcess {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = fork(path, args, { execArgv: [], serialization: "advanced" });
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  return child;
}

/** What the child sends, or an error if it ends without a word. */
async function messageFrom<T>(child: ChildProcess): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onExit = (code: number | null): void => reject(new Error(`${child.spawnargs[1]} ended with ${code}`));
  child.once("message", (message) => resolve(message as T));
  child.once("exit", onExit);
  try {
    return await promise;
  } finally {
    child.off("exit", onExit);
  }
}

/** Runs a file of this folder in a process of its own; gives back the one message it sends. */
export async function inChild<T>(file: string, args: readonly string[]): Promise<T> {
  const child = forkBeside(file, args);
  const ended = once(child, "exit");
  const message = await messageFrom<T>(child);
  await ended;
  return message;
}

/**
 * The bare ceiling of one recording in a process of its own, so that neither disturbs the other's heap or compiled code.
 * (A forced garbage collection between the two would do worse: it throws compiled code away.)
 */
export class CeilingProcess {
  readonly #child: ChildProcess;

  /** `copyOf`: the database to start from, instead of an empty one. */
  constructor({ place }: BenchStorage, recordingFile: string, ...copyOf: string[]) {
    this.#child = forkBeside("ceiling-process.ts", [place, recordingFile, ...copyOf]);
  }

  async run(): Promise<BareTimes> {
    const times = messageFrom<BareTimes>(this.#child);
    this.#child.send("run");
    return await times;
  }

  async close(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.disconnect();
    await ended;
  }
}
