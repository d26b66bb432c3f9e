import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { type ConfigKey, flagOf, keyNames, variableOf } from "./config-key.ts";
import { loadConfig, serverConfig } from "./load-config.ts";
import type { Bus } from "../../cluster/bus.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { engineOptionsOf } from "../engine-options.ts";
import { serverConfigSchema } from "./server-config.ts";

const folder = mkdtempSync(join(tmpdir(), "heddle-config-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function file(content: unknown, name = "heddle.config.json"): string {
  writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  return name;
}

describe("a configuration", () => {
  test("has defaults", () => {
    const empty = mkdtempSync(join(tmpdir(), "heddle-config-"));
    const config = loadConfig({ folder: empty });
    rmSync(empty, { recursive: true });
    assert.deepEqual([config.host, config.port, config.drainSeconds], ["127.0.0.1", 7411, 10]);
    assert.equal(config.storage, `sqlite:${join(empty, ".heddle/heddle.db")}`);
    assert.deepEqual(config.retentionDays, { Success: 7, Failed: 7, Terminated: 7 });
    assert.deepEqual(serverConfig({}, empty), config);
  });

  test("takes the flag, then the variable, then the file, then the default", () => {
    file({ port: 1, poolSize: 1, drainSeconds: 1 });
    const config = loadConfig({
      folder,
      defaults: { logLevel: "warn", drainSeconds: "9" },
      environment: { HEDDLE_PORT: "2", HEDDLE_POOL_SIZE: "2", PATH: "/bin" },
      flags: { port: "3" },
    });
    const { port, poolSize, drainSeconds, rateLimitPerSecond, logLevel } = config;
    assert.deepEqual([port, poolSize, drainSeconds, rateLimitPerSecond, logLevel], [3, 2, 1, 20_000, "warn"]);
  });

  test("says one thing of a group and leaves the others as they are", () => {
    file({ cluster: { shards: 4, name: "file" } });
    const { cluster } = loadConfig({ folder, environment: { HEDDLE_CLUSTER_NAME: "variable" } });
    assert.deepEqual(cluster, { enabled: false, shards: 4, name: "variable", remoteWorkers: true });
  });

  test("takes the store as an object in a file, and its file from where that is", () => {
    const storage = (given: unknown): string =>
      loadConfig({ folder, file: file({ storage: given }, "s.json") }).storage;
    assert.equal(storage({ databaseType: "sqlite", url: "s.db" }), `sqlite:${join(folder, "s.db")}`);
    assert.equal(storage({ databaseType: "sqlite", url: "sqlite::memory:" }), "sqlite::memory:");
    for (const [databaseType, url] of [
      ["postgresql", "postgresql://h/d"],
      ["mysql", "mysql://h/d"],
    ]) {
      assert.equal(storage({ databaseType, url }), url);
    }
    const wrong: [given: unknown, message: RegExp][] = [
      [{ databaseType: "mysql", url: "postgresql://h/secret" }, /storage.url .* must be a mysql:\/\/ address/],
      [{ databaseType: "oracle", url: "secret" }, /storage .* must be an address, or \{ databaseType, url \}/],
      [{ databaseType: "sqlite" }, /storage .* must be an address, or \{ databaseType, url \}/],
      [{ databaseType: "mysql", url: "mysql://h/secret", user: "u" }, /storage/],
      [5, /storage .* must be an address, or \{ databaseType, url \}/],
    ];
    for (const [given, message] of wrong) {
      assert.throws(() => storage(given), { code: "OPTION_INVALID", message });
      assert.throws(
        () => storage(given),
        (error: Error) => !error.message.includes("secret"),
      );
    }
  });

  test("chooses the bus by flag, variable or file, with files from where that is", () => {
    const { cluster } = loadConfig({
      folder,
      file: file({ cluster: { nats: { credentials: "a.creds", tls: { ca: "/etc/ca.pem" } } } }, "bus.json"),
      environment: { HEDDLE_CLUSTER_NATS_PREFIX: "team.heddle" },
      flags: { "cluster.bus": "nats://user:secret@nats:4222" },
    });
    assert.equal(cluster.bus, "nats://user:secret@nats:4222");
    assert.deepEqual(cluster.nats, {
      prefix: "team.heddle",
      credentials: join(folder, "a.creds"),
      tls: { ca: "/etc/ca.pem" },
    });
    for (const bus of ["none", "http://user:secret@nats", "nats:secret", ""]) {
      assert.throws(
        () => serverConfig({ cluster: { bus } }),
        (error: Error) =>
          error.message.includes("cluster.bus (serverConfig) must be notify, poll, or the address of a NATS server") &&
          !error.message.includes("secret"),
      );
    }
    assert.throws(() => serverConfig({ cluster: { nats: { credential: "x" } } as object }), {
      message: /cluster\.nats\.credential \(serverConfig\) is not a setting; did you mean "credentials"/,
    });
  });

  test("gives the engine the bus that it names, or says what is missing", () => {
    const store = new MemoryStore();
    const optionOf = (bus: string | undefined, given?: Bus): unknown =>
      engineOptionsOf(serverConfig({ cluster: { enabled: true, bus } }), store, given).cluster?.bus;
    const made: Bus = { kind: "made", connect: () => assert.fail("nobody connects") };
    assert.equal(optionOf(undefined), undefined);
    assert.equal(optionOf("notify"), "notify");
    assert.equal(optionOf("poll"), "poll");
    assert.equal(optionOf("nats://nats", made), made);
    assert.throws(() => optionOf("nats://nats"), {
      code: "OPTION_INVALID",
      message: /give Server\.start the part bus/,
    });
    assert.throws(() => engineOptionsOf(serverConfig({ cluster: { bus: "nats://nats" } }), store, made), {
      code: "OPTION_INVALID",
      message: /this server is alone: set cluster\.enabled/,
    });
    assert.deepEqual(engineOptionsOf(serverConfig({ cluster: { bus: "poll" } }), store).cluster, undefined);
  });

  test("says everything that an engine can be told", () => {
    const config = loadConfig({
      folder,
      file: file({ stuckSeconds: 5, idleMax: 7, cluster: { enabled: true } }, "engine.json"),
      environment: { HEDDLE_DEFAULT_TIMEOUT_SECONDS: "60", HEDDLE_CLUSTER_TIMINGS: '{"beatMs":100}' },
      flags: { maxSubTasks: "2", maxSteps: "3", maxInterruptions: "0", idleSeconds: "4", "retentionDays.Failed": "1" },
    });
    const options = engineOptionsOf(config, new MemoryStore());
    const { maxSubTasks, maxSteps, maxInterruptions, idleMs, idleMax, stuckMs, defaultTimeoutSeconds } = options;
    assert.deepEqual(
      [maxSubTasks, maxSteps, maxInterruptions, idleMs, idleMax, stuckMs, defaultTimeoutSeconds],
      [2, 3, 0, 4000, 7, 5000, 60],
    );
    assert.deepEqual(options.cluster?.timings, { pollWithoutBusMs: 100, beatMs: 100 });
    assert.equal(options.retentionMs?.Failed, 86_400_000);
    assert.throws(() => loadConfig({ folder, flags: { "cluster.timings": '{"beat":1}' } }), /cluster.timings.beat/);
  });

  test("reads lists, switches and JSON from text", () => {
    const config = loadConfig({
      folder,
      file: file({}, "empty.json"),
      environment: { HEDDLE_APP: "a.ts, b.ts", HEDDLE_GIT: "TRUE", HEDDLE_ROLES: "server" },
      flags: { domains: '{"d":{"size":2}}', "cluster.enabled": "false" },
    });
    assert.deepEqual(config.app, [join(folder, "a.ts"), join(folder, "b.ts")]);
    assert.deepEqual([config.git, config.roles, config.domains], [true, ["server"], { d: { size: 2 } }]);
  });

  test("begins paths from where they were written", () => {
    file({ data: "d", app: ["a.ts"], tls: { key: "k", cert: "/c" }, storage: "sqlite:s.db" });
    const elsewhere = tmpdir();
    const config = loadConfig({
      folder: elsewhere,
      file: join(folder, "heddle.config.json"),
      flags: { workflows: "w" },
    });
    assert.deepEqual(config.tls, { key: join(folder, "k"), cert: "/c" });
    assert.deepEqual([config.data, config.app], [join(folder, "d"), [join(folder, "a.ts")]]);
    assert.deepEqual([config.storage, config.workflows], [`sqlite:${join(folder, "s.db")}`, join(elsewhere, "w")]);
    for (const storage of ["sqlite::memory:", "postgresql://u@h/d"]) {
      assert.equal(loadConfig({ folder, flags: { storage } }).storage, storage);
    }
  });

  const wrong: readonly { name: string; given: Parameters<typeof loadConfig>[0]; says: RegExp }[] = [
    {
      name: "a key that does not exist",
      given: { file: file({ hots: "x" }, "1.json") },
      says: /hots \(1\.json\) is not a setting; did you mean "host"\?/,
    },
    {
      name: "a key within a group",
      given: { file: file({ cluster: { nmae: "x" } }, "2.json") },
      says: /cluster\.nmae \(2\.json\) is not a setting; did you mean "name"\?/,
    },
    {
      name: "a number out of range",
      given: { file: file({ port: 70_000 }, "3.json") },
      says: /port \(3\.json: port\) must be at most 65535, got 70000/,
    },
    {
      name: "a variable",
      given: { environment: { HEDDLE_PORT: "tcp://10.0.0.1:80" } },
      says: /port \(the variable HEDDLE_PORT\) must be a number, got "tcp:\/\/10\.0\.0\.1:80"/,
    },
    {
      name: "a variable that is misspelt",
      given: { environment: { HEDDLE_PROT: "1" } },
      says: /did you mean "HEDDLE_PORT"/,
    },
    {
      name: "a switch",
      given: { flags: { git: "maybe" } },
      says: /git \(the flag --git\) must be true or false, got "maybe"/,
    },
    {
      name: "a choice",
      given: { flags: { roles: "boss" } },
      says: /roles\.0 \(the flag --roles\) must be one of server, worker/,
    },
    { name: "half a pair", given: { flags: { "tls.key": "k" } }, says: /tls\.cert \(.*\) is missing/ },
    {
      name: "an address",
      given: { flags: { otlpUrl: "collector" } },
      says: /otlpUrl .* must be an http:\/\/ or https:\/\/ address/,
    },
    {
      name: "text that is not JSON",
      given: { flags: { tokens: "[" } },
      says: /tokens \(the flag --tokens\) must be JSON/,
    },
    { name: "a file that is not JSON", given: { file: file("{ nope", "4.json") }, says: /4\.json is not JSON/ },
    { name: "a file that is a list", given: { file: file("[]", "5.json") }, says: /5\.json must hold one object/ },
    { name: "a file that is not there", given: { file: "nowhere.json" }, says: /nowhere\.json cannot be read/ },
    {
      name: "a hash, which is not repeated",
      given: { file: file({ tokens: [{ name: "x", role: "admin", sha256: "my-secret" }] }, "6.json") },
      says: /tokens\.0\.sha256 \(6\.json: tokens\) must be 64 hexadecimal digits in lower case$/m,
    },
  ];
  for (const { name, given, says } of wrong) {
    test(`names what is wrong: ${name}`, () => {
      assert.throws(() => loadConfig({ folder, file: file({}, "0.json"), ...given }), {
        code: "OPTION_INVALID",
        message: says,
      });
    });
  }

  test("names all that is wrong at once", () => {
    const flags = { port: "x", poolSize: "0", host: "" };
    assert.throws(
      () => loadConfig({ folder, file: file({}, "0.json"), flags }),
      (error: Error) => {
        assert.equal(error.message.split("\n  - ").length, 4);
        return true;
      },
    );
  });

  test("lets other people's variables be", () => {
    loadConfig({ folder, file: file({}, "0.json"), environment: { HEDDLE_SERVICE_HOST: "x", HEDDLE_TOKEN: "t" } });
  });
});

describe("docs/configuration.md", () => {
  const text = readFileSync(new URL("../../../docs/configuration.md", import.meta.url), "utf8");
  const rows = text
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split(" | ").map((cell) => cell.replaceAll(/^\| |`/g, "").trim()));

  test("lists every key with its flag and its variable, and no other", () => {
    assert.deepEqual(
      rows.map(([key, flag, variable]) => [key, flag, variable]),
      keyNames.map((key) => [key, flagOf(key), variableOf(key)]),
    );
  });

  test("says the defaults", () => {
    const defaults = serverConfigSchema.parse({}) as Record<string, unknown>;
    for (const [key = "", , , said = ""] of rows) {
      const value = key
        .split(".")
        .reduce<unknown>((found, part) => (found as Record<string, unknown> | undefined)?.[part], defaults);
      if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
        assert.ok(said.startsWith(String(value)), `${key}: ${said}`);
      }
    }
  });

  test("the table of keys and the schema are one", () => {
    // Timings are one setting, in JSON.
    const leavesOf = (shape: object, prefix = ""): string[] =>
      Object.entries(shape).flatMap(([name, schema]: [string, unknown]): string[] => {
        const [key, inner] = [`${prefix}${name}`, innerShape(schema)];
        return inner === undefined || name === "timings" ? [key] : leavesOf(inner, `${key}.`);
      });
    assert.deepEqual(leavesOf(serverConfigSchema.shape).toSorted(), (keyNames satisfies ConfigKey[]).toSorted());
  });
});

/** Of a group of settings, through what fills in defaults. */
function innerShape(schema: unknown): object | undefined {
  const { def } = schema as { def: { shape?: object; innerType?: unknown } };
  return def.shape ?? (def.innerType === undefined ? undefined : innerShape(def.innerType));
}
