/** Spec §10 and §12.6: who may connect to `/ws/worker`, and what comes of what is sent there. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { memoryStore } from "../../src/testing.ts";
import { HostileWorker, hostileSteps } from "./hostile-worker.ts";
import { type RigOptions, ServerRig } from "./rig.ts";

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

async function until(look: () => Promise<boolean> | boolean): Promise<void> {
  for (const end = performance.now() + 20_000; !(await look()); await sleep(10)) {
    assert.ok(performance.now() < end, "it did not come to be within twenty seconds");
  }
}

const hello = { type: "Hello", worker: "w", beat: 1, mark: 0, jobs: [], slots: 1, running: [], results: [] };

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
    const refusals = /broke the protocol|nothing was heard of a worker/;
    assert.deepEqual(
      rig.problems.filter((problem) => !refusals.test(problem)),
      [],
    );
  });
});
