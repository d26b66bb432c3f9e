/** Spec §12.1: the monitor and the cluster, in the words and shapes that scripts and pages of PowerJob and TIS expect, at every member. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { ownVersion } from "../../src/engine/own-version.ts";
import type { Store } from "../../src/index.ts";
import { memoryStore } from "../../src/testing.ts";
import { until } from "../support/until.ts";
import { ServerRig } from "./rig.ts";

const token = "root";

/** Two servers on one store, which neither of them may close on the other. */
async function twoMembers(t: TestContext): Promise<[ServerRig, ServerRig]> {
  const shared = memoryStore();
  await shared.open();
  const nothing = async (): Promise<void> => undefined;
  const store: Store = Object.assign(shared, { open: nothing, close: nothing });
  const options = { cluster: { enabled: true, shards: 8, remoteWorkers: false }, adminToken: token, store };
  const rigs = [await ServerRig.start(t, options), await ServerRig.start(t, options)] as [ServerRig, ServerRig];
  for (const rig of rigs) await until(async () => (await rig.ok("getCluster", { token })).workerCount === 2);
  return rigs;
}

/** What `curl <path> | jq <filter>` prints, for filters such as `.data[].runningTasks`. */
async function jq(rig: ServerRig, path: string, filter: string): Promise<unknown[]> {
  const { envelope } = await rig.fetch(path, { headers: { authorization: `Bearer ${token}` } });
  let values: unknown[] = [envelope];
  for (const [, field, each] of filter.matchAll(/\.(\w+)(\[\])?/g)) {
    values = values.map((value) => (value as Record<string, unknown>)[field ?? ""]);
    if (each !== undefined) values = values.flatMap((value) => value as unknown[]);
  }
  return values;
}

const holding = {
  nodes: [1, 2, 3].map((nodeId) => ({ nodeId, nodeName: `n${nodeId}`, jobName: "hold", skipWhenFailed: nodeId === 3 })),
  edges: [],
};

describe("12.1 the monitor of a cluster", () => {
  test("12.1 answers alike at both members, to the scripts of the original design", { timeout: 60_000 }, async (t) => {
    const [one, other] = await twoMembers(t);
    await one.ok("createWorkflow", { token, body: { name: "held", dagSpec: holding } });
    await until(async () => (await other.send("getWorkflow", { token, params: { id: "held" } })).status === 200);
    const start = { token, params: { id: "held" }, query: { maxConcurrentTasks: 1 } };
    const ids = await Promise.all(
      Array.from({ length: 4 }, async () => (await one.ok("triggerWorkflow", start)).instanceId),
    );
    await until(async () => (await one.ok("countQueuedNodes", { token })).running.total === 4);
    const answers = [];
    for (const rig of [one, other]) {
      assert.deepEqual(await jq(rig, "/api/cluster/status", ".data.totalMembers"), [2]);
      const running = await jq(rig, "/api/cluster/workers", ".data[].runningTasks");
      assert.deepEqual([running.length, (running as number[]).reduce((sum, each) => sum + each, 0)], [2, 4]);
      const waiting = await rig.ok("listWaitingNodes", { token });
      assert.deepEqual(new Set(waiting.map(({ instanceId }) => instanceId)), new Set(ids));
      assert.deepEqual(
        new Set(waiting.map(({ status, wait }) => `${status} ${wait?.reason}`)),
        new Set(["WAITING instance-limit"]),
      );
      const topology = await rig.ok("getClusterTopology", { token });
      const { selfAddress: _, ...status } = await rig.ok("getCluster", { token });
      const counts = await rig.ok("countQueuedNodes", { token });
      const nodes = (await rig.ok("listRunningNodes", { token })).map(({ duration: _duration, ...node }) => node);
      answers.push({ waiting, topology, status, counts, nodes, workers: await rig.ok("listWorkers", { token }) });
    }
    assert.deepEqual(answers[0], answers[1]);
    const [node] = answers[0]?.nodes ?? [];
    assert.deepEqual(
      [node?.status, node?.nodeType, node?.skipWhenFailed, node?.result],
      ["RUNNING", "TASK", false, null],
    );
    assert.deepEqual(
      answers[0]?.status.members.map(({ roles, version, status }) => [roles.join(), version, status]),
      [
        ["server,worker", ownVersion(), "up"],
        ["server,worker", ownVersion(), "up"],
      ],
    );
    assert.deepEqual(answers[0]?.counts.waiting.byWorkflow, [{ name: "held", count: 8 }]);
  });

  test("12.1 gives lists page by page, with the next page in the header Link", { timeout: 60_000 }, async (t) => {
    const rig = await ServerRig.start(t);
    await rig.ok("createWorkflow", { body: { name: "held", dagSpec: holding } });
    for (let count = 0; count < 3; count++) {
      await rig.ok("triggerWorkflow", { params: { id: "held" }, query: { maxConcurrentTasks: 1 } });
    }
    await until(async () => (await rig.ok("countQueuedNodes")).running.total === 3);
    const seen: string[] = [];
    let path: string | undefined = "/api/dag/monitor/queue/waiting?limit=4";
    while (path !== undefined) {
      const { envelope, headers } = await rig.fetch(path);
      for (const { instanceId, nodeId } of envelope.data as { instanceId: string; nodeId: number }[]) {
        seen.push(`${instanceId} ${nodeId}`);
      }
      path = /^<(.*)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1];
    }
    assert.deepEqual([seen.length, new Set(seen).size], [6, 6]);
    await rig.refused("listWaitingNodes", { query: { cursor: "x" } }, { status: 400, code: "REQUEST_INVALID" });
  });

  test("12.1 colours nodes by the words of the original design, and shows our own beside them", async (t) => {
    const rig = await ServerRig.start(t);
    const wordsOf = async (workflow: string): Promise<unknown> => {
      const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: workflow } });
      await rig.end(instanceId);
      const { status, statusText, nodes } = await rig.ok("monitorInstance", { params: { instanceId } });
      const topology = await rig.ok("monitorTopology", { params: { instanceId } });
      assert.deepEqual(
        topology.nodes.map((node) => [node.status, node.type]),
        nodes.map((node) => [node.status, node.nodeType]),
      );
      return { status, statusText, nodes: nodes.map((node) => `${node.status} ${node.statusText}`) };
    };
    assert.deepEqual(await wordsOf("hello"), { status: "SUCCEED", statusText: "Success", nodes: ["SUCCEED Success"] });
    assert.deepEqual(await wordsOf("fails"), {
      status: "FAILED",
      statusText: "Failed",
      nodes: ["SUCCEED Success", "FAILED Failed"],
    });
  });

  test(
    "12.1 drains a member that another one is asked to drain, and counts what runs there",
    { timeout: 60_000 },
    async (t) => {
      const [one, other] = await twoMembers(t);
      const { selfAddress } = await other.ok("getCluster", { token });
      await one.ok("drain", { token, body: { worker: selfAddress } });
      for (const rig of [one, other]) {
        await until(async () => {
          const { members } = await rig.ok("getCluster", { token });
          return members.find(({ address }) => address === selfAddress)?.status === "draining";
        });
      }
      assert.deepEqual(await jq(other, "/api/cluster/self/tasks", ".data.count"), [0]);
      await one.refused("drain", { token, body: { worker: "nobody" } }, { status: 404, code: "WORKER_UNKNOWN" });
    },
  );
});

test("12.1 a poll of the monitor reads only what is new in the history, and nothing of an ended instance", async (t) => {
  const shared = memoryStore();
  const reads: string[] = [];
  const counted: Store = new Proxy(shared, {
    get(target, name, receiver) {
      const value: unknown = Reflect.get(target, name, receiver);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (/history|histories/i.test(String(name))) reads.push(`${String(name)} ${JSON.stringify(args)}`);
        return (value as (...given: unknown[]) => unknown).apply(target, args);
      };
    },
  });
  const rig = await ServerRig.start(t, { store: counted });
  const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: "fails" } });
  await rig.end(instanceId);
  const first = await rig.ok("monitorInstance", { params: { instanceId } });
  reads.length = 0;
  assert.deepEqual(await rig.ok("monitorInstance", { params: { instanceId } }), first);
  await rig.ok("monitorTopology", { params: { instanceId } });
  const whole = reads.filter((read) => !/"afterTurn":[1-9]/.test(read));
  assert.deepEqual(whole, []);
  await rig.ok("retryInstance", { params: { id: instanceId } });
  await rig.end(instanceId);
  const again = await rig.ok("monitorInstance", { params: { instanceId } });
  assert.notEqual(again.endTime, first.endTime);
});
