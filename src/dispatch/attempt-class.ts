import type { StartCare } from "./attempt.ts";
import { selectorKey, type WorkerSelector } from "./worker-selector.ts";

/** Attempts that may take each other's slot: the same workers may run them, in one domain and with the same care. */
export interface AttemptClass extends WorkerSelector {
  readonly domain: string;
  readonly care: StartCare;
}

/** Equal for equal classes. */
export function classKey(attempts: AttemptClass): string {
  return `${attempts.care} ${attempts.domain} ${selectorKey(attempts)}`;
}
