import type { AttemptDescriptor } from "./attempt-descriptor.ts";
import type { GrantFence } from "./grant-fence.ts";
import type { Grant } from "./session-message.ts";
import type { TaskRun } from "./task-run.ts";

/** All of a grant but its number. Rejects if the inputs of the attempt cannot be read. */
export async function grantMessage(
  run: TaskRun,
  descriptor: AttemptDescriptor,
  fenceOf?: (run: TaskRun) => GrantFence | undefined,
): Promise<Omit<Grant, "grant">> {
  const { params, completionToken } = run;
  const inputs = await run.inputs();
  const fence = fenceOf?.(run);
  return {
    type: "Grant",
    descriptor,
    params,
    inputs,
    ...(completionToken === undefined ? {} : { completionToken }),
    ...(fence === undefined ? {} : { fence }),
  };
}
