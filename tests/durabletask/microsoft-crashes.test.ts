import { test } from "node:test";
import { surviveKills } from "./crash.rig.ts";
import { microsoftClient, microsoftWorker, tasksOf } from "./sdk.rig.ts";

test(
  "8.5 orchestrations of @microsoft/durabletask-js survive kill -9 of their server",
  { timeout: 180_000 },
  async (t) =>
    surviveKills(t, microsoftClient, {
      makeWorker: microsoftWorker,
      tasks: await tasksOf("@microsoft/durabletask-js"),
    }),
);
