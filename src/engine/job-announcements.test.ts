import assert from "node:assert/strict";
import { test } from "node:test";
import { JobRegistry } from "../authoring/job-registry.ts";
import type { JobDetails } from "../dispatch/session-message.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { LogBook } from "../testing/log-book.rig.ts";
import { TestClock } from "../testing/test-clock.ts";
import { JobAnnouncements } from "./job-announcements.ts";

const clock = new TestClock({ now: 1000 });

/** A member on the store, which counts what it writes. */
async function member(store: MemoryStore) {
  const registries = new Map<string, JobRegistry>();
  const registryOf = (namespace: string): JobRegistry => {
    const registry = registries.get(namespace) ?? new JobRegistry();
    registries.set(namespace, registry);
    return registry;
  };
  await store.open();
  const writes: string[] = [];
  const added: string[] = [];
  let isAway = false;
  const log = new LogBook();
  const announcements = new JobAnnouncements({
    clock,
    logger: log,
    registryOf,
    onAdded: (namespace) => added.push(namespace),
    store: {
      findDocument: (kind, name) => store.findDocument(kind, name),
      listDocuments: (kind, page) => store.listDocuments(kind, page),
      saveDocument: async (row) => {
        if (isAway) throw new Error("the store is away");
        writes.push(`${row.kind} ${row.name} ${row.revision}`);
        return await store.saveDocument(row);
      },
    },
  });
  return { announcements, registryOf, writes, added, log, goAway: () => (isAway = true) };
}

const one: JobDetails = { id: "resize@1", parameters: '{"type":"string"}', description: "smaller", sourceHash: "s" };
const two: JobDetails = { id: "resize@2", parameters: '{"type":"string"}' };

test("a job is recorded once, in its namespace, and every member learns it", async () => {
  const store = new MemoryStore();
  const [a, b] = [await member(store), await member(store.connect())];
  await a.announcements.announce("acme", [one]);
  await a.announcements.announce("acme", [one]);
  assert.deepEqual([a.writes, a.added], [["announced @acme/resize@1 1"], ["acme"]]);
  await Promise.all([b.announcements.learn(), b.announcements.learn()]);
  const learned = b.registryOf("acme").announced.get("resize@1");
  const expected = { name: "resize", signature: "1", codePath: null, announcedAt: clock.now() };
  assert.deepEqual(learned, { ...one, ...expected });
  assert.deepEqual(b.registryOf("default").announced.all, []);
  await b.announcements.announce("acme", [one]);
  assert.deepEqual(b.writes, []);
});

test("a name means the signature that was announced last, also after an older worker has come back", async () => {
  const { announcements, registryOf, writes } = await member(new MemoryStore());
  const latest = (): string | undefined => registryOf("default").announced.find("resize", "x")?.id;
  await announcements.announce("default", [one]);
  await clock.advance(1);
  await announcements.announce("default", [two]);
  assert.equal(latest(), "resize@2");
  await clock.advance(1);
  await announcements.announce("default", [one]);
  assert.equal(latest(), "resize@1");
  assert.deepEqual(writes, ["announced resize@1 1", "announced resize@2 1", "announced resize@1 2"]);
});

test("a job that cannot be recorded is known all the same, and the reason is logged", async () => {
  const { announcements, registryOf, log, goAway } = await member(new MemoryStore());
  goAway();
  await announcements.announce("default", [one]);
  assert.equal(registryOf("default").resolve({ jobName: "resize" }).id, "resize@1");
  assert.match(log.lines.map(({ message }) => message).join(), /could not be recorded/);
});
