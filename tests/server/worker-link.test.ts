/** Spec §10 and §12.6: who may connect to `/ws/worker`, and what comes of what is sent there. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import type { Grant } from "../../src/dispatch/session-message.ts";
import { parseMemberMessage } from "../../src/dispatch/session-schema.ts";
import type { DataOf } from "../../src/api/routes.ts";
import { memoryStore } from "../../src/testing.ts";
import { HostileWorker, hostileSteps } from "./hostile-worker.ts";
import { type RigOptions, ServerRig } from "./rig.ts";
import { until } from "../support/until.ts";

const cluster = { enabled: true, shards: 4, remoteWorkers: true };

async function startServer(t: TestContext, options: RigOptions = {}): Promise<ServerRig> {
  return await ServerRig.start(t, { cluster, store: memoryStore(), ...options });
}

interface Connected {
  readonly socket: WebSocket;
  readonly texts: string[];
  /** Code and reason. */
  readonly closed: Promise<string>;
}

/** Undefined if it is refused. */
async function connect(
  rig: ServerRig,
  headers: Readonly<Record<string, string>>,
  path = "/ws/worker",
): Promise<Connected | undefined> {
  const socket = new WebSocket(`${rig.server.url.replace("http", "ws")}${path}`, { headers });
  const texts: string[] = [];
  socket.addEventListener("message", ({ data }) => void texts.push(String(data)));
  const closed = new Promise<string>((resolve) => {
    socket.addEventListener("close", ({ code, reason }) => resolve(`${code} ${reason}`));
  });
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.addEventListener("open", () => resolve(true));
    socket.addEventListener("error", () => resolve(false));
  });
  return isOpen ? { socket, texts, closed } : undefined;
}

const hello = { type: "Hello", worker: "w", sequence: 1, lastGrant: 0, jobs: [], slots: 1, running: [], results: [] };

describe("12.6 the worker link", () => {
  test("refuses whoever sends an Origin, which only browsers do", { timeout: 60_000 }, async (t) => {
    const rig = await startServer(t);
    const own = rig.server.url;
    for (const origin of ["http://evil.example", "null", "", own, own.replace("127.0.0.1", "localhost")]) {
      assert.equal(await connect(rig, { origin }), undefined, `Origin ${origin}`);
    }
    const worker = await connect(rig, {});
    worker?.socket.send(JSON.stringify(hello));
    await until(() => worker?.texts.some((text) => text.includes('"Welcome"')) === true);
    worker?.socket.close();
  });

  test("is closed at the first violation with its code and reason", { timeout: 60_000 }, async (t) => {
    const rig = await startServer(t);
    const worker = await connect(rig, {});
    worker?.socket.send(JSON.stringify({ ...hello, slots: "x" }));
    const reason = "WORKER_MESSAGE_INVALID: the message is refused: Hello.slots must be a whole number";
    assert.ok((await worker?.closed)?.startsWith(`1007 ${reason}`));
    assert.equal(rig.problems.length, 1);
    assert.match(rig.problems[0] ?? "", /broke the protocol.*Hello\.slots/);
    assert.match((await rig.fetch("/metrics")).text, /^dag_worker_messages_refused_total 1$/m);
    await rig.ok("triggerWorkflow", { params: { id: "hello" } });
  });
});

describe("10.2 a worker in the lists", () => {
  test(
    "has its slots, jobs and last sign of life, and is unreachable as soon as its link closes",
    { timeout: 60_000 },
    async (t) => {
      const rig = await startServer(t);
      const find = async (): Promise<DataOf<"listWorkers">[number] | undefined> =>
        (await rig.ok("listWorkers")).find(({ address }) => address.endsWith("/w"));
      const since = Date.now();
      const worker = await connect(rig, {});
      worker?.socket.send(JSON.stringify({ ...hello, slots: 7, jobs: ["a@1", "b@2"] }));
      await until(async () => (await find()) !== undefined);
      const { address, member, lastHeardAt, ...view } = (await find()) ?? assert.fail();
      assert.equal(address, `${member}/local/w`);
      assert.ok(lastHeardAt !== null && lastHeardAt >= since && lastHeardAt <= Date.now());
      const jobs = ["a@1", "b@2"];
      assert.deepEqual(view, {
        status: "up",
        isLeader: false,
        runningTasks: 0,
        slots: 7,
        jobs,
        tags: [],
        workflows: [],
      });
      worker?.socket.close();
      await until(async () => (await find())?.status === "unreachable");
      assert.equal((await find())?.lastHeardAt, lastHeardAt);
      const [own] = await rig.ok("listWorkers");
      assert.deepEqual([own?.status, own?.lastHeardAt], ["up", null]);
      assert.ok(own?.jobs.some((job) => job.startsWith("say@")));
    },
  );
});

describe("12.6 a worker's token", () => {
  const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });

  async function startGuarded(t: TestContext): Promise<{ rig: ServerRig; make: typeof makeToken; jobs: string[] }> {
    const rig = await startServer(t, { adminToken: "root" });
    async function makeToken(name: string, expiresAt?: number): Promise<string> {
      const body = { name, role: "worker", ...(expiresAt !== undefined && { expiresAt }) };
      return (await rig.ok("createToken", { token: "root", body })).token;
    }
    const { items } = await rig.ok("listJobs", { token: "root" });
    return { rig, make: makeToken, jobs: items.filter(({ name }) => name === "pause").map(({ id }) => id) };
  }

  test("closes the link when it is deleted or expires", { timeout: 60_000 }, async (t) => {
    const { rig, make } = await startGuarded(t);
    const deleted = await connect(rig, bearer(await make("deleted")));
    const expired = await connect(rig, bearer(await make("expired", Date.now() + 3000)));
    const kept = await connect(rig, bearer(await make("kept")));
    for (const [place, each] of [deleted, expired, kept].entries()) {
      each?.socket.send(JSON.stringify({ ...hello, worker: `w${place}` }));
    }
    await until(() => deleted?.texts.length === 1 && kept?.texts.length === 1);
    await rig.ok("deleteToken", { token: "root", params: { name: "deleted" } });
    assert.match((await deleted?.closed) ?? "", /^4001 UNAUTHORIZED/);
    assert.match((await expired?.closed) ?? "", /^4001 UNAUTHORIZED/);
    assert.equal(kept?.socket.readyState, WebSocket.OPEN);
    kept?.socket.close();
  });

  test("owns the ids of its workers: no other token can take one over", { timeout: 60_000 }, async (t) => {
    const { rig, make, jobs } = await startGuarded(t);
    const [own, other] = [await make("own"), await make("other")];
    const grantsOf = ({ texts }: Connected): Grant[] =>
      texts.map((text) => parseMemberMessage(text)).filter((message) => message.type === "Grant");
    const honest = await connect(rig, bearer(own));
    assert.ok(honest !== undefined);
    honest.socket.send(JSON.stringify({ ...hello, jobs, slots: 50 }));
    const ids: string[] = [];
    await until(async () => {
      const { instanceId } = await rig.ok("triggerWorkflow", { token: "root", params: { id: "pauses" } });
      ids.push(instanceId);
      await sleep(50);
      return grantsOf(honest).length > 0;
    });
    const [{ descriptor }] = grantsOf(honest) as [Grant];
    const { attemptId, startedAt } = descriptor;
    const forged = { kind: "success", output: '"forged"' };
    const thief = await connect(rig, bearer(other));
    assert.ok(thief !== undefined);
    const running = [{ grant: 0, descriptor }];
    thief.socket.send(JSON.stringify({ ...hello, sequence: 1_000_000, slots: 0, running }));
    thief.socket.send(JSON.stringify({ type: "Result", attemptId, grant: 0, outcome: forged, startedAt }));
    await until(() => thief.texts.some((text) => text.includes('"Welcome"')));
    await sleep(200);
    assert.equal(honest.socket.readyState, WebSocket.OPEN, "the worker of that id keeps its link");
    const addresses = (await rig.ok("listWorkers", { token: "root" })).map(({ address }) => address);
    for (const name of ["/own/w", "/other/w"]) assert.ok(addresses.some((address) => address.endsWith(name)));

    const again = await connect(rig, bearer(own));
    assert.ok(again !== undefined);
    again.socket.send(JSON.stringify({ ...hello, sequence: 2, jobs, slots: 50, running }));
    await honest.closed;
    await until(() => again.texts.some((text) => text.includes('"Welcome"')));
    const outcome = { kind: "success", output: '"honest"' };
    again.socket.send(JSON.stringify({ type: "Result", attemptId, grant: 0, outcome, startedAt }));
    const instanceId = attemptId.split(":").slice(0, -3).join(":");
    assert.ok(ids.includes(instanceId));
    const result = JSON.stringify(await rig.end(instanceId, { token: "root" }));
    assert.ok(result.includes('"honest"') && !result.includes("forged"), result);
    for (const { socket } of [thief, again]) socket.close();
  });
});

describe("fuzzing", () => {
  test("12.6 no message of a worker stops the member or leaves what cannot be read", { timeout: 90_000 }, async (t) => {
    const rig = await startServer(t, { domains: {} });
    const { items } = await rig.ok("listJobs");
    const jobs = items.filter(({ name }) => name === "pause").map(({ id }) => id);
    const held: string[] = [];
    let [runs, granted] = [0, 0];
    const property = fc.asyncProperty(hostileSteps, async (steps) => {
      const connection = await connect(rig, {});
      assert.ok(connection !== undefined);
      const { socket, texts } = connection;
      const send = (text: string): void => void (socket.readyState === WebSocket.OPEN && socket.send(text));
      const worker = new HostileWorker({ id: `hostile-${runs++}`, jobs, send });
      socket.addEventListener("message", ({ data }) => worker.receive(String(data)));
      worker.hello();
      await until(() => texts.length > 0);
      for (let i = 0; i < 2; i++) held.push((await rig.ok("triggerWorkflow", { params: { id: "pauses" } })).instanceId);
      await sleep(10);
      for (const step of steps) worker.play(step);
      await sleep(10);
      granted += worker.grants;
      // Nobody else has the job of this one.
      const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: "hello" } });
      assert.equal((await rig.end(instanceId)).status, "Success");
      const { items: domains } = await rig.ok("listDomains");
      assert.ok(
        domains.every(({ size }) => Number.isSafeInteger(size)),
        JSON.stringify(domains),
      );
      socket.close();
    });
    const numRuns = Number(process.env["HEDDLE_FUZZ_RUNS"] ?? 60);
    await fc.assert(property, { numRuns, interruptAfterTimeLimit: 20_000, endOnFailure: true });
    assert.ok(granted > runs / 4, `only ${granted} attempts went to the worker`);
    for (const id of held) {
      for (const operation of ["getResult", "getInstance", "getHistory"] as const) {
        const { status, text } = await rig.send(operation, { params: { id } });
        assert.equal(status, 200, text);
      }
    }
    const bugs = /could not be handled|subscriber threw|internal error|owner of a task failed/;
    assert.deepEqual(
      rig.problems.filter((problem) => bugs.test(problem)),
      [],
    );
  });
});
