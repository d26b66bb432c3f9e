import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HandSession, Rig, settle } from "./dispatcher.rig.ts";
import type { ReactionSlot } from "./reaction-slots.ts";

const suspect = { interruptions: 2, isCautious: true, timeoutMs: Infinity };
const last = { ...suspect, interruptions: 3, isLastTry: true };
const careful = { interruptions: 1, isCautious: true, timeoutMs: Infinity };

/** A dispatcher, and reactions of workflow code beside it. */
class Process extends Rig {
  readonly #slots = new Map<string, ReactionSlot>();

  /** Those that are on record. */
  get reacting(): string[] {
    return [...this.#slots.keys()];
  }

  react(name: string, losses: number): void {
    this.dispatcher.reactionSlots.enter(losses, (slot) => this.#slots.set(name, slot));
  }

  async through(name: string): Promise<void> {
    const slot = this.#slots.get(name) ?? assert.fail(`${name} does not react`);
    this.#slots.delete(name);
    slot.leave();
    await settle();
  }
}

describe("recorded reactions", () => {
  test("run side by side; a suspect waits for all of them, and then they wait for it", async () => {
    const process = new Process();
    process.react("a", 0);
    process.react("s", 2);
    process.react("b", 1);
    assert.deepEqual(process.reacting, ["a", "b"]);
    await process.through("a");
    await process.through("b");
    assert.deepEqual(process.reacting, ["s"]);
    process.react("other", 3);
    process.react("c", 1);
    process.react("d", 0);
    assert.deepEqual(process.reacting, ["s"]);
    await process.through("s");
    assert.deepEqual(process.reacting, ["d", "c"]);
  });

  test("hold their slots for two seconds at most", async () => {
    const process = new Process();
    process.react("s", 2);
    process.react("a", 0);
    await process.clock.advance(1900);
    assert.deepEqual(process.reacting, ["s"]);
    await process.clock.advance(200);
    assert.deepEqual(process.reacting, ["s", "a"]);
  });
});

describe("a suspect attempt", () => {
  test("starts when no reaction is on record, and not while one waits", async () => {
    const process = new Process();
    process.react("a", 0);
    process.react("s", 2);
    await process.enqueue(process.run("job", suspect), process.run("last", last));
    await process.through("a");
    assert.deepEqual([process.reacting, process.running], [["s"], []]);
    await process.through("s");
    assert.deepEqual(process.running, ["job"]);
  });

  test("has no reaction beside it whose instance was lost before, for a minute", async () => {
    const process = new Process();
    await process.enqueue(process.run("job", suspect));
    for (const losses of [0, 1, 2]) process.react(`lost ${losses}`, losses);
    assert.deepEqual(process.reacting, ["lost 0"]);
    await process.through("lost 0");
    await process.clock.advance(59_000);
    assert.deepEqual(process.reacting, []);
    await process.clock.advance(2000);
    assert.deepEqual(process.reacting, ["lost 1"]);
  });

  test("on its last chance has none beside it at all", async () => {
    const process = new Process();
    await process.enqueue(process.run("job", last));
    process.react("a", 0);
    await process.clock.advance(59_000);
    assert.deepEqual(process.reacting, []);
    await process.finish("job");
    assert.deepEqual(process.reacting, ["a"]);
  });

  test("stays isolated until its end is durable, or for two seconds", async () => {
    const process = new Process();
    await process.enqueue(process.run("job", suspect));
    process.react("a", 1);
    await process.finishVolatile("job");
    assert.deepEqual([process.running, process.reacting], [[], []]);
    await process.acknowledgeAll();
    assert.deepEqual(process.reacting, ["a"]);
    await process.through("a");
    await process.enqueue(process.run("other", suspect));
    process.react("b", 1);
    await process.enqueue(process.run("once", careful));
    await process.finishVolatile("other");
    await process.clock.advance(1900);
    assert.deepEqual([process.running, process.reacting], [[], []]);
    await process.clock.advance(200);
    assert.deepEqual([process.running, process.reacting], [["once"], ["b"]]);
  });

  test("on a remote worker dies with that, and holds up no reaction", async () => {
    const process = new Process();
    process.worker.missing.add("job");
    process.dispatcher.connect(new HandSession("a", 2));
    await process.enqueue(process.run("job", last));
    assert.deepEqual(process.running, ["job"]);
    process.react("s", 2);
    assert.deepEqual(process.reacting, ["s"]);
  });

  test("whose start is never confirmed holds up reactions for a minute, not for ever", async () => {
    const process = new Process();
    const confirmStart = (): Promise<void> => new Promise(() => undefined);
    await process.enqueue(process.run("job", { ...suspect, confirmStart }));
    process.react("a", 1);
    await process.clock.advance(61_000);
    assert.deepEqual(process.reacting, ["a"]);
  });

  test("holds up nothing when the clock is set back", async () => {
    const process = new Process();
    await process.enqueue(process.run("job", suspect));
    await process.clock.advance(1000);
    process.clock.skip(-3_600_000);
    process.react("a", 1);
    assert.deepEqual(process.reacting, ["a"]);
  });
});

describe("a suspect reaction", () => {
  test("waits for careful attempts that are young, and no attempt starts beside it", async () => {
    const process = new Process();
    await process.enqueue(process.run("once", careful), "plain");
    process.react("s", 2);
    assert.deepEqual(process.reacting, []);
    await process.clock.advance(2500);
    assert.deepEqual([process.running, process.reacting], [["once", "plain"], ["s"]]);
    await process.enqueue(process.run("again", careful), process.run("job", suspect), "new");
    assert.deepEqual(process.running, ["once", "plain"]);
    assert.match(process.dispatcher.status.waitOf("new")?.text ?? "", /which run alone for a moment/);
    await process.through("s");
    assert.deepEqual(process.running, ["once", "plain", "again", "new"]);
  });
});

test("attempts on their last chance hold up no others while they wait for reactions", async () => {
  const process = new Process();
  process.react("a", 0);
  await process.enqueue("old", process.run("job", last));
  await process.enqueue("new");
  assert.deepEqual(process.running, ["old", "new"]);
  await process.through("a");
  await process.clock.advance(2500);
  assert.deepEqual(process.running, ["old", "new", "job"]);
});
