import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../base/error.ts";
import { killWithThisProcess } from "../processes/process-groups.ts";
import { markOf } from "../processes/process-mark.ts";
import { killOrphans, killTree, signalGroup } from "../processes/process-tree.ts";
import { TextTail } from "../processes/text-tail.ts";
import { JobFailure } from "./job-failure.ts";
import type { JobScope } from "./job-scope.ts";
import { RedactedLines } from "./redacted-lines.ts";

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | undefined;
  readonly timeoutSeconds: number;
  readonly outputBytesMax: number;
  readonly exitCodes: readonly number[];
}

/** How a command ended, and what it wrote. */
export interface CommandResult {
  readonly exitCode: number;
  /** The end of the output, if it is longer than `outputBytesMax`. */
  readonly stdout: string;
  readonly truncated: boolean;
}

/** Variables of the worker that a command gets; the others may hold secrets. */
const inherited = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR"];

const graceMs = 2000;
const loggedLinesMax = 10_000;
const stderrLinesShown = 20;

/** Runs a command to its end. When it ends, times out or is aborted, every process that it has started is killed. */
export async function runCommand(command: Command, { ctx, log, redactor }: JobScope): Promise<CommandResult> {
  await killOrphans(ctx.attemptId);
  const signal = AbortSignal.any([ctx.signal, AbortSignal.timeout(command.timeoutSeconds * 1000)]);
  signal.throwIfAborted();
  const child = spawn(command.file, command.args, {
    cwd: command.cwd,
    env: { ...environment(), ...command.env, ...markOf(ctx.attemptId) },
    // A group of its own, so that one signal reaches all of it.
    detached: true,
    stdio: "pipe",
  });
  const release = child.pid === undefined ? undefined : killWithThisProcess(child.pid);
  let logged = 0;
  const logLine = (stream: "stdout" | "stderr", line: string): void => {
    if (logged++ < loggedLinesMax) log[stream === "stdout" ? "info" : "warn"]({ stream }, line);
    if (logged === loggedLinesMax) log.warn(`further output is not logged: it has more than ${loggedLinesMax} lines`);
  };
  const stdout = new TextTail(command.outputBytesMax);
  const stderr = new TextTail(command.outputBytesMax);
  for (const [name, tail] of [
    ["stdout", stdout],
    ["stderr", stderr],
  ] as const) {
    const lines = new RedactedLines(redactor, (piece, isEnd) => {
      tail.add(isEnd ? `${piece}\n` : piece);
      logLine(name, piece);
    });
    child[name]
      .setEncoding("utf8")
      .on("data", (text: string) => lines.write(text))
      .on("end", () => lines.end());
  }
  // A command need not read its input.
  child.stdin.on("error", () => undefined).end(command.stdin ?? "");
  try {
    const exitCode = await exitOf(child, { signal, attemptId: ctx.attemptId, command });
    if (!command.exitCodes.includes(exitCode)) throw exited(exitCode, stderr);
    return { exitCode, stdout: stdout.text.replace(/\n$/, ""), truncated: stdout.isTruncated };
  } catch (error) {
    if (error instanceof JobFailure || ctx.signal.aborted || !signal.aborted) throw error;
    const message = `the command was killed after ${command.timeoutSeconds} seconds`;
    throw new JobFailure("CommandFailed", message, { retryable: true });
  } finally {
    release?.();
  }
}

async function exitOf(
  child: ChildProcess,
  { signal, attemptId, command }: { signal: AbortSignal; attemptId: string; command: Command },
): Promise<number> {
  const closed = once(child, "close");
  closed.catch(() => undefined);
  try {
    await once(child, "exit", { signal });
  } catch (error) {
    if (!signal.aborted) {
      const message = `${command.file} cannot be started: ${messageOf(error)}`;
      throw new JobFailure("CommandFailed", message, { retryable: false });
    }
    signalGroup(child, "SIGTERM");
    await Promise.race([closed, delay(graceMs, undefined, { ref: false })]);
    await killTree(child, attemptId);
    throw signal.reason;
  }
  // Processes that the command leaves behind hold its output open.
  await killTree(child, attemptId);
  await closed;
  return child.exitCode ?? 128;
}

function environment(): Record<string, string> {
  return Object.fromEntries(
    inherited.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}

function exited(exitCode: number, stderr: TextTail): JobFailure {
  const lines = stderr.text.trim().split("\n").slice(-stderrLinesShown).join("\n");
  const said = lines === "" ? "" : `; stderr ends with:\n${lines}`;
  // 126 and 127 of a shell: the program is not executable, or not there.
  const retryable = exitCode !== 126 && exitCode !== 127;
  return new JobFailure("CommandFailed", `the command ended with exit code ${exitCode}${said}`, { retryable });
}
