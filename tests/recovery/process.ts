import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A real process running one of the programs beside this file. Whoever makes one kills it in a `finally`. */
export class Process {
  readonly #process: ChildProcessByStdio<null, Readable, Readable>;
  readonly #lines: AsyncIterator<string>;
  /** Resolves when it is gone and all it wrote has been read. */
  readonly exit: Promise<Exit>;
  #stderr = "";

  constructor(program: string, args: readonly (string | number)[]) {
    const path = fileURLToPath(new URL(program, import.meta.url));
    this.#process = spawn(process.execPath, [path, ...args.map(String)], { stdio: ["ignore", "pipe", "pipe"] });
    this.#lines = createInterface(this.#process.stdout)[Symbol.asyncIterator]();
    this.#process.stderr.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
    this.exit = new Promise((resolve) => this.#process.once("close", (code, signal) => resolve({ code, signal })));
  }

  get stderr(): string {
    return this.#stderr;
  }

  get isAlive(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Its next line, or undefined when it has ended. */
  async line(): Promise<string | undefined> {
    const next = await this.#lines.next();
    return next.done ? undefined : next.value;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** As kill -9, at once whatever it does, stopped or not. */
  async kill(): Promise<Exit> {
    if (this.isAlive) this.#process.kill("SIGKILL");
    return await this.exit;
  }
}
