import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Proxy } from "./proxy.ts";
import { until } from "../support/until.ts";

/** A server that answers each piece with the same in capitals, a proxy to it, and what the server heard. */
async function rig(t: TestContext): Promise<{ proxy: Proxy; heard: string[]; ended: () => number }> {
  const heard: string[] = [];
  let ended = 0;
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (piece) => {
      heard.push(piece.toString());
      socket.write(piece.toString().toUpperCase());
    });
    socket.on("close", () => ended++);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy = await Proxy.to(`mysql://user:secret@127.0.0.1:${(server.address() as AddressInfo).port}/db`);
  t.after(async () => {
    await proxy.close();
    server.close();
  });
  return { proxy, heard, ended: () => ended };
}

/** A client, and all that it has heard. */
async function client(t: TestContext, proxy: Proxy): Promise<{ socket: Socket; heard: () => string }> {
  const socket = connect(Number(new URL(proxy.url).port), "127.0.0.1");
  let text = "";
  socket.on("data", (piece) => (text += piece.toString())).on("error", () => undefined);
  t.after(() => socket.destroy());
  await once(socket, "connect");
  return { socket, heard: () => text };
}

/** Long enough for anything to pass that would. */
const aWhile = (): Promise<void> => sleep(60);

test("a proxy passes what comes, both ways, and ends with its clients", async (t) => {
  const { proxy, ended } = await rig(t);
  assert.match(proxy.url, /^mysql:\/\/user:secret@127\.0\.0\.1:\d+\/db$/);
  const { socket, heard } = await client(t, proxy);
  socket.write("hello");
  await until(() => heard() === "HELLO");
  assert.equal(proxy.connectionCount, 1);
  socket.end();
  await until(() => ended() === 1 && proxy.connectionCount === 0);
});

test("a cut ends all connections on both sides, and new ones are welcome", async (t) => {
  const { proxy, ended } = await rig(t);
  const clients = [await client(t, proxy), await client(t, proxy)];
  await until(() => proxy.connectionCount === 2);
  proxy.cut();
  await until(() => ended() === 2 && clients.every(({ socket }) => socket.destroyed));
  const { socket, heard } = await client(t, proxy);
  socket.write("again");
  await until(() => heard() === "AGAIN");
});

test("a proxy that refuses keeps the connections it has, and listens again on its port", async (t) => {
  const { proxy } = await rig(t);
  const { url } = proxy;
  const { socket, heard } = await client(t, proxy);
  proxy.refuse();
  await assert.rejects(client(t, proxy), { code: "ECONNREFUSED" });
  socket.write("still here");
  await until(() => heard() === "STILL HERE");
  await proxy.accept();
  assert.equal(proxy.url, url);
  const other = await client(t, proxy);
  other.socket.write("welcome");
  await until(() => other.heard() === "WELCOME");
});

test("what is held comes late and in order, also the end of a connection", async (t) => {
  const { proxy, heard: heardByServer, ended } = await rig(t);
  const { socket, heard } = await client(t, proxy);
  proxy.hold("requests", "answers");
  socket.write("one");
  await aWhile();
  socket.end("two");
  await aWhile();
  assert.deepEqual([heardByServer.join(""), heard(), ended()], ["", "", 0]);
  proxy.letGo();
  await until(() => ended() === 1);
  assert.equal(heardByServer.join(""), "onetwo");
});

test("answers alone are held: the server has heard, and nobody knows", async (t) => {
  const { proxy, heard: heardByServer } = await rig(t);
  const { socket, heard } = await client(t, proxy);
  proxy.hold("answers");
  socket.write("commit");
  await until(() => heardByServer.length === 1);
  await aWhile();
  assert.equal(heard(), "");
  proxy.cut();
  proxy.letGo();
  await until(() => socket.destroyed);
  assert.equal(heard(), "");
});

test("a lost answer is one that the server gave, and it costs the connection; the next is heard", async (t) => {
  const { proxy, heard: heardByServer } = await rig(t);
  const lost = proxy.loseAnswer();
  const first = await client(t, proxy);
  first.socket.write("commit");
  await lost;
  await until(() => first.socket.destroyed);
  assert.deepEqual([heardByServer, first.heard()], [["commit"], ""]);
  const second = await client(t, proxy);
  second.socket.write("commit");
  await until(() => second.heard() === "COMMIT");
});

test("half of a request passes, and the rest when it is let go", async (t) => {
  const { proxy, heard: heardByServer } = await rig(t);
  const { socket, heard } = await client(t, proxy);
  const held = proxy.holdHalfOf("34");
  socket.write("ab");
  await until(() => heard() === "AB");
  socket.write("12345678");
  await held;
  socket.write("more");
  await aWhile();
  assert.equal(heardByServer.join(""), "ab1234");
  proxy.letGo();
  await until(() => heardByServer.join("") === "ab12345678more");
});

test("a delay is kept each way, and shortening it does not change the order", async (t) => {
  const { proxy } = await rig(t);
  const { socket, heard } = await client(t, proxy);
  proxy.delay(80);
  const sentAt = performance.now();
  socket.write("slow ");
  await aWhile();
  proxy.delay(0);
  socket.write("fast");
  await until(() => heard() === "SLOW FAST");
  assert.ok(performance.now() - sentAt >= 79, "not early");
});

test("a server that is away is a connection that breaks", async (t) => {
  const { proxy } = await rig(t);
  const nowhere = await Proxy.to("postgresql://127.0.0.1:1/none");
  t.after(() => nowhere.close());
  const { socket } = await client(t, nowhere);
  await until(() => socket.destroyed && nowhere.connectionCount === 0);
  assert.equal(proxy.connectionCount, 0);
});
