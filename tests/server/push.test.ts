/** Spec §12.2: subscriptions over a WebSocket. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { ownVersion } from "../../src/engine/own-version.ts";
import { messageOf } from "../../src/base/error.ts";
import { defineJob, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { chainOf, nameOf, runMany, startPush, Watcher } from "./push-rig.ts";

describe("a WebSocket", () => {
  test("hears every change of one instance, in order, with its nodes", async (t) => {
    const server = await startPush(t);
    const watcher = await Watcher.open(server);
    await watcher.subscribe({ instanceId: "mine" });
    await runMany(server.engine, chainOf("others", 2), 20);
    const run = await server.engine.submitWorkflow(chainOf("chain", 3), { instanceId: "mine" });
    await run.result();
    await watcher.until(() => watcher.changes.at(-1)?.status === "Success");
    assert.ok(watcher.changes.every(({ instanceId }) => instanceId === "mine"));
    assert.deepEqual(
      watcher.changes.map(({ turn }) => turn),
      watcher.changes.map((_, index) => index),
    );
    let event = 0;
    for (const change of watcher.changes) {
      assert.equal(change.event, event);
      event += change.events?.length ?? 0;
    }
    assert.deepEqual(
      watcher.changes.at(-1)?.nodes?.map(({ name, status }) => `${name} ${status}`),
      ["t0 Success", "t1 Success", "t2 Success"],
    );
    await watcher.close();
  });

  test("hears of one workflow, or of all, each change once", async (t) => {
    const server = await startPush(t);
    const watcher = await Watcher.open(server);
    await watcher.subscribe({ workflow: "a" }, "w");
    await watcher.subscribe({ all: true }, "all");
    const ofA = await runMany(server.engine, chainOf("a", 1), 30);
    const ofB = await runMany(server.engine, chainOf("b", 1), 30);
    const heard = (id: string, status?: string): string[] =>
      watcher.messages
        .filter((message) => message.id === id && message.type === "changes")
        .flatMap(({ changes }) => (Array.isArray(changes) ? changes : []))
        .filter((change) => status === undefined || change.status === status)
        .map(nameOf);
    await watcher.until(() => heard("all", "Success").length === 60 && heard("w", "Success").length === 30);
    assert.equal(new Set(heard("all")).size, heard("all").length);
    assert.deepEqual(
      heard("w"),
      heard("all").filter((name) => ofA.includes(name.split(" ")[0] ?? "")),
    );
    assert.ok(ofB.every((id) => heard("all", "Success").some((name) => name.startsWith(id))));
    await watcher.close();
  });

  test("hears the progress of the tasks of one instance, twice a second at most", async (t) => {
    const steps = defineJob("steps", async (_: unknown, ctx) => {
      for (let done = 1; done <= 50; done++) ctx.progress({ done, total: 50 }, `page ${done}`);
      await delay(60_000, undefined, { signal: ctx.signal }).catch(() => undefined);
    });
    const server = await startPush(t, { engine: { jobs: [steps] } });
    const watcher = await Watcher.open(server);
    await watcher.subscribe({ instanceId: "mine" }, "one");
    await watcher.subscribe({ all: true }, "all");
    const run = await server.engine.submitWorkflow(chainOf("w", 1, "steps"), { instanceId: "mine" });
    const heard = () => watcher.messages.filter(({ type }) => type === "progress");
    await watcher.until(() => heard().length === 2);
    const about = { type: "progress", id: "one", instanceId: "mine" };
    const of = (done: number) => ({
      ...about,
      tasks: [
        {
          task: 0,
          taskName: "t0",
          attempt: 1,
          progress: { fraction: done / 50, done, total: 50, message: `page ${done}` },
        },
      ],
    });
    assert.deepEqual(heard(), [of(1), of(50)]);
    await run.terminate("enough");
    await watcher.close();
  });

  test("says what failed, and why", async (t) => {
    const server = await startPush(t);
    const watcher = await Watcher.open(server);
    await watcher.subscribe({ all: true });
    await assert.rejects(async () => (await server.engine.submitWorkflow(chainOf("bad", 1, "broken"))).result());
    await watcher.until(() => watcher.changes.at(-1)?.status === "Failed");
    assert.equal(watcher.changes.at(-1)?.nodes?.[0]?.error, "no luck");
    await watcher.close();
  });

  test("12.2 says why a node waits, as far as its history tells", async (t) => {
    const server = await startPush(t);
    const watcher = await Watcher.open(server);
    await watcher.subscribe({ all: true });
    const retried = new TaskBuilder("t")
      .withJobFunction("broken")
      .withRetryCount(1)
      .withRetryPolicy({ initialMs: 100 });
    const run = await server.engine.submitWorkflow(new WorkflowBuilder().withName("retried").withTask(retried).build());
    await assert.rejects(run.result());
    await watcher.until(() => watcher.changes.at(-1)?.status === "Failed");
    const waits = watcher.changes.flatMap(({ nodes = [] }) => nodes.flatMap(({ wait }) => wait?.reason ?? []));
    assert.deepEqual(waits, ["retry"]);
    await watcher.close();
  });

  test("is told which members it hears of, where there are several", async (t) => {
    const member = (id: string, isSelf: boolean) => ({
      id,
      address: id,
      isSuspected: false,
      roles: [],
      version: ownVersion(),
      isDraining: false,
      shards: 4,
      isSelf,
      isOldest: isSelf,
    });
    const server = await startPush(t, { members: [member("a", true), member("b", false), member("c", false)] });
    const watcher = await Watcher.open(server);
    assert.deepEqual((await watcher.subscribe({ all: true }, "1")).members, { heard: ["a", "b", "c"], unheard: [] });
    assert.equal((await watcher.subscribe({ instanceId: "x" }, "2")).members, undefined);
    await watcher.close();
  });

  test("hears no more of what it has given up", async (t) => {
    const server = await startPush(t);
    const watcher = await Watcher.open(server);
    await watcher.subscribe({ all: true });
    watcher.say({ type: "unsubscribe", id: "1" });
    await watcher.message("unsubscribed");
    await runMany(server.engine, chainOf("chain", 1), 5);
    watcher.say({ type: "ping" });
    await watcher.message("pong");
    assert.deepEqual(watcher.changes, []);
    assert.equal(server.feed.followers, 0);
    await watcher.close();
  });

  test("is told in words what is wrong with a message, and stays open", async (t) => {
    const server = await startPush(t);
    const watcher = await Watcher.open(server);
    const wrong: [unknown, RegExp][] = [
      ["{", /JSON/],
      ["[]", /the message/],
      [{ type: "dance" }, /type/],
      [{ type: "subscribe", id: "x" }, /one of instanceId, workflow, all and members/],
      [{ type: "subscribe", id: "x", all: true, workflow: "a" }, /one of instanceId/],
      [{ type: "subscribe", id: "x", all: true, cursor: "yesterday" }, /no cursor/],
      [{ type: "subscribe", id: "", all: true }, /id/],
      [{ type: "subscribe", id: "x", all: true, extra: 1 }, /extra/],
      [{ type: "unsubscribe", id: "x" }, /no subscription "x"/],
    ];
    for (const [message, expected] of wrong) {
      const before = watcher.messages.length;
      watcher.say(message);
      await watcher.until(() => watcher.messages.length > before);
      const answer = watcher.messages.at(-1);
      assert.equal(answer?.type, "error");
      assert.equal(answer.code, "REQUEST_INVALID");
      assert.match(answer.message ?? "", expected);
    }
    await watcher.subscribe({ all: true }, "x");
    watcher.say({ type: "subscribe", id: "x", all: true });
    await watcher.until(() => /already/.test(watcher.messages.at(-1)?.message ?? ""));
    await watcher.close();
  });

  test("has a hundred subscriptions and messages of 64 KB at most", async (t) => {
    const server = await startPush(t);
    const watcher = await Watcher.open(server);
    for (let each = 0; each < 101; each++) watcher.say({ type: "subscribe", id: `s${each}`, workflow: `w${each}` });
    const { id, message } = await watcher.message("error");
    assert.equal(id, "s100");
    assert.match(message ?? "", /100 subscriptions/);
    assert.equal(server.feed.followers, 100);
    watcher.say("x".repeat(65 * 1024));
    await watcher.until(() => watcher.closed !== undefined);
    assert.equal(watcher.closed?.code, 1009);
    assert.equal(server.feed.followers, 0);
  });

  test("is told when the server stops", async (t) => {
    const server = await startPush(t);
    const watcher = await Watcher.open(server);
    await watcher.subscribe({ all: true });
    const idle = await Watcher.open(server);
    await server.stop();
    await watcher.until(() => watcher.closed !== undefined);
    await idle.until(() => idle.closed !== undefined);
    assert.equal(watcher.closed?.code, 1001);
    assert.equal(idle.closed?.code, 1001);
  });
});

describe("who may listen", () => {
  test("those with the token, by header, subprotocol or address", async (t) => {
    const server = await startPush(t, { token: { value: "secret" } });
    await assert.rejects(Watcher.open(server));
    await assert.rejects(Watcher.open(server, { query: "?token=wrong" }));
    for (const options of [{ query: "?token=secret" }, { protocols: ["heddle", "heddle.bearer.secret"] }]) {
      const watcher = await Watcher.open(server, options);
      await watcher.subscribe({ all: true });
      await watcher.close();
    }
    const events = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${server.url}/api/events?all`, { headers });
    assert.equal((await events({})).status, 401);
    const admitted = await events({ authorization: "Bearer secret" });
    assert.equal(admitted.status, 200);
    await admitted.body?.cancel();
  });

  test("pages of our own, and of origins that are allowed", async (t) => {
    const server = await startPush(t);
    const answer = async (origin: string): Promise<number> => {
      const reply = await server.app
        .injectWS("/ws", {
          headers: { origin, host: "127.0.0.1:7411" },
        })
        .then(
          (socket) => (socket as unknown as { terminate(): void }).terminate(),
          (error: unknown) => messageOf(error),
        );
      return reply === undefined ? 101 : Number(/\d+$/.exec(reply)?.[0]);
    };
    assert.equal(await answer("http://127.0.0.1:7411"), 101);
    assert.equal(await answer("https://console.example"), 101);
    assert.equal(await answer("https://evil.example"), 403);
  });
});
