/** What a server does, and does not do, before it is up. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { silentLogger } from "../../src/base/logger.ts";
import { defineJob } from "../../src/index.ts";
import { loadConfig } from "../../src/server/config/load-config.ts";
import type { ServerConfig } from "../../src/server/config/server-config.ts";
import { Server } from "../../src/server/server.ts";
import { sqlite } from "../../src/sqlite.ts";
import { overrideStore } from "../../src/stores/wrap-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

/** A folder that goes after the last server that was started in it. */
function begin(t: TestContext): { folder: string; started: Promise<Server>[] } {
  const started: Promise<Server>[] = [];
  t.after(async () => await (await started.at(-1))?.stop());
  return { folder: temporaryFolder(t), started };
}

/** A port that another program has until it is let go. */
async function occupyPort(t: TestContext): Promise<{ port: number; release: () => Promise<void> }> {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const release = async (): Promise<void> => {
    if (other.listening) await once(other.close(), "close");
  };
  t.after(release);
  return { port: (other.address() as AddressInfo).port, release };
}

function configOf(folder: string, settings: Partial<ServerConfig>): ServerConfig {
  return { ...loadConfig({ folder }), port: 0, drainSeconds: 1, ...settings };
}

test("12.1 a server that cannot have its port, or may not be open, runs no task", async (t) => {
  const { folder, started } = begin(t);
  let runs = 0;
  const count = defineJob("count", () => ++runs);
  const start = (settings: Partial<ServerConfig>): Promise<Server> =>
    Server.start(configOf(folder, settings), {
      store: sqlite(join(folder, "heddle.db")),
      jobs: [count],
      logger: silentLogger,
    });
  // Without the role worker the task waits.
  const first = await start({ roles: ["server"] });
  const { status } = await fetch(`${first.url}/api/job/count/run`, { method: "POST" });
  assert.equal(status, 201);
  await first.stop();
  const { port } = await occupyPort(t);
  for (let round = 0; round < 3; round++) {
    await assert.rejects(start({ port }), /cannot listen on 127\.0\.0\.1, port \d+: .*EADDRINUSE/);
    await assert.rejects(start({ host: "0.0.0.0" }), /can be reached from other machines, and nobody has a token yet/);
  }
  assert.equal(runs, 0);
  started.push(start({}));
  await until(() => runs === 1);
});

test("12.1 a server that starts answers with 503, and takes nobody for an admin before it has read its tokens", async (t) => {
  const { folder, started } = begin(t);
  const { port, release } = await occupyPort(t);
  await release();
  const opened = Promise.withResolvers<void>();
  const file = sqlite(join(folder, "heddle.db"));
  const open = async (): Promise<void> => {
    await opened.promise;
    await file.open();
  };
  const store = overrideStore(file, { open });
  const starting = Server.start(configOf(folder, { port }), { store, logger: silentLogger });
  started.push(starting);
  const ask = async (path: string, method = "GET"): Promise<Response> =>
    await fetch(`http://127.0.0.1:${port}${path}`, { method });
  await until(async () => await ask("/actuator/health").then(Boolean, () => false));
  assert.deepEqual(await (await ask("/actuator/health/liveness")).json(), { status: "UP" });
  assert.equal((await ask("/actuator/health")).status, 503);
  for (const [method, path] of [
    ["GET", "/api/workflow"],
    ["POST", "/api/workflow/x/trigger"],
    ["GET", "/api/events?all"],
    ["GET", "/api/session"],
    ["POST", "/actuator/shutdown"],
  ] as const) {
    const answer = await ask(path, method);
    assert.deepEqual([answer.status, answer.headers.get("retry-after")], [503, "1"], path);
    const message = "the server is starting; try again in a moment";
    assert.deepEqual(await answer.json(), { code: "ENGINE_STATE", message });
  }
  opened.resolve();
  await starting;
  assert.equal((await ask("/api/workflow")).status, 200);
  assert.equal((await ask("/actuator/health")).status, 200);
});
