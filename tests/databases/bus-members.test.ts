/** Spec §11.2, §11.4: three members in processes of their own, any of which is called, while their bus goes and comes. */
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startNats } from "../../scripts/servers/nats-server.ts";
import { eventually } from "../support/until.ts";
import { type Answer, type MemberPlace, type Question, wordCount } from "./bus-member.ts";
import { execute, newDatabase, type ServerKind } from "./databases.ts";

type Asked = Question extends infer Each ? (Each extends Question ? Omit<Each, "number"> : never) : never;

class MemberProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: unknown) => void }>();
  #number = 0;

  constructor(place: MemberPlace) {
    this.#child = fork(join(import.meta.dirname, "bus-member.ts"), [JSON.stringify(place)], {
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    this.#child.on("message", ({ number, value, error }: Answer) => {
      const waiting = this.#waiting.get(number);
      this.#waiting.delete(number);
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(new Error(error));
    });
    this.#child.once("exit", (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`the member ended with ${code}`));
    });
  }

  /** Resolves when the member has joined. */
  ready(): Promise<unknown> {
    return this.#answer(0);
  }

  ask(asked: Asked): Promise<unknown> {
    const number = ++this.#number;
    const answer = this.#answer(number);
    this.#child.send({ ...asked, number });
    return answer;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, "exit");
    await this.ask({ type: "stop" });
    this.#child.disconnect();
    await ended;
  }

  #answer(number: number): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(number, { resolve, reject });
    return promise;
  }
}

/** The bus of a scene, and what takes it away until the returned function is called. */
interface SceneBus {
  readonly bus: string;
  readonly takeAway: () => Promise<() => Promise<void>>;
}

async function natsBus(t: TestContext): Promise<SceneBus> {
  const server = await startNats();
  t.after(async () => {
    await server.process.stop();
    server.process.remove();
  });
  const takeAway = async (): Promise<() => Promise<void>> => {
    await server.process.kill();
    return () => server.process.start();
  };
  return { bus: server.url, takeAway };
}

/** Ends the sessions that listen, again and again. */
function notifyBus(url: string): SceneBus {
  const takeAway = async (): Promise<() => Promise<void>> => {
    const stopped = new AbortController();
    const work = (async () => {
      while (!stopped.signal.aborted) {
        await execute(
          url,
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = 'heddle notifications'`,
        );
        await sleep(20);
      }
    })();
    return async () => {
      stopped.abort();
      await work;
    };
  };
  return { bus: "notify", takeAway };
}

const scenes: readonly [name: string, kind: ServerKind, makeBus: (t: TestContext, url: string) => Promise<SceneBus>][] =
  [
    ["PostgreSQL with NATS", "postgres", (t) => natsBus(t)],
    ["PostgreSQL with LISTEN and NOTIFY", "postgres", async (_t, url) => notifyBus(url)],
    ["MariaDB with NATS", "mysql", (t) => natsBus(t)],
  ];

describe("three processes", () => {
  for (const [name, kind, makeBus] of scenes) {
    test(`on ${name}: every call is answered and nothing is lost, also while the bus is away`, async (t) => {
      // Members stop before the database is dropped.
      const stopped = new AsyncDisposableStack();
      t.after(() => stopped.disposeAsync());
      const storage = await newDatabase(kind, t);
      const { bus, takeAway } = await makeBus(t, storage);
      const members = await Promise.all(
        ["a", "b", "c"].map(async (each) => {
          const member = new MemberProcess({ name: each, storage, bus });
          stopped.defer(() => member.stop());
          await member.ready();
          return member;
        }),
      );
      const memberAt = (number: number): MemberProcess => members[number % members.length] as MemberProcess;
      const ids = Array.from({ length: 12 }, (_, number) => `collect-${number}`);
      await Promise.all(ids.map((id, number) => memberAt(number).ask({ type: "start", id })));

      const raise = async (from: number, to: number): Promise<void> => {
        const raised = ids.flatMap((id, number) =>
          Array.from({ length: to - from }, (_, step) =>
            memberAt(number + from + step).ask({ type: "raise", id, word: wordOf(from + step) }),
          ),
        );
        await Promise.all(raised);
      };
      await raise(0, 4);
      const bringBack = await takeAway();
      await raise(4, 8);
      await bringBack();
      await raise(8, wordCount);

      const expected = Array.from({ length: wordCount }, (_, number) => wordOf(number));
      for (const [number, id] of ids.entries()) {
        assert.deepEqual(await memberAt(number + 1).ask({ type: "result", id }), expected);
      }
      for (const member of members) {
        await eventually(async () => {
          const kindOfBus = bus === "notify" ? "notify" : "nats";
          assert.deepEqual(await member.ask({ type: "bus" }), { kind: kindOfBus, isConnected: true });
        });
      }
    });
  }
});

function wordOf(number: number): string {
  return `word ${String(number).padStart(2, "0")}`;
}
