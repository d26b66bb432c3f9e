/** Servers that want a secret, a slot or the memory of a worker. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createSocketServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { httpJob, sqlJob, waitForJob } from "../../src/jobs.ts";
import { until } from "../support/until.ts";
import { JobsRig } from "./rig.ts";

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("http does not repeat a secret body at another origin that a redirect names", async (t) => {
  process.env["HEDDLE_SECRET_BODY"] = "secret-in-a-body";
  t.after(() => delete process.env["HEDDLE_SECRET_BODY"]);
  const heard: string[] = [];
  const other = await serve(t, (request, response) => {
    void text(request).then((body) => {
      heard.push(body);
      response.end("taken");
    });
  });
  const first = await serve(t, (_request, response) => response.writeHead(307, { location: other }).end());
  const rig = await JobsRig.start(t, [httpJob()]);
  const request = { url: first, method: "POST" };
  const failure = await rig.fail("http", { ...request, body: { env: "HEDDLE_SECRET_BODY" } });
  match(failure.message, /the secret in the body is not sent/);
  equal(failure.retryable, false);
  deepEqual(heard, []);
  equal((await rig.run("http", { ...request, body: "plain" }))["body"], "taken");
  deepEqual(heard, ["plain"]);
});

test("wait-for ends at its timeout although the server of the instance never ends its answer", async (t) => {
  const server = await serve(t, (_request, response) => void response.writeHead(200).write("{"));
  const rig = await JobsRig.start(t, [waitForJob()]);
  const begun = performance.now();
  const failure = await rig.fail("wait-for", {
    instance: { id: "any", server },
    timeoutSeconds: 0.5,
    everySeconds: 0.1,
  });
  equal(failure.type, "WaitTimeout");
  ok(performance.now() - begun < 10_000);
});

test("wait-for keeps a bounded part of an endless answer, and follows no redirect", async (t) => {
  const server = await serve(t, (_request, response) => {
    response.writeHead(200);
    const more = (): void => {
      while (response.write("x".repeat(65_536)));
      response.once("drain", more);
    };
    more();
  });
  const elsewhere = await serve(t, (_request, response) => response.writeHead(307, { location: server }).end());
  const rig = await JobsRig.start(t, [waitForJob()]);
  const endless = await rig.fail("wait-for", { instance: { id: "any", server }, everySeconds: 1, timeoutSeconds: 2 });
  match(endless.message, /it did not come|longer than/);
  const redirected = await rig.fail("wait-for", { instance: { id: "any", server: elsewhere } });
  match(redirected.message, /answered 307/);
});

/** A server that answers by `converse`, and the number of its connections. */
async function serveSockets(
  t: TestContext,
  converse: (socket: Socket) => void,
): Promise<{ address: string; connections: () => number }> {
  let connections = 0;
  const server = createSocketServer((socket) => {
    connections++;
    socket.on("error", () => undefined).on("close", () => connections--);
    converse(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, connections: () => connections };
}

/** Authentication is granted, and the server is ready. */
const readyOfPostgres = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);

/** Version, session 7, two parts of a challenge, what the server is able to do, and how it authenticates. */
const greetingOfMysql = mysqlPacket(0, [
  Buffer.from("\x0a8.0.0\0"),
  Buffer.from([7, 0, 0, 0]),
  Buffer.from("abcdefgh\0"),
  Buffer.from([0x08, 0xa2, 8, 2, 0, 0x08, 0, 21]),
  Buffer.alloc(10),
  Buffer.from("ijklmnopqrst\0mysql_native_password\0"),
]);

function mysqlPacket(number: number, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([body.length, 0, 0, number]), body]);
}

function mysqlOk(number: number): Buffer {
  return mysqlPacket(number, [Buffer.from([0, 0, 0, 2, 0, 0, 0])]);
}

/** Lets everybody in, and hands on what comes after that. */
function letIn(socket: Socket, onQuery: () => void): void {
  socket.write(greetingOfMysql);
  socket.once("data", () => {
    socket.write(mysqlOk(2));
    socket.on("data", onQuery);
  });
}

const silentServers: Readonly<Record<string, { scheme: string; converse: (socket: Socket) => void }>> = {
  "PostgreSQL that never answers a query": {
    scheme: "postgresql",
    converse: (socket) => socket.once("data", () => socket.write(readyOfPostgres)),
  },
  "PostgreSQL that never greets": { scheme: "postgresql", converse: () => undefined },
  "MySQL that never answers a query": { scheme: "mysql", converse: (socket) => letIn(socket, () => undefined) },
  "MySQL that never greets": { scheme: "mysql", converse: () => undefined },
};

for (const [name, { scheme, converse }] of Object.entries(silentServers)) {
  test(`sql ends at its timeout, and its connections with it, on a ${name}`, async (t) => {
    const { address, connections } = await serveSockets(t, (socket) => converse(socket.on("data", () => undefined)));
    const rig = await JobsRig.start(t, [sqlJob()]);
    const url = `${scheme}://user:password@${address}/db`;
    const failure = await rig.fail("sql", { url, statements: [{ sql: "SELECT 1" }], timeoutSeconds: 0.5 });
    match(failure.message, /canceled after 0.5 seconds/);
    await until(() => connections() === 0);
  });
}

test("sql fails at once when a MySQL server closes the connection during a statement", async (t) => {
  const { address } = await serveSockets(t, (socket) => {
    let queries = 0;
    letIn(socket, () => (++queries === 1 ? socket.write(mysqlOk(1)) : socket.destroy()));
  });
  const rig = await JobsRig.start(t, [sqlJob()]);
  const url = `mysql://user:password@${address}/db`;
  const failure = await rig.fail("sql", { url, statements: [{ sql: "SELECT 1" }], timeoutSeconds: 50 });
  match(failure.message, /Connection lost/);
  equal(failure.retryable, true);
});
