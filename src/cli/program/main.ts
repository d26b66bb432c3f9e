import { CommanderError } from "commander";
import { EngineError, messageOf } from "../../base/error.ts";
import { HeddleClientError } from "../../client/client-error.ts";
import type { Doors } from "../doors.ts";
import { exitCodeOf, exitCodes, UsageError } from "../exit-code.ts";
import { loadPlace } from "../load-place.ts";
import { programName } from "../program-name.ts";
import { makeProgram } from "./program.ts";

/**
 * Runs the program `heddle`, and ends the process. Prints errors to standard error; the exit code is by their kind.
 *
 * The process does not wait for its event loop to become empty: a job that ignored the signal to stop would go on beside
 * the next server, which starts the same attempt again.
 */
export async function main(argv: readonly string[], doors: Doors): Promise<void> {
  await run(argv, doors);
  await Promise.all([process.stdout, process.stderr].map(flush));
  process.exit();
}

/** Waits until everything written to the stream has left the process: the writes of pipes are asynchronous on some platforms. */
async function flush(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength === 0) return;
  await new Promise<void>((resolve) => stream.write("", () => resolve()));
}

async function run(argv: readonly string[], doors: Doors): Promise<void> {
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
    process.stderr.write(`${textOf(error, argv)}\n`);
  }
}

function textOf(error: unknown, argv: readonly string[]): string {
  if (argv.includes("--json")) return JSON.stringify({ error: documentOf(error) });
  return argv.includes("--verbose") && error instanceof Error ? (error.stack ?? error.message) : wordsOf(error, argv);
}

function documentOf(error: unknown): object {
  const message = messageOf(error);
  const code =
    error instanceof UsageError ? "USAGE" : error instanceof Error && "code" in error ? error.code : "INTERNAL";
  return error instanceof HeddleClientError
    ? { code, message, status: error.status, details: error.details }
    : { code, message };
}

function wordsOf(error: unknown, argv: readonly string[]): string {
  const lines = [`heddle: ${messageOf(error)}`];
  if (error instanceof HeddleClientError) {
    // A single detail is part of the message already.
    if (error.details.length > 1) for (const { path, problem } of error.details) lines.push(`  ${path}: ${problem}`);
  }
  const advice = error instanceof HeddleClientError ? adviceFor(error, argv) : adviceAbout(error);
  return [...lines, ...advice].join("\n");
}

/** What to do about an error of the server, which knows neither this program's commands nor the one that was typed. */
function adviceFor({ status, code, message }: HeddleClientError, argv: readonly string[]): string[] {
  if (code === "UNREACHABLE")
    return [`Start one with: ${programName()} dev. Or set the server URL with --url or HEDDLE_URL.`];
  if (status === 401) {
    return [
      `Set the API token with --token-file, --token or HEDDLE_TOKEN. An admin creates one with: ${programName()} token create.`,
    ];
  }
  if (status === 403) {
    // Other refusals, such as of another namespace, are not about the role.
    const isOfRole = message.includes("needs the role");
    return isOfRole ? ["The role of this token does not allow it: ask an admin for another token."] : [];
  }
  const isTyped = (...words: string[]): boolean => words.every((word) => argv.includes(word));
  const where = namespaceIn(argv);
  if (code === "JOB_MISSING") return ["A server registers the jobs that its modules export: export this one as well."];
  if (code === "SCHEDULE_OWNED")
    return [`Change it, or switch it off, with: ${programName()} workflow schedule <workflow> --off${where}`];
  if (code === "WORKFLOW_UNKNOWN" && (isTyped("workflow", "diff") || isTyped("workflow", "rollback")))
    return [`List its versions with: ${programName()} workflow versions <workflow>${where}`];
  const list = listsOf[code];
  const all = list === undefined ? [] : [`List them with: ${programName()} ${list}${where}`];
  return code === "WORKFLOW_UNKNOWN" && isTyped("workflow", "delete")
    ? ["Only saved workflows can be deleted; one of a module goes when the module no longer exports it.", ...all]
    : all;
}

/** The namespace that was typed, as the words that repeat it. */
function namespaceIn(argv: readonly string[]): string {
  const place = argv.findIndex((word) => /^--namespace(?:=|$)/.test(word));
  if (place < 0) return "";
  return argv[place]?.includes("=") === true ? ` ${argv[place]}` : ` --namespace ${argv[place + 1] ?? ""}`;
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
