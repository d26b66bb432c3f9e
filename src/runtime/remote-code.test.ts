import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { AskedTurn, CodeHost } from "../dispatch/code-host.ts";
import { CodeHosts } from "../dispatch/code-hosts.ts";
import type { Event } from "../kernel/event.ts";
import type { TurnQuestion } from "../kernel/code/turn-question.ts";
import { CodeShard, startInput } from "./code-shard.rig.ts";
import type { Input } from "./input.ts";

const large = (name: string): string => JSON.stringify(name.repeat(5000));
const note = (data: string): Input => ({ type: "RaiseEvent", name: "note", data });

/** A host that keeps what it is asked. */
class Host implements CodeHost {
  readonly address = "host";
  readonly freeTurns = 1;
  readonly asked: AskedTurn[] = [];

  canRun(): boolean {
    return true;
  }

  ask(turn: AskedTurn): void {
    this.asked.push(turn);
  }

  withdraw(): void {
    assert.fail("no question is withdrawn here");
  }

  /** The question that it has, once it has one. */
  async question(): Promise<TurnQuestion> {
    for (let i = 0; i < 10 && this.asked.length === 0; i++) await setImmediate();
    const [turn] = this.asked;
    assert.ok(turn !== undefined, "no question has come");
    return turn.question;
  }

  answer(): void {
    this.asked.shift()?.answer({ steps: [], queries: [], canCancel: true });
  }
}

/** A shard whose payloads are read when the test says so. */
class SlowReads {
  readonly #waiting: (() => void)[] = [];

  constructor(shard: CodeShard) {
    const read = shard.readPayloads.bind(shard);
    shard.readPayloads = async (instance, refs) => {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      return await read(instance, refs);
    };
  }

  finish(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

const isRaised = (event: Event): event is Extract<Event, { type: "EventRaised" }> => event.type === "EventRaised";
const newsOf = ({ news = [] }: TurnQuestion): Event[] => news.flatMap(({ events }) => events);
const notesIn = (question: TurnQuestion): unknown[] =>
  newsOf(question)
    .filter(isRaised)
    .map(({ data }) => data);

describe("a question about code elsewhere", () => {
  test("T1: has the events that are durable when it is asked, and not those that come while their values are read", async () => {
    const [host, hosts] = [new Host(), new CodeHosts()];
    hosts.onReady(host);
    const shard = await CodeShard.asking(hosts);
    const reads = new SlowReads(shard);
    await shard.turn(startInput);
    await host.question();
    host.answer();
    await shard.turn();

    await shard.turn(note(large("a")));
    shard.life.tell({ input: note(large("b")) });
    await shard.prepare();
    const uncommitted = shard.life.openTurn();
    await setImmediate();
    reads.finish();
    const first = await host.question();
    assert.deepEqual(notesIn(first), [large("a")]);
    assert.equal(first.events, first.seen + newsOf(first).length);

    host.answer();
    shard.write(uncommitted);
    await shard.turn();
    await setImmediate();
    reads.finish();
    assert.deepEqual(notesIn(await host.question()), [large("b")]);
  });
});
