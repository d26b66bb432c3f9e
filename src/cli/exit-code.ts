import { CommanderError } from "commander";
import { HeddleClientError } from "../client/client-error.ts";

/** The exit codes of the program. docs/cli.md has the same table. */
export const exitCodes = { done: 0, failed: 1, usage: 2, unreachable: 3, forbidden: 4, interrupted: 130 } as const;

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  if (error instanceof UsageError) return exitCodes.usage;
  if (!(error instanceof HeddleClientError)) return exitCodes.failed;
  // Status 0: the client itself refused the arguments, without sending a request.
  if (error.code === "OPTION_INVALID" && error.status === 0) return exitCodes.usage;
  if (error.status === 401 || error.status === 403) return exitCodes.forbidden;
  return error.code === "UNREACHABLE" || error.code === "ANSWER_INVALID" ? exitCodes.unreachable : exitCodes.failed;
}

/** An invalid argument that the parser could not detect. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
