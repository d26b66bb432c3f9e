import { CommanderError } from "commander";
import { messageOf } from "../base/error.ts";
import { HeddleClientError } from "../client/client-error.ts";
import type { Doors } from "./doors.ts";
import { exitCodeOf, exitCodes, UsageError } from "./exit-code.ts";
import { makeProgram } from "./program.ts";

/** The program `heddle`. Says in words what went wrong, and in its exit code what kind of thing that was. */
export async function main(argv: readonly string[], doors: Doors): Promise<void> {
  // Whoever reads the output may have seen enough, as `head` does.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    process.exit(error.code === "EPIPE" ? exitCodes.done : exitCodes.failed);
  });
  const program = makeProgram(doors);
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    process.exitCode = exitCodeOf(error);
    // The parser has said its own already.
    if (error instanceof CommanderError) return;
    process.stderr.write(
      `${textOf(error, { isVerbose: argv.includes("--verbose"), isJson: argv.includes("--json") })}\n`,
    );
  }
}

function textOf(error: unknown, { isVerbose, isJson }: { isVerbose: boolean; isJson: boolean }): string {
  if (isJson) return JSON.stringify({ error: documentOf(error) });
  return isVerbose && error instanceof Error ? (error.stack ?? error.message) : wordsOf(error);
}

function documentOf(error: unknown): object {
  const message = messageOf(error);
  const code =
    error instanceof UsageError ? "USAGE" : error instanceof Error && "code" in error ? error.code : "INTERNAL";
  return error instanceof HeddleClientError
    ? { code, message, status: error.status, details: error.details }
    : { code, message };
}

function wordsOf(error: unknown): string {
  const lines = [`heddle: ${messageOf(error)}`];
  if (error instanceof HeddleClientError) {
    for (const { path, problem } of error.details) lines.push(`  ${path}: ${problem}`);
    const advice = adviceFor(error);
    if (advice !== undefined) lines.push(advice);
  }
  return lines.join("\n");
}

function adviceFor({ status, code }: HeddleClientError): string | undefined {
  if (code === "UNREACHABLE") return "Start one with: heddle dev. Or name another with --url or HEDDLE_URL.";
  if (status === 401)
    return "Say who you are with --token or HEDDLE_TOKEN; an admin makes one with: heddle token create.";
  if (status === 403) return "This token's role does not allow it: ask an admin for another.";
  if (code === "INSTANCE_UNKNOWN") return "heddle list shows the instances there are.";
  if (code === "WORKFLOW_UNKNOWN") return "heddle workflow list shows the workflows there are.";
  if (code === "SCHEDULE_UNKNOWN") return "heddle schedule list shows the schedules there are.";
  return undefined;
}
