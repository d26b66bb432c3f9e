import { setTimeout as sleep } from "node:timers/promises";
import { defineJob } from "../../src/index.ts";
import type { Job, JobContext } from "../../src/index.ts";
import type { SideEffectLog } from "./side-effects.ts";

/** Ends its process, or so it means: in a thread it ends only the thread. */
export const exitInThread = defineJob(
  "exit-in-thread",
  { isolation: "thread", source: { module: import.meta.url, export: "exitInThread" } },
  () => process.exit(3),
);

/** Several ways to bring the process down, and an innocent one. */
export function poisonJobs(log: SideEffectLog): Job[] {
  return [
    exitInThread,
    defineJob("exit", () => process.exit(3)),
    defineJob("exit-later", async () => {
      await sleep(250);
      process.exit(3);
    }),
    defineJob("abort", () => process.abort()),
    // A mistake in a callback: nobody can catch it, and it takes the process with it.
    defineJob("throw-later", async (_params: unknown, { signal }: JobContext) => {
      setImmediate(() => {
        throw new Error("thrown where nobody waits for it");
      });
      await sleep(60_000, undefined, { signal });
    }),
    defineJob("innocent", async ({ ms }: { ms: number }, { attemptId, signal }: JobContext) => {
      log.write("start", attemptId);
      await sleep(ms, undefined, { signal });
      log.write("done", attemptId);
      return ms;
    }),
  ];
}
