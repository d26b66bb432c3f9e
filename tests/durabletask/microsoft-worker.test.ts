import { describe, test } from "node:test";
import { chain, lives, patterns } from "./orchestrations.rig.ts";
import { microsoftClient, microsoftWorker, tasksOf } from "./sdk.rig.ts";

describe("orchestrations of @microsoft/durabletask-js [8.5]", () => {
  test("a chain of activities that was started before its worker", (t) => chain(t, microsoftClient, microsoftWorker));
  test("fan-out, timers, events, children and failures", async (t) =>
    patterns(t, microsoftClient, microsoftWorker, await tasksOf("@microsoft/durabletask-js")));
  test("continue-as-new, suspension, termination and purge", (t) => lives(t, microsoftClient, microsoftWorker));
});
