/** Spec §8.5 in a cluster: a member with a worker of its own dies, and the other goes on with everything. */
import { test } from "node:test";
import { newDatabase } from "../databases/databases.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import { addLongOrchestrations, killServer, runDisturbed, startServer } from "./crash.rig.ts";
import { microsoftClient, microsoftWorker, tasksOf } from "./sdk.rig.ts";

test("8.5 orchestrations go on when one of two members is killed", { timeout: 240_000 }, async (t) => {
  const database = await newDatabase("postgres", t);
  const first = await startServer(t, { folder: temporaryFolder(t), database });
  const second = await startServer(t, { folder: temporaryFolder(t), database });
  const tasks = await tasksOf("@microsoft/durabletask-js");
  const mood = { hasFailed: false };
  for (const { port } of [first, second]) {
    const worker = await microsoftWorker(port);
    addLongOrchestrations(worker, tasks, mood);
    await worker.start();
    t.after(() => worker.stop());
  }
  const client = await microsoftClient(t, second.port);
  await runDisturbed(client, async () => {
    await until(async () => (await client.getOrchestrationState("parent"))?.runtimeStatus === 0);
    await killServer(first);
  });
});
