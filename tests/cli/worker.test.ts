/** `heddle worker`: jobs run in a process of their own, for a server elsewhere. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { fastify, type FastifyInstance } from "fastify";
import { setTimeout as sleep } from "node:timers/promises";
import { defineJob, Engine, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { HttpError } from "../../src/server/request/http-error.ts";
import { takeJsonOnly } from "../../src/server/request/json-body.ts";
import { addCallerDecorator } from "../../src/server/request/caller.ts";
import { workerRoutes, type WorkerRouteParts } from "../../src/server/worker-link.ts";
import { memoryStore } from "../../src/testing.ts";
import { newDatabase } from "../databases/databases.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { begin, heddle, root } from "./program.ts";

const workflow = new WorkflowBuilder()
  .withName("elsewhere")
  .withTask(new TaskBuilder("where").withJobFunction("where-am-i"))
  .build();

/** The same on the server and on the worker; long enough that the server's one slot cannot have them all. */
const whereAmI = defineJob("where-am-i", async () => {
  await sleep(200);
  return process.pid;
});

const moduleText = `import { setTimeout as sleep } from "node:timers/promises";
import { defineJob } from ${JSON.stringify(join(root, "src/index.ts"))};
export const whereAmI = defineJob("where-am-i", async () => {
  await sleep(200);
  return process.pid;
});
`;

/** The processes in which a few of them ran. */
async function ranIn(engine: Engine): Promise<Set<unknown>> {
  const runs = await Promise.all([1, 2, 3, 4].map(() => engine.submitWorkflow(workflow)));
  return new Set((await Promise.all(runs.map((run) => run.result()))).map(({ where }) => where));
}

const guard: WorkerRouteParts["guard"] = {
  authorize: ({ headers }) => {
    if (headers.authorization === "Bearer hdl_w")
      return { name: "w", role: "worker", namespace: "default", isBound: false };
    throw new HttpError("UNAUTHORIZED", "a token is needed");
  },
};

async function member(t: TestContext): Promise<Engine> {
  const engine = new Engine({
    storage: memoryStore(),
    jobs: [whereAmI],
    poolSize: 1,
    remoteWorkers: true,
    cluster: { shards: 2, timings: { workerBeatMs: 1000, workerLostMs: 10_000 } },
    logger: silentLogger,
  });
  await engine.start();
  t.after(() => engine.stop());
  return engine;
}

async function listen(
  t: TestContext,
  engine: WorkerRouteParts["engine"],
  port = 0,
  letsIn = guard,
): Promise<{ app: FastifyInstance; port: number }> {
  const app = fastify();
  app.setErrorHandler(({ message }: Error, _, reply) => reply.code(401).send({ code: "UNAUTHORIZED", message }));
  addCallerDecorator(app);
  takeJsonOnly(app);
  await workerRoutes(app, { engine, guard: letsIn, audit: { append: async () => undefined } });
  await app.listen({ host: "127.0.0.1", port });
  t.after(() => app.close());
  return { app, port: (app.server.address() as AddressInfo).port };
}

/** A worker from elsewhere has been welcomed. */
async function untilThere(engine: Engine): Promise<void> {
  while (!engine.listWorkers().some(({ isRemote }) => isRemote)) await sleep(20);
}

describe("heddle worker", () => {
  test("connects, runs jobs, comes back after the link broke, and leaves", async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, "jobs.ts"), moduleText);
    const engine = await member(t);
    const first = await listen(t, engine);
    const url = `http://127.0.0.1:${first.port}`;
    const worker = begin(t, ["worker", "jobs.ts", "--url", url, "--token", "hdl_w", "--slots", "2"], { cwd: folder });
    await worker.says(/the worker has started/);
    await untilThere(engine);
    assert.ok((await ranIn(engine)).has(worker.child.pid));

    await first.app.close();
    await listen(t, engine, first.port);
    await untilThere(engine);
    assert.ok((await ranIn(engine)).has(worker.child.pid));

    worker.child.kill("SIGTERM");
    assert.equal((await worker.ended).code, 0);
  });

  test("whoever says nonsense is cut off, and harms nobody", async (t) => {
    const engine = await member(t);
    const { port } = await listen(t, engine);
    const nonsense = ["", "{}", "[]", '{"type":"Hello"}', '{"type":"Logged"}', '{"type":"Heartbeat","sequence":1}'];
    const odd = '{"type":"Hello","worker":7,"sequence":1,"jobs":[1],"running":[null],"results":[{}]}';
    for (const text of [...nonsense, odd, `${odd}x`]) {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/ws/worker`, { headers: { authorization: "Bearer hdl_w" } });
      await new Promise((resolve) => socket.addEventListener("open", resolve));
      socket.send(text);
      socket.send('{"type":"Logged","lines":[null]}');
      await sleep(20);
      socket.close();
    }
    await (await engine.submitWorkflow(workflow)).result();
  });

  test("is told at once if it is not let in, or has nothing to run", async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, "jobs.ts"), moduleText);
    const { port } = await listen(t, await member(t));
    const url = `http://127.0.0.1:${port}`;
    const stranger = await heddle(["worker", "jobs.ts", "--url", url], { cwd: folder });
    assert.equal(stranger.code, 4);
    assert.match(stranger.stderr, /HEDDLE_TOKEN/);
    assert.doesNotMatch(stranger.stdout, /will try again/);
    writeFileSync(
      join(folder, "flows.ts"),
      `import { TaskBuilder, WorkflowBuilder } from ${JSON.stringify(join(root, "src/index.ts"))}; export const w = new WorkflowBuilder().withName("w").withTask(new TaskBuilder("t").withJobFunction("where-am-i")).build();`,
    );
    const idle = await heddle(["worker", "flows.ts", "--url", url, "--token", "hdl_w"], { cwd: folder });
    assert.equal(idle.code, 2);
    assert.match(idle.stderr, /no jobs/);
  });

  test("says why it cannot connect, once, and when it is connected", async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, "jobs.ts"), moduleText);
    const engine = await member(t);
    const { app, port } = await listen(t, engine);
    await app.close();
    const flags = ["--url", `http://127.0.0.1:${port}`, "--token", "hdl_w"];
    const worker = begin(t, ["worker", "jobs.ts", ...flags], { cwd: folder });
    await worker.says(
      /"level":40[^\n]*ECONNREFUSED[^\n]*"pauseMs":\d+,[^\n]*the worker is not connected and will try again/,
    );
    await sleep(1000);
    assert.equal(worker.stdout.split("ECONNREFUSED 127").length, 2, worker.stdout);
    await listen(t, engine, port);
    await worker.says(/"level":30[^\n]*the worker is connected/);
    assert.doesNotMatch(worker.stdout, /another member/);
  });

  test("gives up at once on a server that never takes workers, and on one that comes later and refuses the token", async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, "jobs.ts"), moduleText);
    const engine = new Engine({ storage: memoryStore(), jobs: [whereAmI], logger: silentLogger });
    await engine.start();
    t.after(() => engine.stop());
    const { port } = await listen(t, engine);
    const args = ["worker", "jobs.ts", "--url", `http://127.0.0.1:${port}`];
    const single = await heddle([...args, "--token", "hdl_w"], { cwd: folder });
    assert.equal(single.code, 1);
    assert.doesNotMatch(single.stdout, /will try again/);
    assert.match(single.stderr, /accepts no remote workers[^]*cluster\.remoteWorkers is off/);

    const { app, port: late } = await listen(t, await member(t));
    await app.close();
    const early = begin(t, ["worker", "jobs.ts", "--url", `http://127.0.0.1:${late}`], { cwd: folder });
    await early.says(/ECONNREFUSED/);
    await listen(t, await member(t), late);
    const { code, stderr } = await early.ended;
    assert.equal(code, 4);
    assert.match(stderr, /a token is needed/);
  });

  test("warns with the reason when its token was deleted", async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, "jobs.ts"), moduleText);
    const engine = await member(t);
    let isLetIn = true;
    const { port } = await listen(t, engine, 0, {
      authorize: (request, role) => {
        if (isLetIn) return guard.authorize(request, role);
        throw new HttpError("UNAUTHORIZED", "that token is not known, or is no longer valid");
      },
    });
    const worker = begin(t, ["worker", "jobs.ts", "--url", `http://127.0.0.1:${port}`, "--token", "hdl_w"], {
      cwd: folder,
    });
    await worker.says(/the worker is connected/);
    isLetIn = false;
    await worker.says(/"level":40[^\n]*UNAUTHORIZED: the token is no longer valid/);
    await worker.says(/"level":40[^\n]*UNAUTHORIZED: that token is not known/);
    isLetIn = true;
    await worker.says(/the worker is connected[^]*the worker is connected/);
  });

  test("shares the work of a server on PostgreSQL", async (t) => {
    const storage = await newDatabase("postgres", t);
    const folder = temporaryFolder(t);
    const app = `${moduleText}
import { TaskBuilder, WorkflowBuilder } from ${JSON.stringify(join(root, "src/index.ts"))};
const tasks = ["a", "b", "c", "d"].map((name) => new TaskBuilder(name).withJobFunction(whereAmI, undefined));
export const everywhere = tasks.reduce((flow, task) => flow.withTask(task), new WorkflowBuilder().withName("everywhere")).build();
`;
    writeFileSync(join(folder, "app.ts"), app);
    const flags = ["--storage", storage, "--pool-size", "1", "--cluster-shards", "2", "--app", "app.ts"];
    const server = begin(t, ["server", "--port", "0", ...flags], { cwd: folder });
    const [, url = ""] = await server.says(/"url":"([^"]+)".*the server is ready/);
    const worker = begin(t, ["worker", "app.ts", "--url", url], { cwd: folder });
    await server.says(/a worker has connected/);
    const ran = await heddle(["run", "everywhere", "--url", url, "--json"]);
    const { output } = JSON.parse(ran.stdout) as { output: Record<string, number> };
    assert.ok(Object.values(output).includes(worker.child.pid ?? 0), ran.stdout);
    assert.equal((JSON.parse((await heddle(["cluster", "workers", "--url", url, "--json"])).stdout) as []).length, 2);
    for (const each of [worker, server]) {
      each.child.kill("SIGTERM");
      assert.equal((await each.ended).code, 0);
    }
  });
});
