/** A process that ends between any two steps of a change leaves nothing that the next start does not make good. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Catalogue, CatalogueEntry } from "../../src/catalogue/catalogue.ts";
import { memoryStore } from "../../src/testing.ts";
import { dag, House, Plug } from "./rig.ts";

const hourly = "0 * * * *";

interface Change {
  readonly before: readonly ((catalogue: Catalogue) => Promise<unknown>)[];
  readonly change: (catalogue: Catalogue) => Promise<unknown>;
}

const create = (catalogue: Catalogue): Promise<unknown> => catalogue.create({ name: "etl", spec: dag("one") });
const schedule = (catalogue: Catalogue): Promise<unknown> =>
  catalogue.setSchedule("etl", { cronExpr: hourly, timeZone: "UTC", enable: true });

const changes: Readonly<Record<string, Change>> = {
  "create with a schedule": {
    before: [],
    change: (catalogue) =>
      catalogue.create({ name: "etl", spec: dag("one"), cronExpr: hourly, timeZone: "UTC", isScheduled: true }),
  },
  update: { before: [create, schedule], change: (catalogue) => catalogue.update("etl", { spec: dag("two") }) },
  "update everything": {
    before: [create, schedule],
    change: (catalogue) => catalogue.update("etl", { spec: dag("two"), cronExpr: "7 * * * *", isScheduled: false }),
  },
  "another time": {
    before: [create, schedule],
    change: (catalogue) => catalogue.update("etl", { cronExpr: "7 * * * *" }),
  },
  "schedule off": {
    before: [create, schedule],
    change: (catalogue) => catalogue.setSchedule("etl", { enable: false }),
  },
  "schedule on": {
    before: [create, schedule, (catalogue) => catalogue.setSchedule("etl", { enable: false })],
    change: (catalogue) => catalogue.setSchedule("etl", { enable: true }),
  },
  "no schedule any more": {
    before: [create, schedule],
    change: (catalogue) => catalogue.update("etl", { cronExpr: null }),
  },
  "roll back": {
    before: [create, (catalogue) => catalogue.update("etl", { spec: dag("two") })],
    change: async (catalogue) => catalogue.rollBack("etl", (await catalogue.versions("etl")).at(-1)?.version ?? ""),
  },
  delete: { before: [create, schedule], change: (catalogue) => catalogue.delete("etl") },
};

describe("a crash after each step of", () => {
  for (const [what, { before, change }] of Object.entries(changes)) {
    test(what, async (t) => {
      let crashes = 0;
      for (let steps = 1; await crashAfter(t, steps, { before, change }); steps++) crashes++;
      t.diagnostic(`${crashes} crashes`);
      assert.ok(crashes >= 2, `${crashes} crashes`);
    });
  }
});

/** False if the change was through before. */
async function crashAfter(
  t: Parameters<typeof House.open>[0],
  steps: number,
  { before, change }: Change,
): Promise<boolean> {
  const plug = new Plug();
  const store = memoryStore();
  const first = await House.open(t, { store, wrap: plug.wrap });
  for (const step of before) await step(first.catalogue);
  const entryBefore = content((await first.checkInForce())[0]);
  plug.pullAfter(steps);
  const isCut = (await plug.race(change(first.catalogue))) === "pulled";
  await (isCut ? first.engine.stop() : first.stop());

  const second = await House.open(t, { store });
  const [entry] = await second.checkInForce();
  await second.stop();
  const third = await House.open(t, { store });
  const [again] = await third.checkInForce();
  assert.deepEqual(content(again), content(entry));
  await change(third.catalogue).catch(() => undefined);
  const [done] = await third.checkInForce();
  await third.stop();
  const isAsBefore = JSON.stringify(content(entry)) === JSON.stringify(entryBefore);
  const isDone = JSON.stringify(content(entry)) === JSON.stringify(content(done));
  assert.ok(isAsBefore || isDone, `after ${steps} steps it is neither as before nor done: ${JSON.stringify(entry)}`);
  return isCut;
}

/** Without what differs from one time to the next. */
function content(entry: CatalogueEntry | undefined): unknown {
  if (entry === undefined) return null;
  const {
    version,
    spec: { nodes },
    cronExpr,
    timeZone,
    isScheduled,
  } = entry;
  return { version, nodes: nodes.length, cronExpr, timeZone, isScheduled };
}
