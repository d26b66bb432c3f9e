/** `heddle dev`: from nothing to a server with something to look at, and its ends. */
import assert from "node:assert/strict";
import { existsSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { HeddleClient } from "../../src/client.ts";
import { begin, devServer, heddle, root } from "./program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const appFile = join(import.meta.dirname, "slow-app.ts");

describe("heddle dev", () => {
  test("has examples of each kind, which have already run", async (t) => {
    const folder = temporaryFolder(t);
    const { url, running } = await devServer(t, folder);
    const client = new HeddleClient({ url });
    const names = (await client.call("listWorkflows")).items.map(({ name }) => name).toSorted();
    assert.deepEqual(names, ["example-approval", "example-import", "example-publish", "example-report"]);
    for (const id of ["example-report-1", "example-import-1", "example-approval-1"]) {
      assert.equal((await client.end(id)).status, "Success");
    }
    const { tasks } = await client.call("getInstance", { params: { id: "example-import-1" } });
    assert.equal(tasks.find(({ name }) => name === "download")?.attempt, 3);
    assert.ok(existsSync(join(folder, ".heddle/heddle.db")));
    running.child.kill("SIGTERM");
    assert.equal((await running.ended).code, 0);

    // The next start finds them as they are, and starts none again.
    const second = await devServer(t, folder);
    const rows = await new HeddleClient({ url: second.url }).call("listInstances");
    assert.deepEqual(rows.items.map(({ instanceId }) => instanceId).toSorted(), [
      "example-approval-1",
      "example-import-1",
      "example-report-1",
      "example-report-1/publish",
    ]);
  });

  test("says four lines: where it is, for Dapr too, where its data are, and what to do next", async (t) => {
    const running = begin(t, ["dev", "--port", "0", appFile], { cwd: temporaryFolder(t) });
    await running.says(/Next/);
    const [address, grpc, data, next, ...others] = running.stdout.trim().split("\n");
    assert.match(address ?? "", /^Heddle is at {2}http:\/\/127\.0\.0\.1:\d+$/);
    assert.match(grpc ?? "", /^Dapr, gRPC {4}127\.0\.0\.1:\d+$/);
    assert.match(data ?? "", /^Its data are {2}\.\/\.heddle$/);
    assert.match(next ?? "", /^Next, try {5}npx node .*cli\.ts run approval$/);
    assert.deepEqual([others, running.stderr], [[], ""]);
  });

  test("takes another port if its own is taken, and says so", async (t) => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    t.after(() => other.close());
    const { port } = other.address() as AddressInfo;
    const running = begin(t, ["dev", "--port", String(port)], { cwd: temporaryFolder(t) });
    const [, actual] = await running.says(/127\.0\.0\.1:(\d+) \(port \d+ is taken\)/);
    assert.ok(Number(actual) > port);
  });

  test("lets what runs finish, and keeps what does not", async (t) => {
    const folder = temporaryFolder(t);
    const { url, running } = await devServer(t, folder, { args: ["--drain-seconds", "5", appFile] });
    const client = new HeddleClient({ url });
    await client.start("slow", {}, { instanceId: "slow-1" });
    for await (const { nodes = [] } of client.watch({ instanceId: "slow-1" })) {
      if (nodes.some(({ name, status }) => name === "second" && status === "Running")) break;
    }
    running.child.kill("SIGINT");
    const { code, stderr } = await running.ended;
    assert.deepEqual([code, stderr.includes("warn") || stderr.includes("error")], [0, false]);
    const again = await devServer(t, folder, { args: [appFile] });
    const end = await new HeddleClient({ url: again.url }).call("getInstance", { params: { id: "slow-1" } });
    assert.deepEqual(
      end.tasks.map(({ name, attempt }) => [name, attempt]),
      [
        ["first", 1],
        ["second", 1],
      ],
    );
    assert.equal((await new HeddleClient({ url: again.url }).end("slow-1")).status, "Success");
  });

  for (const env of [{}, { npm_lifecycle_event: "start" }]) {
    const starter = "npm_lifecycle_event" in env ? "npm, which passes each signal on" : "no other";
    test(`a second signal ends it at once; started by ${starter}`, async (t) => {
      const folder = temporaryFolder(t);
      const running = begin(t, ["dev", "--port", "0", "--drain-seconds", "600", appFile], { cwd: folder, env });
      const [url] = await running.says(/http:\S+/);
      const client = new HeddleClient({ url });
      await client.start("endless", {}, { instanceId: "e" });
      await until(async () => {
        const { tasks } = await client.call("getInstance", { params: { id: "e" } });
        return tasks.some(({ status }) => status === "Running");
      });
      const begun = performance.now();
      running.child.kill("SIGINT");
      await running.says(/Stopping/);
      running.child.kill("SIGINT");
      if (starter === "no other") return assert.equal((await running.ended).code, 130);
      // What comes right after the first is taken for its echo.
      const again = setInterval(() => running.child.kill("SIGINT"), 100);
      t.after(() => clearInterval(again));
      assert.equal((await running.ended).code, 130);
      assert.ok(performance.now() - begun >= 300);
    });
  }

  test("killed while something is followed, and started again: the follower sees it end", async (t) => {
    const folder = temporaryFolder(t);
    const first = await devServer(t, folder, { args: [appFile] });
    const { port } = new URL(first.url);
    const follower = begin(t, ["run", "slow", "--id", "k-1", "--url", first.url]);
    await follower.says(/second Running/);
    first.running.child.kill("SIGKILL");
    await first.running.ended;
    const second = await devServer(t, folder, { args: [appFile], port: Number(port) });
    assert.equal(second.url, first.url);
    const { code, stdout } = await follower.ended;
    assert.equal(code, 0);
    assert.match(stdout, /second Success[^]*^Success$/m);
  });

  test("Ctrl-C leaves what is followed running, and says how to look at it", async (t) => {
    const { url } = await devServer(t, temporaryFolder(t), { args: [appFile] });
    const follower = begin(t, ["run", "endless", "--id", "left", "--url", url]);
    await follower.says(/dawdle Running/);
    follower.child.kill("SIGINT");
    const { code, stderr } = await follower.ended;
    assert.equal(code, 130);
    assert.match(stderr, /left keeps running.*cli\.ts show left --url/);
    assert.match((await heddle(["show", "left", "--url", url])).stdout, /status +Running/);
  });

  test("events reach code, and it drains when it is told to", async (t) => {
    const { url } = await devServer(t, temporaryFolder(t));
    const at = ["--url", url];
    for (const id of ["one", "two"]) await heddle(["submit", "example-approval", "--id", id, ...at]);
    const raised = await heddle(["event", "one", "approved", "--data", '{"by":"Ada"}', ...at]);
    assert.match(raised.stdout, /^one is /);
    const other = await heddle(["event", "two", "approved", "--data", "-", "--json", ...at], { input: '{"by":"Eve"}' });
    assert.equal((JSON.parse(other.stdout) as { instanceId: string }).instanceId, "two");
    const client = new HeddleClient({ url });
    assert.equal(((await client.result("one")) as { approvedBy: string }).approvedBy, "Ada");
    assert.equal(((await client.result("two")) as { approvedBy: string }).approvedBy, "Eve");

    const drained = await heddle(["cluster", "drain", "--json", ...at]);
    assert.deepEqual([drained.code, JSON.parse(drained.stdout)], [0, { done: true }]);
    assert.match((await heddle(["cluster", "drain", ...at])).stdout, /is draining/);
    assert.equal((await fetch(`${url}/actuator/health/readiness`)).status, 503);
  });

  test("shows what jobs log and why they fail", async (t) => {
    const { url, running } = await devServer(t, temporaryFolder(t), { args: [appFile] });
    const client = new HeddleClient({ url });
    await client.end(await client.start("saying", undefined, { instanceId: "talk" }));
    await client.end(await client.start("failing", undefined, { instanceId: "bad" }));
    running.child.kill("SIGTERM");
    const lines = (await running.ended).stderr.trim().split("\n");
    assert.deepEqual(
      lines.map((line) => line.replace(/ \{.*/, "")),
      ["info talk say: it was said", "info talk say: it was said", "warn task failed", "warn workflow completed"],
    );
    assert.match(lines[2] ?? "", /"instanceId":"bad".*"traceId":"[0-9a-f]{32}".*no luck today|no luck today.*traceId/);
  });

  test("a module that cannot be loaded, or brings nothing, is named", async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, "broken.ts"), "\nexport const = 1;");
    writeFileSync(join(folder, "throwing.ts"), "\n\nnobody();");
    writeFileSync(join(folder, "empty.ts"), "export const answer = 42;");
    writeFileSync(join(folder, "lonely.ts"), 'import "nowhere-to-be-found";');
    for (const [file, problem] of [
      ["broken.ts", /broken\.ts cannot be loaded: [^]*\nSee .*broken\.ts:2\n/],
      ["throwing.ts", /throwing\.ts cannot be loaded: nobody is not defined\nSee .*throwing\.ts:3\n/],
      ["empty.ts", /empty\.ts exports no job, workflow or schedule/],
      ["lonely.ts", /lonely\.ts cannot be loaded: .*nowhere-to-be-found.*\n$/],
    ] as const) {
      const { code, stderr } = await heddle(["dev", file], { cwd: folder });
      assert.equal(code, 1);
      assert.match(stderr, problem);
    }
  });

  test("ends if its examples cannot be run", async (t) => {
    const { code, stderr } = await heddle(["dev", "--port", "0"], {
      cwd: temporaryFolder(t),
      env: { HEDDLE_TOKEN: "two words" },
    });
    assert.equal(code, 2);
    assert.match(stderr, /token/);
  });

  test("a second one on the same data is refused in words", async (t) => {
    const folder = temporaryFolder(t);
    await devServer(t, folder);
    const { code, stderr } = await heddle(["dev", "--port", "0"], { cwd: folder });
    assert.equal(code, 1);
    assert.match(stderr, /heddle\.db/);
  });

  test("restarts after every change, however a file is saved, and says what has changed", async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, "app.ts");
    const source = (text: string): string =>
      `import { defineJob } from "${join(root, "src/index.ts")}";\nexport const job = defineJob("job", () => "${text}");\nconsole.log("version ${text}");`;
    writeFileSync(file, source("0"));
    const running = begin(t, ["dev", "--watch", "--port", "0", "app.ts"], { cwd: folder });
    await running.says(/version 0[^]*Next/);
    // What a job may write is no source.
    for (const name of ["result.json", "rows.sql", "page.html"]) writeFileSync(join(folder, name), "{}");
    for (const version of ["1", "2", "3", "4"]) {
      if (Number(version) % 2 === 0) {
        writeFileSync(join(folder, "app.ts.tmp"), source(version));
        renameSync(join(folder, "app.ts.tmp"), file);
      } else writeFileSync(file, source(version));
      await running.says(new RegExp(`version ${version}[^]*Next`));
    }
    // What does not compile is told, and mended by the next change.
    writeFileSync(file, "export const = 1;");
    await running.complains(/app\.ts cannot be loaded[^]*Waiting for a change/);
    writeFileSync(file, source("5"));
    await running.says(/version 5[^]*Next/);
    assert.match(running.stderr, /Changed: app\.ts\. Restarting/);
    assert.doesNotMatch(running.stderr, /result\.json|rows\.sql|page\.html/);
    running.child.kill("SIGTERM");
    assert.equal((await running.ended).code, 0);
  });

  test("leaves its address in the folder, so that commands typed there reach it", async (t) => {
    const folder = temporaryFolder(t);
    const { running } = await devServer(t, folder, { args: [appFile] });
    const listed = await heddle(["workflow", "list"], { cwd: folder });
    assert.match(listed.stdout, /endless/);
    const advised = await heddle(["schedule", "list"], { cwd: folder });
    assert.match(advised.stdout, /schedule create creates one/);
    running.child.kill("SIGTERM");
    await running.ended;
    assert.ok(!existsSync(join(folder, ".heddle/address")));
    // The default port may be the server of somebody else.
    const { code, stderr } = await heddle(["terminate", "order-1"], { cwd: folder });
    assert.equal(code, 3);
    assert.match(stderr, /no server runs on the data of this folder, \.\/\.heddle\.\nStart one with: .*Or set .*--url/);
    const elsewhere = await heddle(["list", "--url", "http://127.0.0.1:9"], { cwd: folder });
    assert.match(elsewhere.stderr, /no server answers at http:\/\/127\.0\.0\.1:9/);
  });

  test("a module that waits for ever is named", async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, "endless.ts"), "await new Promise(() => undefined);");
    const { code, stderr } = await heddle(["dev", "endless.ts"], { cwd: folder });
    assert.equal(code, 1);
    assert.match(stderr, /endless\.ts cannot be loaded: a top-level await in it never settles/);
  });
});

test("an older Node is told which one is needed", async (t) => {
  const older = join(temporaryFolder(t), "older.mjs");
  writeFileSync(older, 'Object.defineProperty(process.versions, "node", { value: "20.20.2" });');
  const { code, stderr } = await heddle(["--version"], { env: { NODE_OPTIONS: `--import=${older}` } });
  assert.equal(code, 1);
  assert.equal(
    stderr,
    "heddle: needs Node.js 24 or newer, this is 20.20.2\nBring one into this project with: npm install -D node@24\n",
  );
});
