import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { killWithThisProcess } from "../processes/process-groups.ts";
import { JobFailure } from "./job-failure.ts";
import type { RunSql, SqlAnswer } from "./sql-request.ts";

const program = fileURLToPath(
  new URL(`./sqlite-main${import.meta.url.slice(import.meta.url.lastIndexOf("."))}`, import.meta.url),
);

/** Runs in a process of its own: a statement blocks its thread until it ends, and nothing but the end of the process stops it. */
export const runOnSqlite: RunSql = async (request, signal) => {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", program], {
    env: {},
    stdio: ["pipe", "pipe", "inherit"],
    // A group of its own, which is killed with this process.
    detached: true,
    signal,
    killSignal: "SIGKILL",
  });
  const release = child.pid === undefined ? undefined : killWithThisProcess(child.pid);
  const said = text(child.stdout);
  // The process may end before it has read its input.
  child.stdin.on("error", () => undefined).end(JSON.stringify(request));
  await once(child, "close")
    .catch((error: unknown) => {
      signal.throwIfAborted();
      throw error;
    })
    .finally(() => release?.());
  signal.throwIfAborted();
  const answer = JSON.parse(await said) as SqlAnswer | { readonly error: string; readonly retryable: boolean };
  if (!("error" in answer)) return answer;
  throw new JobFailure("SqlFailed", `the database refused: ${answer.error}`, { retryable: answer.retryable });
};
