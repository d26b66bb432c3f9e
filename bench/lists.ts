import { storage as storeAt } from "../src/storage.ts";
import type { InstanceFilter, Store } from "../src/stores/store.ts";
import { type Figure, figure, type Settings } from "./figure.ts";
import { createdAt, fill, idOf, statusOf, workflowOf } from "./list-rows.ts";
import { median, percentile, sum } from "./statistics.ts";

const msMax = 50;
const pageSize = 50;
const times = 100;
/** A question that takes so long in all is not asked again. */
const patienceMs = 5000;

/** One question to the store, in another form each time; says how many rows came. */
type Look = (nth: number) => Promise<number>;

/** What console and caretaker ask for, on a store with a million finished instances; ms. */
export async function lists({ storage, quick }: Settings): Promise<Figure[]> {
  const finished = quick ? 100_000 : 1_000_000;
  return await storage.inDatabase(async (address) => {
    const store = await storeAt(address);
    await store.open();
    await fill(store, { finished, unfinished: 1000 });
    const figures: Figure[] = [];
    for (const [name, look] of Object.entries(looks(store, finished))) figures.push(await measure(name, look));
    await store.close();
    return figures;
  });
}

async function measure(name: string, look: Look): Promise<Figure> {
  await look(0);
  const looksMs: number[] = [];
  let rows = 0;
  for (let nth = 0; nth < times && sum(looksMs) < patienceMs; nth++) {
    const start = performance.now();
    rows += await look(nth);
    looksMs.push(performance.now() - start);
  }
  const measured = { value: percentile(looksMs, 0.99), ceiling: msMax, unit: "ms p99" };
  const goal = { target: `< ${msMax} ms`, isMet: (value: number) => value < msMax };
  return figure(`list ${name}`, measured, goal, { p50Ms: median(looksMs), rows: rows / looksMs.length });
}

function looks(store: Store, finished: number): Readonly<Record<string, Look>> {
  const list = async (filter: Omit<InstanceFilter, "limit">): Promise<number> => {
    return (await store.listInstances({ ...filter, limit: pageSize })).length;
  };
  const find = async (id: string): Promise<number> => ((await store.findFinished(id)) === undefined ? 0 : 1);
  const endedBefore = async (time: number): Promise<number> => {
    return (await store.listFinishedBefore({ status: "Success", endedBefore: time, limit: 1000 })).length;
  };
  /** From the oldest up. */
  const some = (nth: number): number => Math.floor(((nth + 0.5) / times) * finished);
  const someTime = (nth: number): number => createdAt(some(nth));
  return {
    newest: () => list({}),
    "by status": (nth) => list({ status: [statusOf(nth)] }),
    "by rare status": () => list({ status: ["Terminated"] }),
    unfinished: () => list({ status: ["Ready", "Running", "Paused"] }),
    "by workflow": (nth) => list({ workflow: workflowOf(nth + 1) }),
    "by rare workflow": () => list({ workflow: workflowOf(0) }),
    "by workflow, status": (nth) => list({ workflow: workflowOf(nth + 1), status: ["Terminated"] }),
    "by id": (nth) => list({ idPrefix: idOf(some(nth)) }),
    "by rare prefix": (nth) => list({ idPrefix: idOf(some(nth) | 1).slice(0, -2) }),
    "by common prefix": () => list({ idPrefix: "order-" }),
    "by old prefix": () => list({ idPrefix: "old-" }),
    "by time": (nth) => list({ createdFrom: someTime(nth), createdTo: someTime(nth + 1) }),
    "by time, status": (nth) => list({ status: ["Failed"], createdTo: someTime(nth) }),
    "deep page": (nth) => list({ before: { createdAt: someTime(nth), key: 0 } }),
    "deep page of workflow": (nth) => list({ workflow: "workflow 5", before: { createdAt: someTime(nth), key: 0 } }),
    "find finished": (nth) => find(idOf(some(nth))),
    "find nobody": (nth) => find(`nobody ${nth}`),
    "ended before, some": (nth) => endedBefore(someTime(nth)),
    "ended before, none": () => endedBefore(createdAt(0)),
  };
}
