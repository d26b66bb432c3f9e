import { after, before, describe, type TestContext } from "node:test";
import { startMariadb } from "../../scripts/servers/mariadb-server.ts";
import { type DatabaseServer, startPostgres } from "../../scripts/servers/postgres-server.ts";
import type { Store } from "../../src/stores/store.ts";
import { storeAt } from "./database-stores.ts";
import { execute, type ServerKind, urlOf } from "./databases.ts";
import { Proxy } from "./proxy.ts";
import { newSession, type Session } from "./session.ts";

export const tables: Readonly<Record<ServerKind, { history: string; shard: string }>> = {
  postgres: { history: "heddle.history", shard: "heddle.shard" },
  mysql: { history: "heddle_history", shard: "heddle_shard" },
};

/** Of a store's calls. */
export const limits = { workMs: 2500, heartbeatMs: 1000 };

/** A database on a server that may be hit, the way to it, and somebody who stands in the way. */
export interface Scene {
  readonly kind: ServerKind;
  readonly url: string;
  readonly proxy: Proxy;
  /** By way of the proxy. */
  readonly store: Store;
  readonly session: Session;
  readonly server: DatabaseServer;
}

export type MakeScene = (t: TestContext) => Promise<Scene>;

const starters: Readonly<Record<ServerKind, () => Promise<DatabaseServer>>> = {
  postgres: startPostgres,
  mysql: startMariadb,
};

/** The same tests on every kind of server. Each kind has one of its own for all of them, which they leave running. */
export function onOwnServers(suite: (makeScene: MakeScene) => void): void {
  for (const kind of ["postgres", "mysql"] as const) {
    describe(kind, () => {
      let server: DatabaseServer;
      let databases = 0;
      before(async () => void (server = await starters[kind]()));
      after(async () => {
        await server.process.stop();
        server.process.remove();
      });
      suite((t) => makeScene(t, { kind, server, name: `scene_${++databases}` }));
    });
  }
}

async function makeScene(
  t: TestContext,
  { kind, server, name }: { kind: ServerKind; server: DatabaseServer; name: string },
): Promise<Scene> {
  await execute(server.url, `CREATE DATABASE ${name}`);
  const url = urlOf(server.url, name);
  const proxy = await Proxy.to(url);
  const store = storeAt(kind, proxy.url, limits);
  const session = await newSession(url);
  t.after(async () => {
    proxy.letGo();
    await store.close();
    await proxy.close();
    // The server may have ended it before.
    await session.end().catch(() => undefined);
  });
  await store.open();
  return { kind, url, proxy, store, session, server };
}
