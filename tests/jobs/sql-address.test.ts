import { equal, match, ok } from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { sqlJob } from "../../src/jobs.ts";
import { JobsRig } from "./rig.ts";

/** A server that speaks just enough of PostgreSQL's protocol to ask for a password in plain text, and keeps all that it is sent. */
async function listen(t: TestContext): Promise<{ port: number; heard: string[] }> {
  const heard: string[] = [];
  const sockets = new Set<Socket>();
  const askForPassword = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);
  const server = createServer((socket) => {
    sockets.add(socket);
    let isFirst = true;
    socket
      .on("error", () => undefined)
      .on("data", (bytes) => {
        heard.push(bytes.toString("latin1"));
        if (isFirst) socket.write(askForPassword);
        else socket.destroy();
        isFirst = false;
      });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, heard };
}

const statements = [{ sql: "SELECT 1" }];

test("a password of the worker's environment is sent to no server that a workflow names", async (t) => {
  const { port, heard } = await listen(t);
  process.env["PGPASSWORD"] = "password-of-the-store";
  t.after(() => delete process.env["PGPASSWORD"]);
  const rig = await JobsRig.start(t, [sqlJob()]);
  const url = `postgresql://somebody@127.0.0.1:${port}/db`;
  const failure = await rig.fail("sql", { url, statements });
  equal(failure.type, "ParamsRefused");
  equal(heard.length, 0);
  // The worker itself may say so: its secret names the server.
  process.env["HEDDLE_SECRET_SERVER"] = url;
  t.after(() => delete process.env["HEDDLE_SECRET_SERVER"]);
  await rig.fail("sql", { url: { env: "HEDDLE_SECRET_SERVER" }, statements });
  ok(heard.join("").includes("password-of-the-store"));
});

test("a url names its host in one place, so that allowedHosts holds", async (t) => {
  const { port, heard } = await listen(t);
  const rig = await JobsRig.start(t, [sqlJob({ allowedHosts: ["db.example.org"] })]);
  for (const query of [`host=127.0.0.1&port=${port}`, "host=/var/run/postgresql", "sslrootcert=/etc/passwd"]) {
    const failure = await rig.fail("sql", { url: `postgresql://a:b@db.example.org/db?${query}`, statements });
    equal(failure.type, "ParamsRefused", query);
    match(failure.message, /the url may not have the option/);
  }
  const socket = await rig.fail("sql", { url: `mysql://a:b@db.example.org/db?socketPath=/tmp/mysql.sock`, statements });
  equal(socket.type, "ParamsRefused");
  equal(heard.length, 0);
});

test("a socket of the worker's machine is reached only by a secret", async (t) => {
  const rig = await JobsRig.start(t, [sqlJob()]);
  const failure = await rig.fail("sql", { url: "postgresql://a@%2Fvar%2Frun%2Fpostgresql/db", statements });
  equal(failure.type, "ParamsRefused");
});
