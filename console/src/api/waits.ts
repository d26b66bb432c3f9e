import type { InstanceView } from "./model.ts";

/** One thing that an instance waits for. */
export type Wait = InstanceView["waiting"][number];

/** The wait of an instance whose code has stopped, is missing or has changed: nothing goes on until somebody acts. */
export function stoppedCode(waiting: readonly Wait[] | undefined): Extract<Wait, { kind: "instance" }> | undefined {
  const found = waiting?.find((wait) => wait.kind === "instance" && wait.reason === "code" && wait.since !== undefined);
  return found?.kind === "instance" ? found : undefined;
}
