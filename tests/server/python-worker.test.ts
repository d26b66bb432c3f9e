/** Spec §10.1, §10.2: the worker of examples/worker.py, in Python's standard library alone, and a real server. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { until } from "../support/until.ts";
import { ServerRig } from "./rig.ts";

const script = join(import.meta.dirname, "../../examples/worker.py");
const timings = { workerBeatMs: 300, workerLostMs: 3000 };

async function startPython(t: TestContext, url: string): Promise<ChildProcess> {
  const child = spawn("python3", [script, url], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

test(
  "10.2 a worker in Python announces its job and runs it; killed, its attempt runs again",
  { timeout: 60_000 },
  async (t) => {
    const cluster = { enabled: false, shards: 1, remoteWorkers: true, timings };
    const rig = await ServerRig.start(t, { cluster, roles: ["server"] });
    const first = await startPython(t, rig.server.url);
    await until(async () =>
      (await rig.ok("listJobs")).items.some(({ name, origin }) => name === "shout" && origin === "worker"),
    );
    const run = async (body: object): Promise<string> =>
      (await rig.ok("runJob", { params: { name: "shout" }, body })).instanceId;
    const quick = await rig.end(await run({ text: "hello" }));
    assert.deepEqual([quick.status, Object.values(quick.output as object)], ["Success", ["HELLO"]]);
    await rig.refused(
      "runJob",
      { params: { name: "shout" }, body: { text: 7 } },
      { status: 422, code: "PARAMS_INVALID" },
    );

    const slow = await run({ text: "again", seconds: 4 });
    await until(async () => (await rig.ok("listWorkers")).some(({ runningTasks }) => runningTasks === 1));
    first.kill("SIGKILL");
    await startPython(t, rig.server.url);
    const { status, output } = await rig.end(slow);
    assert.deepEqual([status, Object.values(output as object)], ["Success", ["AGAIN"]]);
  },
);
