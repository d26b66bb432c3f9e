import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { AskedTurn, CodeHost } from "../dispatch/code-host.ts";
import { CodeHosts } from "../dispatch/code-hosts.ts";
import { EngineError } from "../base/error.ts";
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

describe("an arrival that was recorded before the steps of an answer that had not seen it", () => {
  test("is asked about by the next owner", async () => {
    const [host, hosts] = [new Host(), new CodeHosts()];
    hosts.onReady(host);
    const shard = await CodeShard.asking(hosts);
    await shard.turn(startInput);
    await host.question();
    await shard.turn(note("1"));
    host.asked.shift()?.answer({ steps: [{ type: "custom-status", status: "busy" }], queries: [], canCancel: true });
    await shard.turn();
    assert.deepEqual(shard.types.slice(-2), ["EventRaised", "CustomStatusSet"]);

    host.asked.length = 0;
    const actor = shard.revive();
    assert.equal(actor.isActive, false);
    actor.resumeTasks(false, () => assert.fail("it has no attempts"));
    assert.equal(actor.isActive, true);
    await shard.turn();
    assert.equal((await host.question()).events, shard.events.length);
    host.answer();
    await shard.turn();
    assert.equal(actor.isActive, false);
  });
});

describe("an instance whose code is registered while its shard is being opened", () => {
  test("reacts in this process", async () => {
    const shard = await CodeShard.asking(new CodeHosts());
    await shard.turn(startInput);
    const actor = shard.revive();
    shard.deploy(async () => "done");
    actor.resumeTasks(true, () => assert.fail("it has no attempts"));
    await shard.turn();
    assert.deepEqual([shard.types.at(-1), actor.code.remote], ["InstanceEnded", undefined]);
  });
});

describe("values that are gone when they are read", () => {
  const gone = new EngineError("STORE_DATA", "instance 7 refers to payload 65536, which is not in the store");

  /** A question with a large value; from now on reads fail when the test says so. */
  async function rigOfLostReads() {
    const [host, hosts] = [new Host(), new CodeHosts()];
    hosts.onReady(host);
    const shard = await CodeShard.asking(hosts);
    const failures: unknown[] = [];
    shard.onReadFailed = (_actor, error) => void failures.push(error);
    await shard.turn(startInput);
    await host.question();
    host.answer();
    await shard.turn();
    const reads = Promise.withResolvers<string[]>();
    const loseReads = (): void => void (shard.readPayloads = () => reads.promise);
    const fail = async (): Promise<void> => {
      reads.reject(gone);
      await setImmediate();
    };
    return { host, shard, failures, loseReads, fail };
  }

  test("are of no consequence for a question that was answered meanwhile: its answer may have begun a new generation", async () => {
    const { host, shard, failures, loseReads, fail } = await rigOfLostReads();
    await shard.turn(note(large("a")));
    await host.question();
    loseReads();
    const reading = host.asked[0]?.history(0);
    await setImmediate();
    host.answer();
    await fail();
    assert.equal(await reading, undefined);
    assert.deepEqual(failures, []);
  });

  test("are a damage of the instance while the question is open", async () => {
    const { host, shard, failures, loseReads, fail } = await rigOfLostReads();
    await shard.turn(note(large("a")));
    await host.question();
    loseReads();
    const reading = host.asked[0]?.history(0);
    await fail();
    assert.equal(await reading, undefined);
    assert.deepEqual(failures, [gone]);
  });

  test("are of no consequence for a question that is not put any more, because its instance has ended", async () => {
    const { host, shard, failures, loseReads, fail } = await rigOfLostReads();
    loseReads();
    await shard.turn(note(large("a")));
    await shard.turn({ type: "TerminateInstance", reason: "enough" });
    await fail();
    assert.deepEqual(failures, []);
    assert.deepEqual(host.asked, []);
  });
});
