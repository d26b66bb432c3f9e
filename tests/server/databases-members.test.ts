/** Spec §12.1 and §12.2: three processes on one PostgreSQL, over NATS and without, are one service, while members are drained, stopped and killed. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { PushedProgress } from "../../src/server/push/progress-feed.ts";
import { EventReader } from "./event-reader.ts";
import { assertAlike, type Member, saveSubjects, threeMembers, within } from "./members-rig.ts";
import { type PushedChange, Watcher } from "./push-rig.ts";

const isEnd = ({ status }: PushedChange): boolean => status === "Success";

function turnsOf(changes: readonly PushedChange[]): number[] {
  return changes.filter(({ resync }) => resync !== true).map(({ turn }) => turn);
}

function assertWhole(turns: readonly number[]): void {
  assert.deepEqual(
    turns,
    Array.from(turns, (_, at) => at),
  );
}

function changesOf({ changes }: Watcher, id: string): PushedChange[] {
  return changes.filter(({ instanceId }) => instanceId === id);
}

/** Everything that one member sends about some instances. */
class Ear {
  readonly socket: Watcher;
  readonly all: EventReader;
  readonly members: EventReader;
  readonly byId: ReadonlyMap<string, EventReader>;

  private constructor(socket: Watcher, streams: [EventReader, EventReader, ReadonlyMap<string, EventReader>]) {
    this.socket = socket;
    [this.all, this.members, this.byId] = streams;
  }

  static async open(member: Member, ids: readonly string[]): Promise<Ear> {
    const socket = await Watcher.open(member);
    const events = (query: string): Promise<EventReader> => EventReader.open(`${member.url}/api/events?${query}`);
    const [all, members] = [await events("all"), await events("members")];
    const byId = new Map(await Promise.all(ids.map(async (id) => [id, await events(`instanceId=${id}`)] as const)));
    await Promise.all(ids.map((id) => socket.subscribe({ instanceId: id }, id)));
    return new Ear(socket, [all, members, byId]);
  }

  changesOf(id: string): PushedChange[] {
    return (this.byId.get(id)?.of("change") ?? []) as PushedChange[];
  }

  /** Tasks whose progress was pushed, over the socket and as server-sent events. */
  progressOf(id: string): string[][] {
    const tasksOf = (sent: readonly unknown[]): string[] => {
      const tasks = (sent as PushedProgress[]).flatMap(({ instanceId, tasks: all }) => (instanceId === id ? all : []));
      return [...new Set(tasks.map(({ taskName }) => taskName))].sort();
    };
    const messages = this.socket.messages.filter(({ type }) => type === "progress");
    return [tasksOf(messages), tasksOf(this.byId.get(id)?.of("progress") ?? [])];
  }

  close(): void {
    for (const stream of [this.all, this.members, ...this.byId.values()]) stream.close();
  }
}

/** Instances that log and report progress are followed at every member, which all send the same. */
async function talkToAll(members: readonly Member[]): Promise<void> {
  const ids = Array.from({ length: 6 }, (_, at) => `talk-${at}`);
  const ears = await Promise.all(members.map((member) => Ear.open(member, ids)));
  for (const [at, id] of ids.entries())
    await (members[at % 3] as Member).client.start("talks", undefined, { instanceId: id });
  const logs = await Promise.all(
    members.map(({ url }) => Promise.all(ids.map((id) => EventReader.open(`${url}/api/instance/${id}/logs/stream`)))),
  );
  for (const id of ids) assert.equal((await (members[0] as Member).client.end(id)).status, "Success");
  const hasAll = async (): Promise<boolean> =>
    ears.every((ear) => ids.every((id) => ear.changesOf(id).some(isEnd) && changesOf(ear.socket, id).some(isEnd))) &&
    logs.every((streams) => streams.every((stream) => stream.of("line").length >= 15));
  await within(10_000, hasAll);
  for (const [at, id] of ids.entries()) {
    const { items } = await (members[0] as Member).client.call("getLogs", { params: { id } });
    for (const [place, ear] of ears.entries()) {
      assertWhole(turnsOf(ear.changesOf(id)));
      assert.deepEqual(turnsOf(changesOf(ear.socket, id)), turnsOf(ear.changesOf(id)));
      const tasks = ["talk0", "talk1", "talk2"];
      assert.deepEqual(ear.progressOf(id), [tasks, tasks], `progress of ${id} at member ${place}`);
      assert.deepEqual(logs[place]?.[at]?.of("line"), items);
    }
  }
  for (const ear of ears) {
    const heard = ear.all.of("change") as PushedChange[];
    assert.ok(ids.every((id) => heard.some((change) => change.instanceId === id && isEnd(change))));
    ear.close();
    await ear.socket.close();
  }
  for (const stream of logs.flat()) stream.close();
}

for (const bus of ["notify", "nats"]) {
  describe(`12.1 12.2 three processes on PostgreSQL, bus: ${bus}`, () => {
    test("are one service while members are drained, stopped and killed", { timeout: 180_000 }, async (t) => {
      const address = bus === "nats" ? (process.env["HEDDLE_TEST_NATS_URL"] ?? assert.fail("no NATS server")) : bus;
      const members = await threeMembers(t, address);
      const [a, b, c] = members;
      const ids = Array.from({ length: 9 }, (_, n) => `run-${n}`);
      const narrow = await Promise.all(members.map(({ url }) => Watcher.open({ url })));
      await Promise.all(narrow.flatMap((watcher) => ids.map((id) => watcher.subscribe({ instanceId: id }, id))));
      const ear = await Ear.open(a, ids);
      t.after(() => ear.close());
      for (let count = 0; count < 3; count++) await a.client.start("wide", undefined, { instanceId: `held-${count}` });
      await within(10_000, async () => (await b.client.call("countQueuedNodes")).running.total === 3);
      const subjects = await saveSubjects(b.client, "held-0");
      assert.ok((await assertAlike(members, subjects)) > 25);
      assert.equal((await c.client.call("countQueuedNodes")).waiting.total, 9);
      await talkToAll(members);
      await assertAlike(members, { ...subjects, instance: "talk-0" });

      for (const [at, id] of ids.entries()) {
        await (members[at % 3] ?? a).client.start("steps", undefined, { instanceId: id });
      }
      const { selfAddress } = await c.client.call("getCluster");
      const { selfAddress: killed } = await b.client.call("getCluster");
      await a.client.call("drain", { body: { worker: selfAddress } });
      await within(10_000, async () => {
        const seen = await Promise.all(members.map(({ client }) => client.call("getCluster")));
        return seen.every(
          ({ members: all }) => all.find(({ address: id }) => id === selfAddress)?.status === "draining",
        );
      });
      c.running.child.kill("SIGTERM");
      await c.running.ended;
      b.running.child.kill("SIGKILL");
      await b.running.ended;
      for (const id of ids) assert.equal((await a.client.end(id)).status, "Success");

      const follower = narrow[0] as Watcher;
      await follower.until(() => ids.every((id) => changesOf(follower, id).some(isEnd)));
      await a.wide.until(() => ids.every((id) => a.wide.changes.some((each) => each.instanceId === id && isEnd(each))));
      await within(10_000, async () => ids.every((id) => ear.changesOf(id).some(isEnd)));
      for (const id of ids) {
        assertWhole(turnsOf(changesOf(follower, id)));
        assertWhole(turnsOf(ear.changesOf(id)));
      }
      await within(15_000, async () => (await a.client.call("getCluster")).totalMembers === 1);
      await within(15_000, async () => (await a.client.call("countQueuedNodes")).running.total === 3);
      const news = (ear.members.of("member") as { event: string; member: string }[]).map(
        ({ event, member }) => `${event} ${member}`,
      );
      for (const event of [`exited ${selfAddress}`, `removed ${killed}`])
        assert.ok(news.includes(event), `${event} is not among ${news.join(", ")}`);
    });
  });
}
