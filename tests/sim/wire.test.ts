import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "../../src/base/error.ts";
import type { Link, LinkListener } from "../../src/dispatch/link.ts";
import { SimRandom } from "./sim-random.ts";
import { EventLog } from "./event-log.ts";
import { Life, Machine } from "./machine.ts";
import { calmNetwork, Network } from "./network.ts";
import { Scheduler } from "./scheduler.ts";
import { Wire } from "./wire.ts";
import { Recorder } from "./recorder.ts";

test("the first text opens a connection at the member, and what is said goes both ways", async () => {
  const { settle, wire, heard, memberLink } = stage();
  assert.equal(memberLink(), undefined);
  wire.link.send("hello");
  await settle();
  memberLink()?.send("welcome");
  await settle();
  assert.deepEqual(heard, ["m1: hello", "w1: welcome"]);
});

test("texts are lost, doubled and cut off as the network says", async () => {
  const { settle, wire, heard, network } = stage();
  network.conditions = { ...calmNetwork, doubling: 1 };
  wire.link.send("twice");
  await settle();
  network.cut("w1", "m1");
  wire.link.send("never");
  await settle();
  assert.deepEqual(heard, ["m1: twice", "m1: twice"]);
});

test("whoever closes it hears nothing more; the other may hear of that, or not", async () => {
  const told = await Promise.all(
    seeds.map(async (seed) => {
      const { settle, wire, heard, memberLink } = stage(seed);
      wire.link.send("hello");
      await settle();
      wire.link.close();
      memberLink()?.send("too late");
      wire.link.send("too late");
      await settle();
      return heard.slice(1).join();
    }),
  );
  assert.deepEqual(new Set(told), new Set(["", "m1 closed"]));
});

test("one that breaks loses what is on its way, and each end hears of it by itself", async () => {
  const told = await Promise.all(
    seeds.map(async (seed) => {
      const { settle, wire, heard } = stage(seed);
      wire.link.send("hello");
      await settle();
      wire.link.send("lost");
      wire.break();
      await settle();
      return heard.slice(1).sort().join();
    }),
  );
  assert.deepEqual(new Set(told), new Set(["", "m1 closed", "w1 closed", "m1 closed,w1 closed"]));
});

test("a worker whose member dies, or is not up, hears that nobody is there", async () => {
  const told = await Promise.all(
    seeds.map(async (seed) => {
      const { settle, member, heard } = stage(seed);
      member.crash("on purpose");
      await settle();
      return heard.join();
    }),
  );
  assert.ok(told.includes("w1 closed"));
  const { settle, wire, heard } = stage(1, () => {
    throw new EngineError("ENGINE_STATE", "the engine is not running");
  });
  wire.link.send("hello");
  await settle();
  assert.deepEqual(heard, ["w1 closed"]);
});

const seeds = Array.from({ length: 40 }, (_, i) => i + 1);

class IdleLife extends Life {
  async start(): Promise<void> {}
  async stop(): Promise<void> {}
}

function stage(
  seed = 1,
  accept?: () => LinkListener,
): {
  settle: () => Promise<void>;
  network: Network;
  wire: Wire;
  member: Life;
  heard: string[];
  memberLink: () => Link | undefined;
} {
  const scheduler = new Scheduler(() => undefined);
  const log = new EventLog(() => scheduler.now);
  const recorder = new Recorder(log, () => scheduler.now);
  const network = new Network({ scheduler, random: new SimRandom(seed), log });
  const lifeOn = (name: string, role: "member" | "worker"): Life =>
    new IdleLife({ machine: new Machine(name), role, scheduler, log, recorder });
  const [worker, member] = [lifeOn("w1", "worker"), lifeOn("m1", "member")];
  const heard: string[] = [];
  const listenerOf = (name: string): LinkListener => ({
    receive: (text) => void heard.push(`${name}: ${text}`),
    onClosed: () => void heard.push(`${name} closed`),
  });
  let memberLink: Link | undefined;
  const wire = new Wire({
    network,
    scheduler,
    random: new SimRandom(seed),
    worker,
    member,
    listener: listenerOf("w1"),
    accept: (link) => {
      memberLink = link;
      return accept?.() ?? listenerOf("m1");
    },
  });
  const settle = (): Promise<void> => scheduler.run(() => false);
  return { settle, network, wire, member, heard, memberLink: () => memberLink };
}
