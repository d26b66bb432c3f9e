import type { Step } from "../kernel/code/step.ts";
import type { Arrival } from "./arrival.ts";
import type { CodeRun } from "./code-run.ts";

/** Lets the code see something; resolves when it has reacted. For those who go through a history at their leisure. */
export async function seen(
  run: CodeRun,
  arrival: Arrival,
  at: number,
  onSteps: (steps: readonly Step[]) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onSeen = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
  if (!run.see(arrival, at, { onSteps, onSeen })) resolve();
  await promise;
}
