/**
 * An engine under a steady load on real servers that fail: it goes on by itself, and nothing that it had accepted is lost
 * or done twice.
 */
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { storeAt } from "./database-stores.ts";
import { limits, onOwnServers, type Scene, tables } from "./scene.ts";
import { crash, endSessions, freeze } from "./server-faults.ts";
import { SteadyLoad } from "./steady-load.ts";

/** Longer than members wait for each other. */
const pastLeaseMs = 3000;

interface Case {
  readonly name: string;
  /** Long enough for the engine to lose its lease: what ran then may run again. */
  readonly isLost?: true;
  readonly hit: (scene: Scene) => Promise<void>;
}

const cases: readonly Case[] = [
  {
    name: "sessions are ended, again and again",
    hit: async ({ url }) => {
      for (let times = 0; times < 25; times++) {
        await endSessions(url);
        await sleep(Math.random() * 150);
      }
    },
  },
  {
    name: "answers are lost, again and again",
    hit: async ({ proxy }) => {
      for (let times = 0; times < 25; times++) {
        await proxy.loseAnswer();
        await sleep(Math.random() * 50);
      }
    },
  },
  {
    name: "connections are cut, again and again",
    hit: async ({ proxy }) => {
      for (let times = 0; times < 25; times++) {
        proxy.cut();
        await sleep(Math.random() * 100);
      }
    },
  },
  {
    name: "the network is slow",
    hit: async ({ proxy }) => {
      proxy.delay(40);
      await sleep(1500);
      proxy.delay(0);
    },
  },
  {
    name: "the network stalls for less than the lease",
    hit: async ({ proxy }) => {
      proxy.hold("requests", "answers");
      await sleep(600);
      proxy.letGo();
    },
  },
  {
    name: "the network stalls for longer than the lease",
    isLost: true,
    hit: async ({ proxy }) => {
      proxy.hold("requests", "answers");
      await sleep(pastLeaseMs);
      proxy.letGo();
    },
  },
  {
    name: "connections are refused for longer than the lease",
    isLost: true,
    hit: async ({ proxy }) => {
      proxy.refuse();
      proxy.cut();
      await sleep(pastLeaseMs);
      await proxy.accept();
    },
  },
  {
    name: "somebody holds the rows of all shards",
    hit: async ({ kind, session }) => {
      await session.run("BEGIN");
      await session.run(`SELECT * FROM ${tables[kind].shard} FOR UPDATE`);
      await sleep(1500);
      await session.run("ROLLBACK");
    },
  },
  {
    name: "the server is killed and started again",
    isLost: true,
    hit: async ({ server }) => {
      await crash(server);
      await sleep(300);
      await server.process.start();
    },
  },
  {
    name: "the server is restarted in good order",
    isLost: true,
    hit: async ({ server }) => {
      await server.process.stop();
      await server.process.start();
    },
  },
  {
    name: "the server stands still for longer than the lease",
    isLost: true,
    hit: async ({ server }) => {
      const thaw = freeze(server);
      await sleep(pastLeaseMs);
      thaw();
    },
  },
];

onOwnServers((makeScene) => {
  for (const { name, isLost = false, hit } of cases) {
    test(`an engine goes on when ${name}`, async (t) => {
      const it = await makeScene(t);
      const load = new SteadyLoad(storeAt(it.kind, it.proxy.url, limits));
      await load.start();
      await hit(it);
      await load.untilMore(20);
      await load.finish({ isLost });
      t.diagnostic(`${load.accepted} instances`);
    });
  }
});
