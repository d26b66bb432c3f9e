import assert from "node:assert/strict";
import { test } from "node:test";
import { SimRandom } from "./sim-random.ts";
import { EventLog } from "./event-log.ts";
import { calmNetwork, Network } from "./network.ts";
import { Scheduler } from "./scheduler.ts";

test("a message arrives after a while", async () => {
  const { scheduler, heard, send } = stage();
  send();
  assert.deepEqual(heard, []);
  await scheduler.run(() => false);
  assert.deepEqual(heard, ["hello"]);
});

test("messages are lost, doubled and overtaken as the conditions says", async () => {
  const { scheduler, network, heard, send } = stage();
  network.conditions = { ...calmNetwork, loss: 1 };
  send();
  network.conditions = { ...calmNetwork, doubling: 1 };
  send("twice");
  await scheduler.run(() => false);
  assert.deepEqual(heard, ["twice", "twice"]);
  network.conditions = { ...calmNetwork, straying: 0.5 };
  for (let i = 0; i < 20; i++) send(`${i}`);
  await scheduler.run(() => false);
  assert.equal(heard.length, 22);
  assert.notDeepEqual(
    heard.slice(2),
    Array.from({ length: 20 }, (_, i) => `${i}`),
  );
});

test("a cut works one way, until it is healed", async () => {
  const { scheduler, network, heard, answered, send, answer } = stage();
  network.cut("m1", "m2");
  send();
  answer();
  await scheduler.run(() => false);
  assert.deepEqual([heard, answered], [[], ["back"]]);
  network.heal();
  send();
  await scheduler.run(() => false);
  assert.deepEqual(heard, ["hello"]);
});

test("a machine that is away from the bus sends and hears nothing, and knows it", async () => {
  const { scheduler, network, heard, answered, send, answer, changes } = stage();
  network.disconnect(["m1"]);
  assert.equal(send(), false);
  answer();
  await scheduler.run(() => false);
  assert.deepEqual([heard, answered, changes], [[], [], ["away"]]);
  network.heal();
  assert.equal(send(), true);
  await scheduler.run(() => false);
  assert.deepEqual([heard, changes], [["hello"], ["away", "there"]]);
});

test("nobody hears what comes after the connection was closed, or from the dead", async () => {
  const { scheduler, heard, send, close, sender } = stage();
  send();
  close();
  sender.isDead = true;
  send();
  await scheduler.run(() => false);
  assert.deepEqual(heard, []);
});

function stage(): {
  scheduler: Scheduler;
  network: Network;
  heard: string[];
  answered: string[];
  sender: { isDead: boolean; isFrozen: boolean };
  changes: string[];
  send: (text?: string) => boolean;
  answer: () => void;
  close: () => void;
} {
  const scheduler = new Scheduler(() => undefined);
  const log = new EventLog(() => scheduler.now);
  const network = new Network({ scheduler, random: new SimRandom(1), log });
  const [heard, answered]: [string[], string[]] = [[], []];
  const sender = { isDead: false, isFrozen: false };
  const changes: string[] = [];
  const onChanged = (): void => void changes.push(one.isConnected ? "there" : "away");
  const one = network.busOf("m1", sender).connect("one", (text) => void answered.push(text), onChanged);
  const two = network.busOf("m2", { isDead: false, isFrozen: false }).connect("two", (text) => void heard.push(text));
  return {
    scheduler,
    network,
    heard,
    answered,
    changes,
    sender,
    send: (text = "hello") => one.send("two", text),
    answer: () => two.send("one", "back"),
    close: () => void two.close(),
  };
}
