import { test } from "node:test";
import { surviveKills } from "./crash.rig.ts";
import { forkClient, forkWorker, tasksOf } from "./sdk.rig.ts";

test("8.5 orchestrations of @dapr/durabletask-js survive kill -9 of their server", { timeout: 180_000 }, async (t) =>
  surviveKills(t, forkClient, {
    makeWorker: forkWorker,
    tasks: await tasksOf("@dapr/durabletask-js/task/index.js"),
  }),
);
