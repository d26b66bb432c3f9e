/** Spec §8.4, §5: a server and workers with the code of its workflows, as processes that are killed. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { HeddleClient } from "../../src/client.ts";
import { freePort } from "../../src/cli/free-port.ts";
import { begin, root, type Running } from "../cli/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const source = JSON.stringify(join(root, "src/index.ts"));

const jobsText = `import { setTimeout as sleep } from "node:timers/promises";
import { defineJob } from ${source};
export const add = defineJob("add", async ({ n }) => {
  await sleep(20);
  return n + 1;
});
`;

/** A loop of activities and timers, and an event at the end. */
const codeText = `import { defineWorkflow } from ${source};
export const climb = defineWorkflow("climb", async (ctx, { steps }) => {
  let n = 0;
  ctx.onQuery("height", () => n);
  for (let i = 0; i < steps; i++) {
    n = await ctx.run("add", { n });
    if (i % 5 === 0) await ctx.sleep(10);
  }
  return n + (await ctx.waitForEvent("top"));
});
`;

const lostMs = 3000;

function startServer(t: TestContext, folder: string, port: number): Running {
  const timings = JSON.stringify({ workerBeatMs: 300, workerLostMs: lostMs });
  const flags = ["--port", String(port), "--cluster-remote-workers", "--cluster-timings", timings];
  return begin(t, ["server", "--app", "jobs.ts", ...flags], { cwd: folder });
}

function startWorker(t: TestContext, folder: string, url: string): Running {
  return begin(t, ["worker", "code.ts", "--url", url], { cwd: folder });
}

async function kill({ child, ended }: Running): Promise<void> {
  child.kill("SIGKILL");
  await ended;
}

test("8.4 no step is lost or taken twice when workers and the server are killed", { timeout: 240_000 }, async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "jobs.ts"), jobsText);
  writeFileSync(join(folder, "code.ts"), codeText);
  const port = await freePort("127.0.0.1", 27_411);
  const url = `http://127.0.0.1:${port}`;
  const client = new HeddleClient({ url });
  let server = startServer(t, folder, port);
  await server.says(/the server is ready/);
  let worker = startWorker(t, folder, url);
  await worker.says(/the worker is connected/);

  const steps = 30;
  const ids: string[] = [];
  for (let i = 0; i < 4; i++) ids.push(await startWhenKnown(client, { steps }));
  for (let round = 0; round < 3; round++) {
    await sleep(300);
    await kill(worker);
    if (round === 1) {
      await kill(server);
      server = startServer(t, folder, port);
      await server.says(/the server is ready/);
    }
    worker = startWorker(t, folder, url);
    await worker.says(/the worker is connected/);
  }
  for (const id of ids) await client.call("raiseEvent", { params: { id, name: "top" }, body: 1000 });
  for (const id of ids) {
    assert.equal(await client.result(id), steps + 1000);
    assert.equal(await countAdded(client, id), steps);
  }
});

async function countAdded(client: HeddleClient, id: string): Promise<number> {
  let [count, afterTurn] = [0, -1];
  for (;;) {
    const { items } = await client.call("getHistory", { params: { id }, query: { afterTurn, limit: 100 } });
    for (const { events } of items) count += events.filter(({ type }) => type === "TaskAdded").length;
    if (items.length === 0) return count;
    afterTurn = items.at(-1)?.turn ?? afterTurn;
  }
}

/** The worker announces its workflows when it has connected, and the server records them. */
async function startWhenKnown(client: HeddleClient, input: unknown): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await client.start("climb", input);
    } catch (error) {
      if (attempt > 50) throw error;
      await sleep(100);
    }
  }
}
