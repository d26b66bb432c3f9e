/** Spec §11.4: the contract of every bus, over a real NATS server. */
import { randomUUID } from "node:crypto";
import { after, before } from "node:test";
import { startNats } from "../../scripts/servers/nats-server.ts";
import type { DatabaseServer } from "../../scripts/servers/postgres-server.ts";
import type { Bus } from "../../src/cluster/bus.ts";
import { nats } from "../../src/nats.ts";
import { Proxy } from "../databases/proxy.ts";
import { closingSuite } from "./bus/closing.ts";
import { deliverySuite } from "./bus/delivery.ts";
import { faultSuite, type MakeFaultyBus } from "./bus/faults.ts";
import { busParts, countingParts, networkSubject } from "./bus/network-subject.ts";
import type { Subject } from "./bus/subject.ts";
import { textSuite } from "./bus/text.ts";

async function opened(url: string, prefix: string, parts = busParts): Promise<Bus> {
  const bus = nats(url, { prefix });
  await bus.open?.(parts);
  return bus;
}

function serverUrl(): string {
  const url = process.env["HEDDLE_TEST_NATS_URL"];
  if (url) return url;
  throw new Error('HEDDLE_TEST_NATS_URL is not set: "npm test -- <file>" starts the servers that tests need');
}

async function makeBus(): Promise<Subject> {
  const [url, prefix] = [serverUrl(), `test.${randomUUID()}`];
  const clients = {
    bus: await opened(url, prefix),
    other: await opened(url, prefix),
    foreign: await opened(url, `${prefix}-foreign`),
  };
  return networkSubject(clients, async () => undefined);
}

for (const suite of [deliverySuite, closingSuite, textSuite]) suite("NATS", makeBus);

/** A server that nobody else uses, because it is killed. */
let server: DatabaseServer;
before(async () => void (server = await startNats()));
after(async () => {
  await server.process.stop();
  server.process.remove();
});

const makeFaultyBus: MakeFaultyBus = async (t) => {
  const proxy = await Proxy.to(server.url);
  t.after(async () => {
    proxy.letGo();
    await proxy.close();
  });
  const [prefix, parts] = [`test.${randomUUID()}`, countingParts()];
  return {
    here: await opened(proxy.url, prefix, parts),
    there: await opened(server.url, prefix),
    proxy,
    kill: () => server.process.kill(),
    restart: () => server.process.start(),
    failedAttempts: parts.failedAttempts,
  };
};

faultSuite("NATS", makeFaultyBus);
