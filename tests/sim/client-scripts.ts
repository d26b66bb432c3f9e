import type { InstanceView } from "../../src/views/instance-view.ts";
import { hasEnded } from "../../src/kernel/status.ts";
import { lastNote, type Note } from "./code-workflows.ts";
import type { Driver } from "./drivers.ts";
import type { CodeClientScript } from "./code-shapes.ts";
import type { ClientScript } from "./shapes.ts";

/**
 * The client scripts. They read the state before they act, because a call whose answer was lost may have been carried
 * out.
 */
export const clientScripts: Readonly<
  Record<ClientScript | CodeClientScript, (driver: Driver, id: string) => Promise<void>>
> = {
  async retry(driver, id) {
    for (let view = await driver.untilEnded(id); isFirstFailure(view); view = await driver.untilEnded(id))
      await driver.retry(id);
  },

  async mend(driver, id) {
    for (let view = await driver.untilEnded(id); isFirstFailure(view); view = await driver.untilEnded(id))
      await driver.mend(id);
  },

  "patch-external": patchExternal,

  correspond,

  /**
   * Also polls for the end: the instance may be paused by a request whose answer was lost, and a paused one does not
   * answer.
   */
  async serve(driver, id) {
    await Promise.all([serve(driver, id), driver.untilEnded(id)]);
  },

  async cancel(driver, id) {
    await driver.sleep(1500);
    await cancel(driver, id);
  },

  /** Also polls for the end: a paused instance does not run its compensations. */
  async "cancel-undoing"(driver, id) {
    await Promise.all([cancelUndoing(driver, id), driver.untilEnded(id)]);
  },

  async add(driver, id) {
    await driver.sleep(500);
    for (let view = await driver.look(id); !hasExtra(view); view = await driver.look(id)) {
      if (view !== undefined) await driver.add(id);
      await driver.sleep(300);
    }
    await patchExternal(driver, id);
  },
};

/** Retries until the cancel is recorded, or too late. */
async function cancel(driver: Driver, id: string): Promise<void> {
  while ((await driver.cancel(id)).outcome === "unknown") await driver.sleep(300);
}

async function cancelUndoing(driver: Driver, id: string): Promise<void> {
  for (let view = await driver.look(id); !isUndoing(view); view = await driver.look(id)) await driver.sleep(50);
  await cancel(driver, id);
}

/** Whether it runs compensations, or has ended. */
function isUndoing(view: InstanceView | undefined): boolean {
  if (view === undefined) return false;
  return hasEnded(view.status) || view.tasks.some(({ name }) => name.startsWith("undo"));
}

async function patchExternal(driver: Driver, id: string): Promise<void> {
  await driver.sleep(1000);
  await driver.patch(id, { external: 42 });
}

function isFirstFailure(view: InstanceView): boolean {
  return view.status === "Failed" && view.generation === 1;
}

/** Whether the sub-task was added, or can no longer be. */
function hasExtra(view: InstanceView | undefined): boolean {
  if (view === undefined) return false;
  return hasEnded(view.status) || view.tasks.some(({ name }) => name === "extra");
}

/** Several senders raise events concurrently, each in sequence; after all of them, one last event ends the instance. */
async function correspond(driver: Driver, id: string): Promise<void> {
  const senders = Array.from({ length: driver.random.whole(1, 3) }, (_, place) => `sender ${place}`);
  await Promise.all(senders.map((sender) => write(driver, id, { sender, count: driver.random.whole(0, 5) })));
  for (;;) {
    const last = await note(driver, id, lastNote);
    if (last.outcome !== "unknown") return;
    const view = await driver.look(id);
    if (view !== undefined && hasEnded(view.status)) return;
    await driver.sleep(300);
  }
}

async function write(driver: Driver, id: string, { sender, count }: { sender: string; count: number }): Promise<void> {
  for (let number = 0; number < count; number++) {
    await driver.sleep(400);
    await note(driver, id, { sender, number });
    if (driver.random.isLucky(0.2)) await queryAndLook(driver, id, "seen");
  }
}

/** Asks the code, and for its status, which says what it waits for. */
async function queryAndLook(driver: Driver, id: string, query: string): Promise<void> {
  await driver.query(id, query);
  await driver.look(id);
}

async function note(driver: Driver, id: string, data: Note): Promise<{ readonly outcome: string }> {
  return await driver.raise(id, "note", { ...data });
}

/**
 * Several clients send updates concurrently, some of which are rejected; after all answers, an event closes the
 * instance.
 */
async function serve(driver: Driver, id: string): Promise<void> {
  const users = Array.from({ length: driver.random.whole(1, 3) }, () => driver.random.whole(0, 4));
  await Promise.all(
    users.map(async (count) => {
      for (let number = 0; number < count; number++) {
        await driver.sleep(400);
        const value = driver.random.isLucky(0.15) ? -1 : driver.random.whole(1, 9);
        await driver.update(id, "add", { value });
        if (driver.random.isLucky(0.4)) await queryAndLook(driver, id, "sum");
      }
    }),
  );
  while ((await driver.raise(id, "close")).outcome === "unknown") await driver.sleep(300);
}
