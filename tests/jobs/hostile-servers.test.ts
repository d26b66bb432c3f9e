/** Servers that want a secret, a slot or the memory of a worker. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
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

test("sql ends at its timeout, and its connection with it, although the server never answers a query", async (t) => {
  // Authentication is granted, and the server is ready: nothing else ever comes.
  const greeting = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);
  let connections = 0;
  const server = createSocketServer((socket) => {
    connections++;
    socket.on("error", () => undefined).on("close", () => connections--);
    socket.once("data", () => socket.write(greeting));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const rig = await JobsRig.start(t, [sqlJob()]);
  const url = `postgresql://user:password@127.0.0.1:${(server.address() as AddressInfo).port}/db`;
  const failure = await rig.fail("sql", { url, statements: [{ sql: "SELECT 1" }], timeoutSeconds: 0.5 });
  match(failure.message, /canceled after 0.5 seconds/);
  await until(() => connections === 0);
});
