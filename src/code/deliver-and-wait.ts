import type { Step } from "../kernel/code/step.ts";
import type { Arrival } from "./arrival.ts";
import type { CodeRun } from "./code-run.ts";

/** Lets the code see something; resolves when it has reacted. For those who go through a history at their leisure. */
export async function deliverAndWait(
  run: CodeRun,
  arrival: Arrival,
  at: number,
  onSteps: (steps: readonly Step[]) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onDelivered = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
  if (!run.deliver(arrival, at, { onSteps, onDelivered })) resolve();
  await promise;
}
