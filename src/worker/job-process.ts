import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { EngineError, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Outcome } from "../kernel/input.ts";
import { OutputLines } from "../processes/output-lines.ts";
import { killWithThisProcess } from "../processes/process-groups.ts";
import { markOf } from "../processes/process-mark.ts";
import { treeMemoryBytes } from "../processes/process-memory.ts";
import { killOrphans, killTree } from "../processes/process-tree.ts";
import { TextTail } from "../processes/text-tail.ts";
import { failureOutcome } from "./call-job.ts";
import type { FromRunner, JobOrder, ToRunner } from "./order-message.ts";
import { logOutput, type OrderServices, SentOrder } from "./sent-order.ts";

/** Sources and built package alike: the main file of a child stands beside this one and has the same ending. */
const mainFile = fileURLToPath(
  new URL(`./process-main${import.meta.url.slice(import.meta.url.lastIndexOf("."))}`, import.meta.url),
);

/** Flags of a parent that is no script: node --eval. Their children would run the same text again. */
const evalFlags = ["-e", "--eval", "-p", "--print", "-pe", "--input-type"];
/** Flags that are about the parent alone: a debugger's port is taken, and the tests are its own. */
const ownFlags = ["--inspect", "--test", "--watch", "--max-old-space-size"];

const memoryWatchMs = 250;
const loggedLinesMax = 10_000;
const stderrLengthMax = 16_384;
const stderrLinesShown = 20;
const heapIsFull = "JavaScript heap out of memory";

export interface ProcessLimits {
  /** The maximum of resident memory of the process and all that it starts (Linux), and of its JavaScript heap (everywhere). */
  readonly memoryLimitMb?: number | undefined;
}

export interface JobProcessParts extends OrderServices, ProcessLimits {
  readonly logger: Logger;
}

/**
 * The child process of one attempt.
 *
 * - P1 It runs nothing else before or after, so nothing of a job is left for the next one.
 * - P2 It leads a process group. When it ends, or the attempt does, everything in the group and everything that carries the
 *   mark of the attempt is killed; so it is when the worker's process ends, in whatever way (`process-groups.ts`).
 * - P3 `run` resolves when the output of all of them is read.
 */
export class JobProcess {
  readonly #sent: SentOrder;
  readonly #parts: JobProcessParts;
  readonly #stderr = new TextTail(stderrLengthMax);
  #child: ChildProcess | undefined;
  #outcome: Outcome | undefined;
  #isKilled = false;
  #isOverMemory = false;
  #loggedLines = 0;

  constructor(order: JobOrder, parts: JobProcessParts) {
    this.#parts = parts;
    this.#sent = new SentOrder(order, parts, (message) => this.#post(message));
  }

  get #attemptId(): string {
    return this.#sent.order.run.attemptId;
  }

  /** Runs the attempt. Never rejects; the attempt is lost if it was killed from here. */
  async run(): Promise<Outcome> {
    await killOrphans(this.#attemptId);
    if (this.#isKilled) return { kind: "lost" };
    try {
      return await this.#runIn(this.#spawn());
    } catch (error) {
      const message = `the process of task "${this.#taskName}" cannot be started: ${messageOf(error)}`;
      return failureOutcome(new EngineError("PROCESS_EXITED", message, { cause: error }));
    } finally {
      this.#sent.end();
    }
  }

  /** Aborts the job's signal. */
  abort({ name, message }: Error): void {
    this.#post({ type: "abort", reason: { name, message } });
  }

  /** Kills the process and all that it has started. */
  async kill(): Promise<void> {
    this.#isKilled = true;
    if (this.#child !== undefined) await killTree(this.#child, this.#attemptId);
  }

  get #taskName(): string {
    return this.#sent.order.run.taskName;
  }

  #spawn(): ChildProcess {
    const { memoryLimitMb } = this.#parts;
    const heap = memoryLimitMb === undefined ? [] : [`--max-old-space-size=${memoryLimitMb}`];
    return spawn(process.execPath, [...inheritedFlags(), ...heap, mainFile], {
      env: { ...process.env, ...markOf(this.#attemptId) },
      // A group of its own, so that one signal reaches all of it.
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      serialization: "advanced",
    });
  }

  async #runIn(child: ChildProcess): Promise<Outcome> {
    this.#child = child;
    const release = child.pid === undefined ? undefined : killWithThisProcess(child.pid);
    const memory = this.#watchMemory(child);
    this.#captureOutput(child.stdout, "stdout");
    this.#captureOutput(child.stderr, "stderr");
    const closed = once(child, "close");
    closed.catch(() => undefined);
    const exited = once(child, "exit");
    const ended = Promise.withResolvers<unknown>();
    child.on("message", (message: FromRunner) => {
      if (message.type === "ended") ended.resolve((this.#outcome ??= message.outcome));
      else this.#receive(message);
    });
    this.#post({ type: "run", order: this.#sent.order });
    try {
      await Promise.race([exited, ended.promise]);
      await killTree(child, this.#attemptId);
      await closed;
    } finally {
      clearInterval(memory);
      release?.();
    }
    if (this.#outcome !== undefined && !this.#isOverMemory) return this.#outcome;
    return this.#isKilled ? { kind: "lost" } : failureOutcome(this.#errorOfExit(child));
  }

  #receive(message: Exclude<FromRunner, { type: "ended" }>): void {
    if (message.type === "log") this.#parts.logger[message.level](message.fields, message.message);
    this.#sent.receive(message);
  }

  #post(message: ToRunner): void {
    if (this.#child?.connected !== true) return;
    try {
      // An error after the end of the process is that end, which is handled as such.
      this.#child.send(message, () => undefined);
    } catch (error) {
      const problem = `the params of task "${this.#taskName}" cannot be copied to a process: ${messageOf(error)}`;
      this.#outcome = failureOutcome(new EngineError("VALUE_NOT_SERIALIZABLE", problem, { cause: error }));
      this.#child.kill("SIGKILL");
    }
  }

  #captureOutput(output: Readable | null, stream: "stdout" | "stderr"): void {
    const level = stream === "stdout" ? "info" : "warn";
    const log = (text: string): void => {
      if (stream === "stderr") this.#stderr.add(`${text}\n`);
      if (this.#loggedLines++ < loggedLinesMax) logOutput(this.#sent, this.#parts.logger, { level, stream, text });
      if (this.#loggedLines !== loggedLinesMax) return;
      const note = `further output is not logged: it has more than ${loggedLinesMax} lines`;
      logOutput(this.#sent, this.#parts.logger, { level: "warn", stream, text: note });
    };
    const lines = new OutputLines(log);
    output
      ?.setEncoding("utf8")
      .on("data", (text: string) => lines.write(text))
      .on("end", () => lines.end());
  }

  #watchMemory(child: ChildProcess): NodeJS.Timeout | undefined {
    const { memoryLimitMb } = this.#parts;
    const { pid } = child;
    if (memoryLimitMb === undefined || pid === undefined) return undefined;
    return setInterval(() => void this.#checkMemory(pid, memoryLimitMb), memoryWatchMs);
  }

  async #checkMemory(pid: number, limitMb: number): Promise<void> {
    const bytes = await treeMemoryBytes(pid);
    if (bytes === undefined || bytes <= limitMb * 1_048_576 || this.#child?.exitCode !== null) return;
    this.#isOverMemory = true;
    this.#child.kill("SIGKILL");
  }

  /** Why the process has ended before its job did. */
  #errorOfExit({ exitCode, signalCode }: ChildProcess): EngineError {
    const { memoryLimitMb } = this.#parts;
    const task = `the process of task "${this.#taskName}"`;
    if (this.#isOverMemory || this.#stderr.text.includes(heapIsFull)) {
      const limit = memoryLimitMb === undefined ? "its JavaScript heap could hold" : `its limit of ${memoryLimitMb} MB`;
      return new EngineError("PROCESS_MEMORY_LIMIT", `${task} was ended: it used more memory than ${limit}`);
    }
    const how = signalCode === null ? `ended with exit code ${exitCode}` : `was killed by ${signalCode}`;
    const lines = this.#stderr.text.trim().split("\n").slice(-stderrLinesShown).join("\n");
    const said = lines === "" ? "" : `; stderr ends with:\n${lines}`;
    return new EngineError("PROCESS_EXITED", `${task} ${how} before its job returned${said}`);
  }
}

/** True for one of these flags, with a value or a longer name. */
function isOf(flag: string, names: readonly string[]): boolean {
  return names.some((name) => flag === name || flag.startsWith(`${name}=`) || flag.startsWith(`${name}-`));
}

function inheritedFlags(): string[] {
  if (process.execArgv.some((flag) => isOf(flag, evalFlags))) return [];
  return process.execArgv.filter((flag) => !isOf(flag, ownFlags));
}
