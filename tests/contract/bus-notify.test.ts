/** Spec §11.4: the contract of every bus, over LISTEN and NOTIFY of a real PostgreSQL server. */
import { after, before } from "node:test";
import { type DatabaseServer, startPostgres } from "../../scripts/servers/postgres-server.ts";
import type { Bus } from "../../src/cluster/bus.ts";
import { NotifyBus } from "../../src/cluster/notify/notify-bus.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { newDatabase } from "../databases/databases.ts";
import { Proxy } from "../databases/proxy.ts";
import { crash } from "../databases/server-faults.ts";
import { closingSuite } from "./bus/closing.ts";
import { deliverySuite } from "./bus/delivery.ts";
import { faultSuite, type MakeFaultyBus } from "./bus/faults.ts";
import { busParts, countingParts, networkSubject } from "./bus/network-subject.ts";
import type { Subject } from "./bus/subject.ts";
import { textSuite } from "./bus/text.ts";

let url = "";
let drop = async (): Promise<void> => undefined;
before(async () => {
  url = await newDatabase("postgres", { after: (work) => void (drop = work) });
});
after(() => drop());

async function opened(store: PostgresStore, parts = busParts): Promise<Bus> {
  await store.open();
  const bus = new NotifyBus((options) => store.openNotifier(options));
  await bus.open(parts);
  return bus;
}

async function makeBus(): Promise<Subject> {
  const [own, other, foreign] = [
    new PostgresStore({ url }),
    new PostgresStore({ url }),
    new PostgresStore({ url, schema: "heddle_foreign" }),
  ] as const;
  const clients = { bus: await opened(own), other: await opened(other), foreign: await opened(foreign) };
  return networkSubject(clients, async () => {
    for (const store of [own, other, foreign]) await store.close();
  });
}

for (const suite of [deliverySuite, closingSuite, textSuite]) suite("NotifyBus", makeBus);

/** A server that nobody else uses, because it is killed. */
let server: DatabaseServer;
before(async () => void (server = await startPostgres()));
after(async () => {
  await server.process.stop();
  server.process.remove();
});

const limits = { workMs: 2500, heartbeatMs: 1000 };

const makeFaultyBus: MakeFaultyBus = async (t) => {
  const proxy = await Proxy.to(server.url);
  const [here, there] = [new PostgresStore({ url: proxy.url, limits }), new PostgresStore({ url: server.url, limits })];
  t.after(async () => {
    proxy.letGo();
    for (const store of [here, there]) await store.close();
    await proxy.close();
  });
  const parts = countingParts();
  return {
    here: await opened(here, parts),
    there: await opened(there),
    proxy,
    kill: () => crash(server),
    restart: () => server.process.start(),
    failedAttempts: parts.failedAttempts,
  };
};

faultSuite("NotifyBus", makeFaultyBus);
