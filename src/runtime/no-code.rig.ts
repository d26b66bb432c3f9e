import type { CodeRuntime } from "./code-runtime.ts";
import { failureFrom } from "../worker/failure-from.ts";

/** A process that has no code workflows. */
export const noCode: CodeRuntime = {
  find: () => undefined,
  versionOf: () => undefined,
  hasDomain: () => true,
  whenDrained: (waiting) => waiting.onIdle(),
  failureFrom,
  within: (call) => call(),
};
