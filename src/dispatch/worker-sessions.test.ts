import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultTimings } from "../cluster/timings.ts";
import { LogBook } from "../testing/log-book.rig.ts";
import { TestClock } from "../testing/test-clock.ts";
import type { AttemptDescriptor } from "./attempt-descriptor.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Link } from "./link.ts";
import type { Hello } from "./session-message.ts";
import { WorkerSessions, type WorkerIdentity } from "./worker-sessions.ts";

const descriptor: AttemptDescriptor = {
  attemptId: "@acme/order-1:1:0:1",
  instanceId: "@acme/order-1",
  workflowName: "@acme/flow",
  taskName: "t",
  task: 0,
  attempt: 1,
  generation: 1,
  job: "@acme/note@1",
  domain: "default",
  startedAt: 1,
};

const hello: Hello = {
  type: "Hello",
  worker: "w",
  sequence: 1,
  lastGrant: 0,
  jobs: ["note@1"],
  slots: 1,
  running: [],
  results: [],
};

/** The sessions of a member, and the refusal that closed the last link. */
function sessions(): { sessions: WorkerSessions; say: (identity: WorkerIdentity, hello: Hello) => string | undefined } {
  const made = new WorkerSessions({
    clock: new TestClock(),
    logger: new LogBook(),
    timings: defaultTimings,
    dispatcher: { isShutDown: false, connect: () => undefined, disconnect: () => undefined } as unknown as Dispatcher,
    addressOf: (worker) => `m/${worker}`,
    onAnnounced: () => undefined,
  });
  const say = (identity: WorkerIdentity, message: Hello): string | undefined => {
    let refusal: string | undefined;
    const link: Link = { send: () => undefined, close: (error) => (refusal = error?.message) };
    made.accept(link, identity).receive(JSON.stringify(message));
    return refusal;
  };
  return { sessions: made, say };
}

test("the jobs of a worker are those of its namespace, and its id is scoped to it", () => {
  const { sessions: made, say } = sessions();
  say({ principal: "pool" }, hello);
  say({ principal: "pool", namespace: "acme" }, hello);
  const [ofDefault, ofAcme] = made.all;
  assert.deepEqual([ofDefault?.address, ofDefault?.jobs], ["m/pool/w", ["note@1"]]);
  assert.deepEqual([ofAcme?.address, ofAcme?.jobs], ["m/acme:pool/w", ["@acme/note@1"]]);
  assert.ok(ofAcme?.hasJob("@acme/note@1"));
  assert.equal(ofAcme?.hasJob("note@1"), false);
});

test("a worker that announces an attempt of another namespace, or a job or domain of one, is refused", () => {
  const { say } = sessions();
  const announce = (identity: WorkerIdentity, changed: Partial<AttemptDescriptor>): string | undefined =>
    say(identity, { ...hello, running: [{ grant: 1, descriptor: { ...descriptor, ...changed } }] });
  const acme = { namespace: "acme" };
  assert.equal(announce(acme, {}), undefined);
  const foreign = /an attempt that does not belong to the worker's namespace/;
  assert.match(announce({}, {}) ?? "", foreign);
  assert.match(announce({ namespace: "globex" }, {}) ?? "", foreign);
  assert.match(announce(acme, { instanceId: "order-1" }) ?? "", foreign);
  assert.match(announce(acme, { instanceId: "@globex/order-1" }) ?? "", foreign);
  assert.match(announce(acme, { job: "note@1" }) ?? "", foreign);
  assert.match(announce(acme, { domain: "@globex/heavy" }) ?? "", foreign);
  const results = [
    { grant: 1, descriptor: { ...descriptor, instanceId: "order-1" }, outcome: { kind: "lost" } as const },
  ];
  assert.match(say(acme, { ...hello, results }) ?? "", foreign);
});
