/** A watch over a line that breaks again and again: nothing is missed, and nothing comes twice. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { HeddleClient } from "../../src/client.ts";
import { ServerRig } from "./server-rig.ts";

/** Passes bytes on, and cuts all its connections when it is told to. */
async function brittleLine(t: TestContext, port: number): Promise<{ url: string; cut(): void; cuts: number }> {
  const open = new Set<Socket>();
  const line = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket);
      socket.on("error", () => other.destroy()).on("close", () => other.destroy());
      socket.on("close", () => open.delete(socket));
      socket.pipe(other);
    }
  });
  line.listen(0, "127.0.0.1");
  await once(line, "listening");
  const handle = {
    url: `http://127.0.0.1:${(line.address() as AddressInfo).port}`,
    cuts: 0,
    cut: () => {
      handle.cuts += open.size > 0 ? 1 : 0;
      for (const socket of open) socket.destroy();
    },
  };
  t.after(() => {
    handle.cut();
    line.close();
  });
  return handle;
}

describe("a watch over a brittle line", () => {
  test("of one instance hears each of its turns once, in order", { timeout: 60_000 }, async (t) => {
    const rig = await ServerRig.start(t);
    const direct = new HeddleClient({ url: rig.url });
    const line = await brittleLine(t, Number(new URL(rig.url).port));
    const brittle = new HeddleClient({ url: line.url });
    await direct.start("listener", undefined, { instanceId: "l" });
    const raise = (word: string) => direct.call("raiseEvent", { params: { id: "l", name: "word" }, body: word });

    const turns: number[] = [];
    const watching = (async () => {
      for await (const { turn, status, resync } of brittle.watch({ instanceId: "l" })) {
        if (resync !== true && turn !== undefined) turns.push(turn);
        if (status === "Success") return;
      }
    })();
    for (let at = 0; turns.length === 0; at++) {
      await raise(`early-${at}`);
      await sleep(50);
    }
    for (let at = 0; at < 150; at++) {
      await raise(`w-${at}`);
      if (at % 10 === 5) line.cut();
      if (at % 25 === 0) await sleep(100);
    }
    await raise("stop");
    await watching;

    const history: number[] = [];
    for (let afterTurn = -1; ;) {
      const page = await direct.call("getHistory", { params: { id: "l" }, query: { afterTurn, limit: 500 } });
      history.push(...page.items.map(({ turn }) => turn));
      if (page.next === null) break;
      afterTurn = history.at(-1) ?? -1;
    }
    assert.ok(line.cuts >= 5, `the line was cut ${line.cuts} times`);
    assert.deepEqual(
      turns,
      history.filter((turn) => turn >= (turns[0] ?? 0)),
    );
  });

  test("of a workflow hears every turn of every instance once", { timeout: 60_000 }, async (t) => {
    const rig = await ServerRig.start(t);
    const direct = new HeddleClient({ url: rig.url });
    const line = await brittleLine(t, Number(new URL(rig.url).port));
    const seen = new Map<string, number[]>();
    const ended = new Set<string>();
    const stop = new AbortController();
    const watching = (async () => {
      const watch = new HeddleClient({ url: line.url }).watch({ workflow: "talk" }, { signal: stop.signal });
      for await (const { instanceId, turn, status, resync } of watch) {
        if (resync !== true && turn !== undefined) seen.set(instanceId, [...(seen.get(instanceId) ?? []), turn]);
        if (status === "Success") ended.add(instanceId);
      }
    })();
    for (let at = 0; seen.size === 0; at++) {
      await direct.start("talk", {}, { instanceId: `early-${at}` });
      await sleep(50);
    }
    const ids = Array.from({ length: 60 }, (_, at) => `t-${at}`);
    for (const [at, id] of ids.entries()) {
      await direct.start("talk", {}, { instanceId: id });
      if (at % 8 === 3) line.cut();
    }
    for (const id of ids) await direct.end(id);
    while (ids.some((id) => !ended.has(id))) await sleep(20);
    stop.abort();
    await watching;
    for (const id of ids) {
      const turns = seen.get(id) ?? [];
      assert.deepEqual(
        turns,
        turns.map((_, at) => at),
        `${id}: turns ${turns.join()}`,
      );
    }
  });
});
