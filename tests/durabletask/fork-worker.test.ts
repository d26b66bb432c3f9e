import { describe, test } from "node:test";
import { chain, lives, patterns } from "./orchestrations.rig.ts";
import { forkClient, forkWorker, tasksOf } from "./sdk.rig.ts";

describe("orchestrations of @dapr/durabletask-js [8.5]", () => {
  test("a chain of activities that was started before its worker", (t) => chain(t, forkClient, forkWorker));
  test("fan-out, timers, events, children and failures", async (t) =>
    patterns(t, forkClient, forkWorker, await tasksOf("@dapr/durabletask-js/task/index.js")));
  test("continue-as-new, suspension, termination and purge", (t) => lives(t, forkClient, forkWorker));
});
