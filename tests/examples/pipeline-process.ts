import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { TestContext } from "node:test";
import { temporaryFolder } from "../support/temporary-folder.ts";

const program = join(import.meta.dirname, "../../examples/pipeline.ts");

/** A folder for the database and the files, gone when the test ends. */
export function exampleFolder(t: TestContext): string {
  const folder = temporaryFolder(t);
  return folder;
}

/** `npm start` as a child process: what it prints, and its end. */
export class PipelineProcess {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  out = "";
  errors = "";

  constructor(t: TestContext, folder: string) {
    const env = { ...process.env, HEDDLE_EXAMPLE_DIR: folder, HEDDLE_EXAMPLE_SPEED: "12", NO_COLOR: "1" };
    this.#child = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "pipe"] });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => (this.out += text));
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => (this.errors += text));
    this.ended = once(this.#child, "close").then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
    }));
    t.after(() => this.#child.kill("SIGKILL"));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Resolves when it has printed that; rejects if it ends first. */
  async prints(what: RegExp): Promise<void> {
    while (!what.test(this.out)) {
      const more = await Promise.race([once(this.#child.stdout, "data"), this.ended]);
      if (!Array.isArray(more) && !what.test(this.out)) {
        throw new Error(`it ended without printing ${what}:\n${this.out}${this.errors}`);
      }
    }
  }

  /** The tasks it has told to be done. */
  get toldDone(): string[] {
    return [...this.out.matchAll(/[✓–] ([\w-]+)/g)].map((match) => match[1] ?? "");
  }
}

export interface JournalEntry {
  readonly what: "began" | "ended";
  readonly task: string;
  readonly attempt: number;
  readonly pid: number;
}

/** What the jobs themselves wrote down. */
export function readJournal(folder: string, run: string): JournalEntry[] {
  const text = readFileSync(join(folder, "pipeline", run, "journal.jsonl"), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as JournalEntry);
}
