/** `heddle server` and what surrounds it: settings, who is let in, moving data, workers elsewhere. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { silentLogger } from "../../src/base/logger.ts";
import type { Doors } from "../../src/cli/doors.ts";
import { makeProgram } from "../../src/cli/program/program.ts";
import { Engine } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { HeddleClient } from "../../src/client.ts";
import { memoryStore } from "../../src/testing.ts";
import { exportInstances, importInstances } from "../../src/transfer.ts";
import { begin, devServer, heddle, root, type Running } from "./program.ts";
import { newDatabase } from "../databases/databases.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const appFile = join(import.meta.dirname, "slow-app.ts");

async function server(
  t: TestContext,
  folder: string,
  options: { args?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): Promise<{ url: string; running: Running }> {
  const running = begin(t, ["server", "--port", "0", ...(options.args ?? [])], {
    cwd: folder,
    ...(options.env && { env: options.env }),
  });
  const [, url = ""] = await running.says(/"url":"([^"]+)".*the server is ready/);
  return { url, running };
}

describe("heddle server", () => {
  test("logs JSON lines, and stops in good order", async (t) => {
    const { url, running } = await server(t, temporaryFolder(t), { args: ["--app", appFile] });
    assert.equal(
      (await new HeddleClient({ url }).result(await new HeddleClient({ url }).start("slow"))) !== undefined,
      true,
    );
    running.child.kill("SIGTERM");
    const { code, stdout } = await running.ended;
    assert.equal(code, 0);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { msg: string });
    assert.equal(lines.at(-1)?.msg, "the server has stopped");
  });

  test("ends when its stop is over, also if a job ignores it", { timeout: 60_000 }, async (t) => {
    const folder = temporaryFolder(t);
    const { url, running } = await server(t, folder, { args: ["--app", appFile, "--drain-seconds", "1"] });
    const client = new HeddleClient({ url });
    await client.start("stubborn", {}, { instanceId: "s" });
    await until(async () => {
      const { tasks } = await client.call("getInstance", { params: { id: "s" } });
      return tasks.some(({ status }) => status === "Running");
    });
    running.child.kill("SIGTERM");
    const { code, stdout } = await running.ended;
    assert.equal(code, 0);
    assert.match(stdout, /ignored the signal to stop[^]*the server has stopped"\}\n$/);
  });

  test("is reached by commands typed in its folder, and no other is when it has ended", async (t) => {
    const folder = temporaryFolder(t);
    const { running } = await server(t, folder, { args: ["--app", appFile] });
    assert.match((await heddle(["workflow", "list"], { cwd: folder })).stdout, /endless/);
    running.child.kill("SIGTERM");
    await running.ended;
    const { code, stderr } = await heddle(["workflow", "list"], { cwd: folder });
    assert.deepEqual([code, /no server runs on the data of this folder/.test(stderr)], [3, true]);
  });

  test("settings that are wrong are all named, with where they were said", async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, "heddle.config.json"), JSON.stringify({ prt: 1, cluster: { shards: 0 } }));
    const { code, stderr } = await heddle(["server", "--log-level", "loud"], {
      cwd: folder,
      env: { HEDDLE_POOL_SIZE: "many" },
    });
    assert.equal(code, 1);
    assert.match(stderr, /prt \(heddle\.config\.json\) is not a setting; did you mean "port"\?/);
    assert.match(stderr, /cluster\.shards \(heddle\.config\.json: cluster\.shards\) must be at least 1, got 0/);
    assert.match(stderr, /logLevel \(the flag --log-level\) must be one of debug, info/);
    assert.match(stderr, /poolSize \(the variable HEDDLE_POOL_SIZE\) must be a number, got "many"/);
  });

  test("ends with exit code 1 when another engine has taken its database, so that a supervisor starts it again", async (t) => {
    const folder = temporaryFolder(t);
    const { url, running } = await server(t, folder, { args: ["--app", appFile] });
    rmSync(join(folder, ".heddle/heddle.db-lock"));
    const other = new Engine({ storage: sqlite(join(folder, ".heddle/heddle.db")), logger: silentLogger });
    await other.start();
    t.after(() => other.stop());
    await assert.rejects(new HeddleClient({ url }).start("slow"));
    const { code, stderr } = await running.ended;
    assert.equal(code, 1);
    assert.match(stderr, /another engine has taken over the database/);
  });

  test("takes the admin's token out of the environment before jobs are loaded", async (t) => {
    const folder = temporaryFolder(t);
    const appText = `import { defineJob, TaskBuilder, WorkflowBuilder } from ${JSON.stringify(join(root, "src/index.ts"))};
      const atLoad = process.env["HEDDLE_TOKEN"] ?? "none";
      export const look = defineJob("look", () => [atLoad, process.env["HEDDLE_TOKEN"] ?? "none"]);
      export const spy = new WorkflowBuilder().withName("spy").withTask(new TaskBuilder("look").withJobFunction(look)).build();`;
    writeFileSync(join(folder, "app.ts"), appText);
    writeFileSync(join(folder, "token"), "an/admin==secret\n");
    const { url } = await server(t, folder, { args: ["--app", "app.ts"], env: { HEDDLE_TOKEN: "an/admin==secret" } });
    const { code, stdout, stderr } = await heddle(["run", "spy", "--url", url, "--token-file", "token", "--json"], {
      cwd: folder,
    });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /"none",\s*"none"/);
    const audit = await heddle(["audit", "--url", url, "--token-file", "token", "--operation", "triggerWorkflow"], {
      cwd: folder,
    });
    assert.match(audit.stdout, /environment \(admin\) +127\.0\.0\.1 +triggerWorkflow +spy +201 +\{"instanceId":/);
  });

  test("a taken port is an error in words", async (t) => {
    const first = await server(t, temporaryFolder(t));
    const { port } = new URL(first.url);
    const { code, stderr } = await heddle(["server", "--port", port], { cwd: temporaryFolder(t) });
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`${port}[^]*choose another port with --port`));
    assert.doesNotMatch(stderr, /^\s+at /m);
  });

  test("whoever has no token, or too small a one, is told so with exit code 4", async (t) => {
    const folder = temporaryFolder(t);
    const { url } = await server(t, folder, { env: { HEDDLE_TOKEN: "an/admin==secret" } });
    const as = (token: string, ...args: string[]) => heddle([...args, "--url", url], { env: { HEDDLE_TOKEN: token } });
    const nobody = await heddle(["list", "--url", url]);
    assert.equal(nobody.code, 4);
    assert.match(nobody.stderr, /HEDDLE_TOKEN/);
    const made = await as("an/admin==secret", "token", "create", "eyes", "--role", "viewer");
    assert.equal(made.code, 0);
    assert.match(made.stdout, /^hdl_\S+\n$/);
    const viewer = made.stdout.trim();
    assert.equal((await as(viewer, "list")).code, 0);
    const refused = await as(viewer, "submit", "anything");
    assert.equal(refused.code, 4);
    assert.match(refused.stderr, /operator/);
    const document = await as(
      "an/admin==secret",
      "token",
      "create",
      "hands",
      "--role",
      "operator",
      "--expires",
      "2100-01-01",
      "--json",
    );
    assert.equal((JSON.parse(document.stdout) as { role: string }).role, "operator");
    assert.match((await as("an/admin==secret", "token", "list")).stdout, /eyes +viewer/);
    const listed = JSON.parse((await as("an/admin==secret", "token", "list", "--json")).stdout) as { name: string }[];
    assert.deepEqual(listed.map(({ name }) => name).toSorted(), ["environment", "eyes", "hands"]);
    assert.equal((await as("an/admin==secret", "token", "delete", "hands", "--json")).code, 0);
    assert.equal((await as("an/admin==secret", "token", "delete", "eyes")).code, 0);
    assert.equal((await as(viewer, "list")).code, 4);
    // A secret of one's own may have letters that no protocol may be named with.
    for (const token of ["hdl_wrong", "wrong/=="]) {
      await assert.rejects(new HeddleClient({ url, token, retriesMax: 0 }).watch("all").next(), { status: 401 });
    }
  });

  test("a token of the configuration is let in by its hash", async (t) => {
    const folder = temporaryFolder(t);
    const sha256 = createHash("sha256").update("hdl_from-the-file").digest("hex");
    writeFileSync(join(folder, "other.json"), JSON.stringify({ tokens: [{ name: "ci", role: "viewer", sha256 }] }));
    const { url } = await server(t, folder, { args: ["--config", "other.json"] });
    assert.equal((await heddle(["list", "--url", url, "--token", "hdl_from-the-file"])).code, 0);
    assert.equal((await heddle(["list", "--url", url])).code, 4);
  });
});

describe("heddle export and import", () => {
  test("move all that a store holds", async (t) => {
    const folder = temporaryFolder(t);
    const { url, running } = await devServer(t, folder, { args: [appFile] });
    const client = new HeddleClient({ url });
    await client.result(await client.start("slow", {}, { instanceId: "moved" }));
    const early = await heddle(["export", "sqlite:.heddle/heddle.db", "early.jsonl"], { cwd: folder });
    assert.equal(early.code, 1);
    running.child.kill("SIGTERM");
    await running.ended;

    const exported = await heddle(["export", "sqlite:.heddle/heddle.db", "all.jsonl", "--json"], { cwd: folder });
    assert.equal(exported.code, 0, exported.stderr);
    const { lines } = JSON.parse(exported.stdout) as { lines: number };
    assert.equal(readFileSync(join(folder, "all.jsonl"), "utf8").trim().split("\n").length, lines);
    const piped = await heddle(["export", "sqlite:.heddle/heddle.db"], { cwd: folder });
    assert.equal(piped.stdout.trim().split("\n").length, lines);

    const imported = await heddle(["import", "sqlite:moved/heddle.db"], { cwd: folder, input: piped.stdout });
    assert.equal(imported.code, 0, imported.stderr);
    assert.match(imported.stdout, /0 unfinished instances.*1 finished/);
    const fromFile = await heddle(["import", "sqlite:third.db", "all.jsonl", "--json"], { cwd: folder });
    assert.equal((JSON.parse(fromFile.stdout) as { finished: number }).finished, 1);
    const missing = await heddle(["import", "sqlite:fourth.db", "nowhere.jsonl"], { cwd: folder });
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /nowhere\.jsonl/);

    const moved = await devServer(t, folder, { args: ["--data", "moved", appFile] });
    assert.match((await heddle(["show", "moved", "--url", moved.url])).stdout, /status +Success/);
  });
});

describe("heddle import", () => {
  for (const kind of ["postgres", "mysql"] as const) {
    test(`takes a file and standard input into a database server: ${kind}`, { timeout: 120_000 }, async (t) => {
      const folder = temporaryFolder(t);
      const { url, running } = await devServer(t, folder, { args: [appFile] });
      const client = new HeddleClient({ url });
      await client.result(await client.start("slow", {}, { instanceId: "moved" }));
      running.child.kill("SIGTERM");
      await running.ended;
      assert.equal((await heddle(["export", "sqlite:.heddle/heddle.db", "all.jsonl"], { cwd: folder })).code, 0);
      const fromFile = await heddle(["import", await newDatabase(kind, t), "all.jsonl"], { cwd: folder });
      const input = readFileSync(join(folder, "all.jsonl"), "utf8");
      const fromPipe = await heddle(["import", await newDatabase(kind, t)], { cwd: folder, input });
      for (const { code, stdout, stderr } of [fromFile, fromPipe]) {
        assert.equal(code, 0, stderr);
        assert.match(stdout, /0 unfinished instances.*1 finished/);
      }
    });
  }
});

describe("heddle export", () => {
  test("refuses a database that is not there, and makes none", async (t) => {
    const folder = temporaryFolder(t);
    const { code, stderr } = await heddle(["export", "sqlite:nope/x.db", "o.jsonl"], { cwd: folder });
    assert.equal(code, 1);
    assert.match(stderr, /there is no database at nope\/x\.db/);
    for (const name of ["nope", "o.jsonl"])
      assert.equal(statSync(join(folder, name), { throwIfNoEntry: false }), undefined);
  });

  test("leaves no file when it is refused, so that the next one is not in its way", async (t) => {
    const folder = temporaryFolder(t);
    const storage = memoryStore();
    // An engine on the store, as a server on PostgreSQL: it can be opened beside it, and may not be exported.
    const engine = new Engine({ storage, cluster: { shards: 1 }, logger: silentLogger });
    await engine.start();
    const file = join(folder, "all.jsonl");
    const doors: Doors = {
      storage: async () => storage.connect(),
      bus: async () => undefined,
      pastEngine: () => Promise.reject(new Error("an export lives through no past")),
      transfer: async () => ({ exportInstances, importInstances }),
    };
    const argv = ["node", "heddle", "export", "memory:", file];
    try {
      await assert.rejects(makeProgram(doors).parseAsync(argv), { code: "STORE_LOCKED" });
    } finally {
      await engine.stop();
    }
    assert.equal(existsSync(file), false);
    await makeProgram(doors).parseAsync(argv);
    assert.ok(statSync(file).size > 0);
  });

  test("leaves a file alone that is there, says so in words, and makes one that only its owner can read", async (t) => {
    const folder = temporaryFolder(t);
    const engine = new Engine({ storage: sqlite(join(folder, "x.db")), logger: silentLogger });
    await engine.start();
    await engine.stop();
    writeFileSync(join(folder, "o.jsonl"), "mine");
    const refused = await heddle(["export", "sqlite:x.db", "o.jsonl"], { cwd: folder });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /o\.jsonl exists already; remove it first, or name another file/);
    assert.equal(readFileSync(join(folder, "o.jsonl"), "utf8"), "mine");
    assert.equal((await heddle(["export", "sqlite:x.db", "new.jsonl"], { cwd: folder })).code, 0);
    if (process.platform !== "win32") assert.equal(statSync(join(folder, "new.jsonl")).mode & 0o777, 0o600);
  });
});
