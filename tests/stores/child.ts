import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";

/** A real process that runs one of the programs in `children/`, and is dead when the test ends. */
export class Child {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  constructor(t: TestContext, program: string, file: string) {
    const path = fileURLToPath(new URL(`./children/${program}`, import.meta.url));
    this.#process = spawn(process.execPath, ["--expose-gc", path, file], { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface(this.#process.stdout)[Symbol.asyncIterator]();
    t.after(() => this.kill());
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Its next line, or undefined when it has ended. */
  async line(): Promise<string | undefined> {
    const next = await this.#lines.next();
    return next.done ? undefined : next.value;
  }

  say(line: string): void {
    this.#process.stdin.write(`${line}\n`);
  }

  stop(): void {
    this.#process.kill("SIGSTOP");
  }

  /** As kill -9; resolves when it is gone. */
  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill("SIGKILL");
    await once(this.#process, "exit");
  }
}
