import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { Bus, BusConnection } from "../../../src/cluster/bus.ts";
import { busTextLengthMax } from "../../../src/cluster/bus.ts";
import type { Proxy } from "../../databases/proxy.ts";
import { until } from "../../support/until.ts";
import { Ears } from "./subject.ts";

/** Clients of one server: `here` reaches it by way of the proxy, `there` directly. */
export interface FaultySubject {
  readonly here: Bus;
  readonly there: Bus;
  readonly proxy: Proxy;
  /** Kills the server, and starts it again when told to. */
  readonly kill: () => Promise<void>;
  readonly restart: () => Promise<void>;
  /** Attempts of `here` to connect that were in vain, as its log says. */
  readonly failedAttempts: () => number;
}

export type MakeFaultyBus = (t: TestContext) => Promise<FaultySubject>;

interface Pair {
  readonly subject: FaultySubject;
  readonly here: BusConnection;
  readonly there: BusConnection;
  readonly earsHere: Ears;
  readonly earsThere: Ears;
  /** The states that `here` had, as it told them. */
  readonly states: boolean[];
}

let pairs = 0;

async function pair(t: TestContext, makeBus: MakeFaultyBus): Promise<Pair & { addresses: [string, string] }> {
  const subject = await makeBus(t);
  const addresses: [string, string] = [`here-${++pairs}`, `there-${pairs}`];
  const [earsHere, earsThere, states] = [new Ears(), new Ears(), new Array<boolean>()];
  const here = subject.here.connect(addresses[0], earsHere.listener, () => states.push(here.isConnected));
  const there = subject.there.connect(addresses[1], earsThere.listener);
  t.after(async () => {
    await here.close();
    await there.close();
  });
  await until(() => here.isConnected && there.isConnected);
  return { subject, here, there, earsHere, earsThere, states, addresses };
}

/** Sends in both directions until both have heard something new: right after an outage a message may get lost. */
async function untilTheyHear({
  here,
  there,
  earsHere,
  earsThere,
  addresses,
}: Awaited<ReturnType<typeof pair>>): Promise<void> {
  const [toHere, toThere] = [earsHere.heard.length, earsThere.heard.length];
  await until(
    () => {
      here.send(addresses[1], "to there");
      there.send(addresses[0], "to here");
      return earsHere.heard.length > toHere && earsThere.heard.length > toThere;
    },
    { everyMs: 50 },
  );
}

/** Faults of the server and of the network to it: a bus becomes slower, says so, and comes back by itself. */
export function faultSuite(name: string, makeBus: MakeFaultyBus): void {
  describe(`${name}: faults`, () => {
    test("a connection that is cut is noticed, and comes back", async (t) => {
      const members = await pair(t, makeBus);
      for (let times = 0; times < 3; times++) {
        members.subject.proxy.cut();
        await until(() => members.states.filter((isConnected) => !isConnected).length > times);
        await until(() => members.here.isConnected);
        await untilTheyHear(members);
      }
      assert.equal(members.states.at(-1), true);
      assert.ok(members.states.filter((isConnected) => !isConnected).length >= 3);
      assert.equal(members.there.isConnected, true);
    });

    test("a bus that is away takes nothing, and is tried again and again", async (t) => {
      const members = await pair(t, makeBus);
      const { subject, here, there, addresses, earsHere } = members;
      subject.proxy.refuse();
      subject.proxy.cut();
      await until(() => !here.isConnected);
      assert.equal(here.send(addresses[1], "to nobody"), false);
      const before = earsHere.heard.length;
      there.send(addresses[0], "may be lost");
      await until(() => subject.failedAttempts() >= 3, { everyMs: 50 });
      assert.equal(here.isConnected, false);
      assert.equal(earsHere.heard.length, before);
      await subject.proxy.accept();
      await until(() => here.isConnected);
      await untilTheyHear(members);
    });

    test("a server that is killed and started again has everybody back, each once", async (t) => {
      const members = await pair(t, makeBus);
      const { subject, here, there, addresses, earsThere } = members;
      await subject.kill();
      await until(() => !here.isConnected && !there.isConnected);
      assert.equal(here.send(addresses[1], "to nobody"), false);
      await subject.restart();
      await until(() => here.isConnected && there.isConnected);
      await untilTheyHear(members);
      here.send(addresses[1], "once");
      await until(() => earsThere.heard.includes("once"));
      await untilTheyHear(members);
      assert.equal(earsThere.heard.filter((text) => text === "once").length, 1);
    });

    test("a server that is away at first is no error, and nothing is left of a connection that gave up", async (t) => {
      const subject = await makeBus(t);
      subject.proxy.refuse();
      subject.proxy.cut();
      const ears = new Ears();
      const late = subject.here.connect("late", ears.listener);
      const never = subject.here.connect("never", ears.listener);
      t.after(() => late.close());
      await until(() => subject.failedAttempts() >= 3);
      assert.deepEqual([late.isConnected, late.send("late", "x")], [false, false]);
      await never.close();
      await subject.proxy.accept();
      await until(() => late.isConnected);
      late.send("never", "to the closed one");
      late.send("late", "at last");
      await until(() => ears.heard.length > 0);
      assert.deepEqual(ears.heard, ["at last"]);
      assert.equal(never.isConnected, false);
    });

    test("a network that stands still is noticed, though no connection breaks", async (t) => {
      const members = await pair(t, makeBus);
      const { subject, here } = members;
      subject.proxy.hold("requests", "answers");
      await until(() => !here.isConnected, { everyMs: 50 });
      subject.proxy.letGo();
      await until(() => here.isConnected, { everyMs: 50 });
      await untilTheyHear(members);
    });

    test("a network that is too slow has back-pressure: the sender hears no, and yes again later", async (t) => {
      const members = await pair(t, makeBus);
      const { subject, here, addresses, earsThere } = members;
      subject.proxy.hold("requests", "answers");
      const long = "x".repeat(busTextLengthMax);
      let taken = 0;
      while (taken < 1000 && here.send(addresses[1], long)) taken++;
      assert.ok(taken > 10 && taken < 1000, `${taken} were taken`);
      subject.proxy.letGo();
      await until(() => earsThere.heard.length >= taken || !here.isConnected);
      await until(() => here.isConnected && here.send(addresses[1], "short"));
    });
  });
}
