import { CommanderError } from "commander";
import { EngineError, messageOf } from "../../base/error.ts";
import { HeddleClientError } from "../../client/client-error.ts";
import type { Doors } from "../doors.ts";
import { exitCodeOf, exitCodes, UsageError } from "../exit-code.ts";
import { loadPlace } from "../load-place.ts";
import { programName } from "../program-name.ts";
import { makeProgram } from "./program.ts";

/** Runs the program `heddle`. Prints errors to standard error and sets the exit code by their kind. */
export async function main(argv: readonly string[], doors: Doors): Promise<void> {
  // The reader of a pipe may close it early, as `head` does.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    process.exit(error.code === "EPIPE" ? exitCodes.done : exitCodes.failed);
  });
  const program = makeProgram(doors);
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    process.exitCode = exitCodeOf(error);
    // The parser has printed its own errors already.
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
    // A single detail is part of the message already.
    if (error.details.length > 1) for (const { path, problem } of error.details) lines.push(`  ${path}: ${problem}`);
  }
  const advice = error instanceof HeddleClientError ? adviceFor(error) : adviceAbout(error);
  return [...lines, ...advice].join("\n");
}

function adviceFor({ status, code }: HeddleClientError): string[] {
  if (code === "UNREACHABLE")
    return [`Start one with: ${programName()} dev. Or set the server URL with --url or HEDDLE_URL.`];
  if (status === 401) {
    return [
      `Set the API token with --token-file, --token or HEDDLE_TOKEN. An admin creates one with: ${programName()} token create.`,
    ];
  }
  if (status === 403) return ["The role of this token does not allow it: ask an admin for another token."];
  const list = listsOf[code];
  return list === undefined ? [] : [`List them with: ${programName()} ${list}`];
}

const listsOf: Readonly<Record<string, string>> = {
  INSTANCE_UNKNOWN: "list",
  WORKFLOW_UNKNOWN: "workflow list",
  SCHEDULE_UNKNOWN: "schedule list",
};

/** Advice about an error of this machine: a port, or a module that does not load. */
function adviceAbout(error: unknown): string[] {
  if (!(error instanceof EngineError) || error.code !== "OPTION_INVALID" || !(error.cause instanceof Error)) return [];
  const { cause } = error;
  const code = "code" in cause ? cause.code : undefined;
  if (code === "EADDRINUSE") return ["Another program listens there: stop it, or choose another port with --port."];
  if (code === "EACCES" && "port" in cause)
    return ["Choose a port from 1024 on with --port, or run with the privilege to bind low ports."];
  const place = loadPlace(cause);
  return place === undefined ? [] : [`See ${place}`];
}
