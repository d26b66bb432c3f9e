import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { SimRandom } from "./sim-random.ts";
import { EventLog } from "./event-log.ts";
import { Scheduler } from "./scheduler.ts";
import { calmStore, SimStore, StoreLink, type StoreConditions } from "./store.ts";
import { Recorder } from "./recorder.ts";

const definition = { name: "w", version: "1", spec: "{}", createdAt: 0 };

test("a call takes time there and back", async () => {
  const { scheduler, store, has } = await stage({});
  const done = store.saveDefinitions([definition]);
  assert.equal(await has(), false);
  await scheduler.run(() => false);
  await done;
  assert.equal(await has(), true);
  assert.ok(scheduler.now > 0);
});

const fates: readonly { name: string; conditions: Partial<StoreConditions>; isDone: boolean }[] = [
  { name: "fails", conditions: { failing: 1 }, isDone: false },
  { name: "fails although it was carried out", conditions: { lying: 1 }, isDone: true },
  { name: "fails, and is carried out after that", conditions: { lagging: 1 }, isDone: true },
];

for (const { name, conditions, isDone } of fates) {
  test(`a call that ${name}`, async () => {
    const { scheduler, store, has } = await stage(conditions);
    const refused = assert.rejects(store.saveDefinitions([definition]), { code: "STORE_UNAVAILABLE" });
    await scheduler.run(() => false);
    await refused;
    assert.equal(await has(), isDone);
  });
}

test("a machine that is cut off hears nothing for a while, and then that nobody answers", async () => {
  const { scheduler, store, link, has } = await stage({});
  link.isCut = true;
  const refused = assert.rejects(store.saveDefinitions([definition]), { code: "STORE_UNAVAILABLE" });
  await scheduler.run(() => false);
  await refused;
  assert.ok(scheduler.now >= 3000);
  assert.equal(await has(), false);
});

test("what a process had sent when it died is carried out or not, and never answered", async () => {
  const outcomes = new Set<boolean>();
  for (let seed = 0; seed < 20; seed++) {
    const { scheduler, store, user, has } = await stage({}, seed);
    const answers: string[] = [];
    store.saveDefinitions([definition]).then(
      () => answers.push("done"),
      () => answers.push("failed"),
    );
    user.isDead = true;
    store.abandon({ isServer: true });
    await scheduler.run(() => false);
    assert.deepEqual(answers, []);
    outcomes.add(await has());
  }
  assert.equal(outcomes.size, 2);
});

async function stage(
  conditions: Partial<StoreConditions>,
  seed = 1,
): Promise<{
  scheduler: Scheduler;
  store: SimStore;
  link: StoreLink;
  user: { isDead: boolean };
  has: () => Promise<boolean>;
}> {
  const inner = new MemoryStore({ delay: async () => undefined });
  await inner.open();
  const scheduler = new Scheduler(() => undefined);
  const log = new EventLog(() => scheduler.now);
  const recorder = new Recorder(log, () => scheduler.now);
  const user = {
    number: 1,
    machine: "m1",
    isDead: false,
    isFrozen: false,
    onStoreCall: () => undefined,
    losesCommit: () => false,
  };
  const link = new StoreLink();
  link.conditions = { ...calmStore, ...conditions };
  const store = new SimStore({ inner, user, link, scheduler, random: new SimRandom(seed), log, recorder });
  return { scheduler, store, link, user, has: async () => (await inner.findDefinition("w", "1")) !== undefined };
}
