/** Spec §11.4: every way to log in to a real NATS server, TLS, and what is said when the server refuses. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { nkeys } from "@nats-io/transport-node";
import { type NatsSettings, startNats } from "../../scripts/servers/nats-server.ts";
import type { BusConnection } from "../../src/cluster/bus.ts";
import { nats, type NatsOptions } from "../../src/nats.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import { busParts } from "./bus/network-subject.ts";

async function serverWith(t: TestContext, lines: NonNullable<NatsSettings["lines"]>): Promise<string> {
  const server = await startNats({ lines });
  t.after(async () => {
    await server.process.stop();
    server.process.remove();
  });
  return server.url;
}

interface Connected {
  readonly connection: BusConnection;
  readonly heard: string[];
  /** Lines of the log. */
  readonly said: string[];
}

async function connect(t: TestContext, url: string, options: NatsOptions = {}): Promise<Connected> {
  const [heard, said] = [new Array<string>(), new Array<string>()];
  const note = (fields: object, message: string): void => void said.push(`${message}: ${JSON.stringify(fields)}`);
  const bus = nats(url, options);
  await bus.open?.({ ...busParts, logger: { debug: note, info: note, warn: note, error: note } });
  const connection = bus.connect("me", (text) => void heard.push(text));
  t.after(() => connection.close());
  return { connection, heard, said };
}

async function talks({ connection, heard }: Connected): Promise<void> {
  await until(() => connection.isConnected);
  assert.equal(connection.send("me", "hello"), true);
  await until(() => heard.length > 0);
  assert.deepEqual(heard, ["hello"]);
}

async function isRefused({ connection, said }: Connected, reason: RegExp): Promise<void> {
  await until(() => said.length >= 2);
  assert.equal(connection.isConnected, false);
  assert.match(said[0] ?? "", reason);
}

/** Self-signed: its own authority. */
function certificate(folder: string): { cert: string; key: string } {
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const files = ["-keyout", key, "-out", cert];
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", ...subject, ...files], {
    stdio: "pipe",
  });
  execFileSync("chmod", ["a+rx", folder]);
  execFileSync("chmod", ["a+r", cert, key]);
  return { cert, key };
}

/** A JWT as NATS has them: signed with an nkey. */
function jwt(claims: { sub: string; name: string; nats: object }, issuer: ReturnType<typeof nkeys.createUser>): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const body = { jti: claims.name, iat: Math.floor(Date.now() / 1000), iss: issuer.getPublicKey(), ...claims };
  const text = `${part({ typ: "JWT", alg: "ed25519-nkey" })}.${part(body)}`;
  return `${text}.${Buffer.from(issuer.sign(Buffer.from(text))).toString("base64url")}`;
}

describe("a NATS server", () => {
  test("lets in with a user and a password, of the address or of the options", async (t) => {
    const url = await serverWith(t, () => ['authorization { user: "u@x", password: "p:w" }']);
    await talks(await connect(t, url.replace("nats://", "nats://u%40x:p%3Aw@")));
    await talks(await connect(t, url, { user: "u@x", password: "p:w" }));
    await isRefused(
      await connect(t, url, { user: "u@x", password: "wrong" }),
      /cannot be reached.*Authorization Violation/i,
    );
  });

  test("lets in with a token", async (t) => {
    const url = await serverWith(t, () => ["authorization { token: sesame }"]);
    await talks(await connect(t, url.replace("nats://", "nats://sesame@")));
    await talks(await connect(t, url, { token: "sesame" }));
    await isRefused(await connect(t, url), /Authorization Violation/i);
  });

  test("lets in with an nkey", async (t) => {
    const user = nkeys.createUser();
    const url = await serverWith(t, () => [`authorization { users: [ { nkey: ${user.getPublicKey()} } ] }`]);
    const nkeySeed = join(temporaryFolder(t), "user.nk");
    writeFileSync(nkeySeed, `${Buffer.from(user.getSeed()).toString()}\n`);
    await talks(await connect(t, url, { nkeySeed }));
  });

  test("lets in with a credentials file", async (t) => {
    const [operator, account, user] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createUser()];
    const limits = { subs: -1, data: -1, payload: -1 };
    const accountLimits = { ...limits, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
    const operatorJwt = jwt(
      { sub: operator.getPublicKey(), name: "operator", nats: { type: "operator", version: 2 } },
      operator,
    );
    const accountJwt = jwt(
      { sub: account.getPublicKey(), name: "account", nats: { type: "account", version: 2, limits: accountLimits } },
      operator,
    );
    const userJwt = jwt(
      { sub: user.getPublicKey(), name: "user", nats: { type: "user", version: 2, ...limits, pub: {}, sub: {} } },
      account,
    );
    const url = await serverWith(t, () => [
      `operator: "${operatorJwt}"`,
      "resolver: MEMORY",
      `resolver_preload: { ${account.getPublicKey()}: "${accountJwt}" }`,
    ]);
    const credentials = join(temporaryFolder(t), "user.creds");
    const block = (name: string, text: string): string =>
      `-----BEGIN ${name}-----\n${text}\n------END ${name}------\n\n`;
    const seed = Buffer.from(user.getSeed()).toString();
    writeFileSync(credentials, `${block("NATS USER JWT", userJwt)}${block("USER NKEY SEED", seed)}`);
    await talks(await connect(t, url, { credentials }));
  });

  test("is spoken to over TLS, and one without it is refused where TLS is demanded", async (t) => {
    const { cert, key } = certificate(temporaryFolder(t));
    const lines = [`tls { cert_file: "${cert}", key_file: "${key}" }`];
    const url = await serverWith(t, () => lines);
    await talks(await connect(t, url, { tls: { ca: cert } }));
    await isRefused(await connect(t, url), /self-signed certificate/i);
    const mutual = await serverWith(t, () => [
      `tls { cert_file: "${cert}", key_file: "${key}", ca_file: "${cert}", verify: true }`,
    ]);
    await talks(await connect(t, mutual, { tls: { ca: cert, cert, key } }));
    await isRefused(await connect(t, mutual, { tls: { ca: cert } }), /cannot be reached/);
    const plain = await serverWith(t, () => []);
    await isRefused(await connect(t, plain.replace("nats://", "tls://")), /cannot be reached.*tls/i);
  });

  test("that denies a subject is as good as away, and the log says which", async (t) => {
    const users = (publish: string, subscribe: string): string[] => [
      `authorization { users: [ { user: u, password: p, permissions: { publish: "${publish}", subscribe: "${subscribe}" } } ] }`,
    ];
    const login = { user: "u", password: "p" };
    const own = await serverWith(t, () => users("heddle.>", "heddle.>"));
    await talks(await connect(t, own, login));
    const deaf = await serverWith(t, () => users("heddle.>", "other.>"));
    await isRefused(
      await connect(t, deaf, login),
      /cannot be reached.*Permissions Violation for Subscription to .*heddle\.me/i,
    );
    const mute = await serverWith(t, () => users("other.>", "heddle.>"));
    const { connection, said } = await connect(t, mute, login);
    await until(() => connection.isConnected);
    connection.send("me", "hello");
    await until(() =>
      said.some((line) => /the bus was lost.*Permissions Violation for Publish to .*heddle\.me/i.test(line)),
    );
  });

  test("with a small limit of messages makes longer ones go through the store", async (t) => {
    const url = await serverWith(t, () => ["max_payload: 1000"]);
    const { connection, heard } = await connect(t, url);
    await until(() => connection.isConnected);
    assert.equal(connection.send("me", "x".repeat(1001)), false);
    assert.equal(connection.send("me", "域".repeat(334)), false);
    assert.equal(connection.send("me", "x".repeat(1000)), true);
    await until(() => heard.length > 0);
    assert.deepEqual(heard, ["x".repeat(1000)]);
  });
});

test("a file of the login that cannot be read is an error at the start, with its name", async (t) => {
  for (const options of [{ credentials: "none.creds" }, { nkeySeed: "none.nk" }, { tls: { ca: "none.pem" } }]) {
    const option = "tls" in options ? "tls.ca" : Object.keys(options)[0];
    await assert.rejects(connect(t, "nats://localhost", options), {
      code: "OPTION_INVALID",
      message: new RegExp(`the bus cannot read the file of its option ${option}: ENOENT.*none\\.`),
    });
  }
});
