import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { startPush, Watcher } from "./push-rig.ts";

describe("with every heartbeat", () => {
  test("a token that is no longer valid lets its holder out", async (t) => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    const token = { value: "secret" };
    const server = await startPush(t, { token });
    const watcher = await Watcher.open(server, { query: "?token=secret" });
    await watcher.subscribe({ all: true });
    const events = await fetch(`${server.url}/api/events?all&token=secret`);
    t.mock.timers.tick(30_000);
    watcher.say({ type: "ping" });
    await watcher.message("pong");
    assert.equal(watcher.closed, undefined);
    token.value = "another";
    t.mock.timers.tick(30_000);
    await watcher.until(() => watcher.closed !== undefined);
    assert.deepEqual(watcher.closed, { code: 4001, reason: "the token is no longer valid" });
    assert.match(await events.text(), /still here/);
  });
});
