import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { killServer, startServer } from "./crash.rig.ts";
import type { Orchestration } from "./orchestrations.rig.ts";
import { microsoftClient, microsoftWorker, status } from "./sdk.rig.ts";

test("8.5 an orchestration survives kill -9 of its server: no activity that was recorded runs again", async (t) => {
  const folder = temporaryFolder(t);
  const first = await startServer(t, { folder });
  const { port } = first;
  const client = await microsoftClient(t, port);
  const worker = await microsoftWorker(port);
  const runs: number[] = [];
  const third = Promise.withResolvers<void>();
  worker.addNamedActivity("step", async (_context, n: number) => {
    runs.push(n);
    if (n === 3) third.resolve();
    await new Promise((resolve) => setTimeout(resolve, 100));
    return n + 1;
  });
  worker.addNamedOrchestrator("steps", async function* (ctx: Orchestration) {
    let n = 0;
    while (n < 8) n = (yield ctx.callActivity("step", n)) as number;
    yield ctx.createTimer(1);
    return n;
  });
  await worker.start();
  const id = await client.scheduleNewOrchestration("steps", undefined, "killed");
  await third.promise;
  await killServer(first);
  const second = await startServer(t, { folder, port });
  const ended = await client.waitForOrchestrationCompletion(id, true, 60);
  await worker.stop();
  second.child.kill("SIGTERM");
  await once(second.child, "exit");
  assert.equal(ended?.runtimeStatus, status.completed);
  assert.equal(ended.serializedOutput, "8");
  const before = runs.filter((n) => n < 3);
  assert.deepEqual(before, [0, 1, 2]);
  assert.deepEqual([...new Set(runs)], [0, 1, 2, 3, 4, 5, 6, 7]);
});
