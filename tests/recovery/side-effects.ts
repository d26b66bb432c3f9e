import { closeSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";

/** One line of the log: what happened to whom, when, and in which life of the process. */
export interface SideEffect {
  readonly at: number;
  readonly life: number;
  readonly what: What;
  /** An instance id, or an attempt id for what a job did. */
  readonly id: string;
}

export type What =
  /** A process begins, and its engine is up. */
  | "born"
  | "up"
  /** Submit returned. */
  | "accepted"
  /** What jobs do: begin, succeed, fail on purpose. */
  | "start"
  | "done"
  | "fail"
  /** What was asked of an instance, written after the call returned. */
  | "pausing"
  | "paused"
  | "patched"
  | "added"
  | "retried"
  | "mended"
  | "terminated"
  /** Written before the call: from here on its tasks may start again. */
  | "resuming"
  /** It has come to its last end. */
  | "finished";

/** Appends one line per event, each in one unbuffered write: what is in the file happened, even if the writer was killed. */
export class SideEffectLog {
  readonly #file: number;
  readonly #life: number;

  constructor(path: string, life: number) {
    this.#file = openSync(path, "a");
    this.#life = life;
  }

  write(what: What, id: string): void {
    writeSync(this.#file, `${Date.now()} ${this.#life} ${what} ${id}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}

export function readSideEffects(path: string): SideEffect[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  if (lines.pop() !== "") throw new Error(`the last line of ${path} is torn`);
  return lines.map((line) => {
    const [at, life, what, id] = line.split(" ");
    return { at: Number(at), life: Number(life), what: what as What, id: id ?? "" };
  });
}

/** The parts of an attempt id. */
export interface AttemptName {
  readonly instanceId: string;
  readonly generation: number;
  readonly task: number;
  readonly attempt: number;
}

export function attemptName(attemptId: string): AttemptName {
  const parts = attemptId.split(":");
  const [generation, task, attempt] = parts.splice(-3).map(Number) as [number, number, number];
  return { instanceId: parts.join(":"), generation, task, attempt };
}
