/** The client, against a real server. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { HeddleClient, HeddleClientError, type WatchedChange } from "../../src/client.ts";
import { ServerRig } from "./server-rig.ts";

describe("the client", () => {
  test("starts, waits, and gives the result", async (t) => {
    const { url } = await ServerRig.start(t);
    const client = new HeddleClient({ url });
    const id = await client.start("talk", { any: 1 });
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/, "UUIDv7, as the engine's own ids: ids sort by time");
    assert.deepEqual(await client.result(id), { hello: "hello", bye: "bye" });
    const failed = await client.start("fall");
    await assert.rejects(client.result(failed), { code: "WORKFLOW_FAILED", message: /over a stone/ });
    assert.equal((await client.end(failed)).status, "Failed");
    const stopped = await client.start("listener");
    await client.call("terminateInstance", { params: { id: stopped }, body: { reason: "enough" } });
    await assert.rejects(client.result(stopped), { code: "WORKFLOW_TERMINATED", message: /enough/ });
  });

  test("the same id or key, and the same input, is one instance", async (t) => {
    const { url } = await ServerRig.start(t);
    const client = new HeddleClient({ url });
    const input = { a: 1 };
    assert.equal(await client.start("talk", input, { instanceId: "x" }), "x");
    assert.equal(await client.start("talk", input, { instanceId: "x" }), "x");
    const first = await client.start("talk", input, { idempotencyKey: "k" });
    assert.equal(await client.start("talk", input, { idempotencyKey: "k" }), first);
    await assert.rejects(client.start("talk", { a: 2 }, { idempotencyKey: "k" }), {
      code: "IDEMPOTENCY_KEY_REUSED",
      status: 409,
    });
    assert.equal((await client.call("listInstances")).items.length, 2);
  });

  test("goes through the pages of a list", async (t) => {
    const { url } = await ServerRig.start(t);
    const client = new HeddleClient({ url });
    const ids = await Promise.all(
      Array.from({ length: 25 }, (_, at) => client.start("talk", {}, { instanceId: `t-${at}` })),
    );
    const found: string[] = [];
    for await (const { instanceId } of client.items("listInstances", { query: { limit: 4, workflow: "talk" } })) {
      found.push(instanceId);
    }
    assert.deepEqual(found.toSorted(), ids.toSorted());
    for await (const { instanceId } of client.items("listInstances", { query: { limit: 4 } })) {
      assert.ok(instanceId.startsWith("t-"));
      break;
    }
  });

  test("says what was refused, and where a request does not fit", async (t) => {
    const { url } = await ServerRig.start(t);
    const client = new HeddleClient({ url });
    await assert.rejects(client.call("getInstance", { params: { id: "nobody / here" } }), (error) => {
      assert.ok(error instanceof HeddleClientError);
      assert.deepEqual([error.code, error.status], ["INSTANCE_UNKNOWN", 404]);
      assert.match(error.message, /nobody \/ here/);
      return true;
    });
    await assert.rejects(client.call("getInstanc" as "getInstance", { params: { id: "x" } }), {
      code: "OPTION_INVALID",
      message: 'the client has no operation "getInstanc"; did you mean "getInstance"?',
    });
    const call = client.call("listInstances", { query: { limit: 5000 } });
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof HeddleClientError);
      assert.equal(error.code, "REQUEST_INVALID");
      assert.match(error.details[0]?.path ?? "", /limit/);
      return true;
    });
    assert.throws(() => new HeddleClient({ url: "localhost:7411" }), { code: "OPTION_INVALID" });
    assert.throws(() => new HeddleClient({ url, token: "two words" }), { code: "OPTION_INVALID", message: /blanks/ });
  });

  test("follows logs until the end", async (t) => {
    const { url } = await ServerRig.start(t);
    const client = new HeddleClient({ url });
    await client.start("listener", undefined, { instanceId: "l" });
    const told: unknown[] = [];
    const following = (async () => {
      for await (const { fields } of client.logs("l", { follow: true })) told.push(fields["word"]);
    })();
    for (const word of ["one", "two", "three", "stop"]) {
      await client.call("raiseEvent", { params: { id: "l", name: "word" }, body: word });
      await sleep(100);
    }
    await following;
    assert.deepEqual(told, ["one", "two", "three"]);
  });
});

describe("a watch", () => {
  test("tells every change of an instance once, through a restart of the server", { timeout: 60_000 }, async (t) => {
    const rig = await ServerRig.start(t);
    const client = new HeddleClient({ url: rig.url, retriesMax: 20 });
    await client.start("listener", undefined, { instanceId: "l" });
    const heard: WatchedChange[] = [];
    const { promise: isListening, resolve } = Promise.withResolvers<void>();
    const watching = (async () => {
      for await (const change of client.watch({ instanceId: "l" })) {
        heard.push(change);
        resolve();
        if (change.status === "Success") return;
      }
    })();
    const raise = (word: string) => client.call("raiseEvent", { params: { id: "l", name: "word" }, body: word });
    // Until it listens, what it hears of is not yet all that happens.
    for (let at = 0; heard.length === 0; at++) {
      await raise(`early-${at}`);
      await Promise.race([isListening, sleep(200)]);
    }
    for (const word of ["a", "b"]) await raise(word);
    await rig.stop();
    await rig.start();
    for (const word of ["c", "d", "stop"]) await raise(word);
    await watching;
    const turns = heard.filter(({ resync }) => resync !== true).map(({ turn }) => turn ?? -1);
    const [first = 0] = turns;
    const { items } = await client.call("getHistory", { params: { id: "l" }, query: { limit: 1000 } });
    assert.deepEqual(
      turns,
      items.map(({ turn }) => turn).filter((turn) => turn >= first),
    );
  });

  test("of everything goes on where an earlier one stopped", async (t) => {
    const { url } = await ServerRig.start(t);
    const client = new HeddleClient({ url });
    const first = client.watch("all");
    const next = first.next();
    let cursor: string | undefined;
    while (cursor === undefined) {
      await client.start("talk");
      const { value } = await Promise.race([next, sleep(100).then(() => ({ value: undefined }))]);
      cursor = (value as WatchedChange | undefined)?.cursor;
      if (value !== undefined && cursor === undefined) {
        for await (const change of first) {
          cursor = change.cursor;
          if (cursor !== undefined) break;
        }
      }
    }
    await first.return();
    const id = await client.start("talk", {}, { instanceId: "while-away" });
    await client.result(id);
    const statuses: (string | undefined)[] = [];
    for await (const change of client.watch("all", { cursor })) {
      if (change.instanceId !== id) continue;
      statuses.push(change.status);
      if (change.status === "Success") break;
    }
    assert.ok(statuses.length >= 2, statuses.join());
  });

  test("ends with its signal", async (t) => {
    const { url } = await ServerRig.start(t);
    const stop = new AbortController();
    const watch = new HeddleClient({ url }).watch({ workflow: "talk" }, { signal: stop.signal });
    setTimeout(() => stop.abort(), 100);
    assert.deepEqual(await watch.next(), { value: undefined, done: true });
  });
});
