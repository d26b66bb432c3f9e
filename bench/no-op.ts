import { defineJob } from "../src/index.ts";

export const noOp = defineJob("no-op", () => undefined);

/** An engine that holds nothing back: so many tasks at once. */
export function engineFor(tasksAtOnce: number) {
  return { jobs: [noOp], poolSize: tasksAtOnce, poolSizeMax: tasksAtOnce };
}
