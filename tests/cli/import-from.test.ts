/** Spec §14.2: `heddle import --from powerjob` and `--from tis`, on real databases and against a real server. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { HeddleClient } from "../../src/client.ts";
import { newDatabase } from "../databases/databases.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { addRuns, fillPowerJob } from "./powerjob-schema.ts";
import { begin, heddle } from "./program.ts";

interface Report {
  workflows: { workflow: string; status: string; file?: string; notes: string[] }[];
  jobs: { jobId: number; nodes: number }[];
}

async function report(args: readonly string[], cwd: string): Promise<Report> {
  const { code, stdout, stderr } = await heddle(["import", ...args, "--json"], { cwd });
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Report;
}

async function startServer(t: TestContext, folder: string): Promise<string> {
  const app = join(import.meta.dirname, "powerjob-app.ts");
  const running = begin(t, ["dev", "--json", "--port", "0", "--ready-made-jobs", "http", app], { cwd: folder });
  const [text] = await running.says(/^\{[^]*?^\}/m);
  return (JSON.parse(text) as { url: string }).url;
}

for (const kind of ["postgres", "mysql"] as const) {
  describe(`14.2 import from PowerJob on ${kind}`, () => {
    test("fifty workflows are saved at the server and run there; what does not carry over is listed", async (t) => {
      const database = await newDatabase(kind, t);
      await fillPowerJob(kind, database);
      const folder = temporaryFolder(t);
      const url = await startServer(t, folder);

      const { workflows, jobs } = await report(
        ["--from", "powerjob", database, "--app", "night", "--url", url],
        folder,
      );
      const of = (name: string): Report["workflows"][number] | undefined =>
        workflows.find(({ workflow }) => workflow === name);
      assert.equal(workflows.length, 51, "fifty workflows, and a job with a schedule of its own");
      assert.deepEqual(
        workflows.filter(({ status }) => status !== "saved").map(({ workflow }) => workflow),
        ["script"],
      );
      assert.match(of("script")?.notes[0] ?? "", /must be changed: task "enough": a decision in Groovy.*def n = /);
      assert.match(of("decide")?.notes[0] ?? "", /translated from Groovy/);
      assert.ok(of("decide-50")?.notes.some((note) => note.includes('"delayMs":5000')));
      assert.ok(of("sweep")?.notes.some((note) => note.includes("a broadcast: what preProcess")));
      assert.equal(of("elsewhere"), undefined, "a workflow of another app");
      assert.equal(of("gone"), undefined, "a deleted workflow");
      assert.deepEqual(
        jobs.map(({ jobId, nodes }) => [jobId, nodes]),
        [
          [11, 48],
          [12, 50],
          [14, 1],
        ],
      );

      const client = new HeddleClient({ url });
      const sweep = await client.call("getWorkflow", { params: { id: "sweep" } });
      assert.deepEqual(
        sweep.dagSpec?.nodes.map((node) => node["executeType"]),
        ["BROADCAST"],
      );
      const saved = await client.call("getWorkflow", { params: { id: "sync-1" } });
      assert.deepEqual([saved.cronExpr, saved.enableSchedule], ["0 0 2 * * ?", false]);
      assert.deepEqual(saved.dagSpec?.["maxInstances"], { max: 1, policy: "fail" });
      const [first, second] = saved.dagSpec?.nodes ?? [];
      assert.deepEqual([first?.["retryCount"], first?.["timeoutSeconds"]], [3, 90]);
      assert.equal(second?.["nodeParams"], '{"table":"t"}');

      const run = await client.start("nested", {});
      await client.result(run);

      const again = await report(["--from", "powerjob", database, "--url", url], folder);
      assert.ok(
        again.workflows.some(({ workflow }) => workflow === "elsewhere"),
        "without --app, all apps",
      );
    });

    test("shadow repeats finished runs without their effects, and names those that would differ", async (t) => {
      const database = await newDatabase(kind, t);
      await fillPowerJob(kind, database);
      await addRuns(database);
      const { code, stdout, stderr } = await heddle(["shadow", database, "--app", "night"]);
      assert.equal(code, 1, stderr);
      const lines = stdout.split("\n").filter((line) => !line.startsWith(" "));
      assert.deepEqual(
        lines.map((line) => line.split(" ")[0]),
        ["agrees", "agrees", "agrees", "differs", "differs", "3", ""],
      );
      assert.match(stdout, /task "load" is Canceled in PowerJob, and Success here/);
      assert.match(stdout, /it cannot run here: .*enough/);
    });

    test("with --to the definitions are files, and a note names the line that must be changed", async (t) => {
      const database = await newDatabase(kind, t);
      await fillPowerJob(kind, database);
      const folder = temporaryFolder(t);
      const args = ["--from", "powerjob", database, "--to", "definitions"];
      const { workflows } = await report(args, folder);
      const script = workflows.find(({ workflow }) => workflow === "script");
      const place = /^(.*dag-spec\.json):(\d+):\d+ {2}must be changed/.exec(script?.notes[0] ?? "");
      const line = readFileSync(join(folder, place?.[1] ?? ""), "utf8").split("\n")[Number(place?.[2]) - 1];
      assert.match(line ?? "", /"nodeParams": "def n = /);

      const { code, stderr } = await heddle(["import", ...args], { cwd: folder });
      assert.deepEqual([code, /must name a new folder/.test(stderr)], [2, true], stderr);
    });
  });
}

describe("14.2 import from TIS", () => {
  test("a folder of TIS is saved; control nodes are passed over, and statuses of runs are dropped", async (t) => {
    const folder = temporaryFolder(t);
    const url = await startServer(t, folder);
    const spec = {
      nodes: [
        { nodeId: 1, nodeType: "TASK", nodeName: "extract", status: "SUCCEED", nodeParams: {}, execRole: "DUMP" },
        { nodeId: 2, nodeType: "CONTROL", nodeName: "barrier", status: "WAITING" },
        { nodeId: 3, nodeType: "TASK", nodeName: "load", status: "FAILED", result: "no", startTime: null },
      ],
      edges: [
        { from: 1, to: 2, enable: true },
        { from: 2, to: 3, enable: true },
      ],
    };
    mkdirSync(join(folder, "tis/orders"), { recursive: true });
    mkdirSync(join(folder, "tis/broken"));
    writeFileSync(join(folder, "tis/orders/dag-spec.json"), JSON.stringify(spec));
    writeFileSync(join(folder, "tis/broken/dag-spec.json"), "{");

    const { workflows } = await report(["--from", "tis", "tis", "--url", url], folder);
    assert.deepEqual(
      workflows.map(({ workflow, status }) => [workflow, status]),
      [
        ["broken", "refused"],
        ["orders", "saved"],
      ],
    );
    const client = new HeddleClient({ url });
    const run = await client.start("orders", {});
    await client.result(run);
  });

  test("what is no definition is left alone and named, and the rest is imported", { timeout: 120_000 }, async (t) => {
    const folder = temporaryFolder(t);
    const place = (name: string): string => {
      mkdirSync(join(folder, "tis", name), { recursive: true });
      return join(folder, "tis", name, "dag-spec.json");
    };
    const good = '{"nodes":[{"nodeId":1,"nodeName":"a","jobName":"x"}]}';
    writeFileSync(place("good"), good);
    writeFileSync(place("number"), '{"nodes":[{"nodeId":1,"nodeName":"a","nodeType":2,"nodeParams":5}]}');
    writeFileSync(join(folder, "secret.json"), good);
    symlinkSync(join(folder, "secret.json"), place("link"));
    execFileSync("mkfifo", [place("pipe")]);
    writeFileSync(place("large"), `{"nodes":[]}${" ".repeat(11 * 1024 * 1024)}`);
    writeFileSync(place("deep"), `{"nodes":${"[".repeat(100_000)}${"]".repeat(100_000)}}`);
    writeFileSync(place("texts"), '{"nodes":["a",null]}');
    writeFileSync(place("edges"), '{"nodes":[],"edges":{"from":1}}');
    const { workflows } = await report(["--from", "tis", "tis", "--to", "out"], folder);
    const found = Object.fromEntries(workflows.map(({ workflow, notes }) => [workflow, notes.join()]));
    const expected: Record<string, RegExp> = {
      deep: /must be changed: its file is nested too deeply/,
      edges: /edges that are no objects/,
      good: /^$/,
      large: /more than 10485760 bytes, and is not read/,
      link: /is a link, and is not read/,
      number: /^$/,
      pipe: /is no file, and is not read/,
      texts: /nodes that are no objects/,
    };
    assert.deepEqual(Object.keys(found), Object.keys(expected));
    for (const [name, pattern] of Object.entries(expected)) assert.match(found[name] ?? "", pattern, name);
  });

  test("a folder that is not there, a database of another kind, and an unknown app are refused in words", async () => {
    for (const [args, message] of [
      [["--from", "tis", "nowhere"], /folder cannot be read/],
      [["--from", "powerjob", "oracle://x"], /must be mysql:/],
      [["--from", "tis", "a", "b"], /takes one source/],
    ] as const) {
      const { code, stderr } = await heddle(["import", ...args]);
      assert.equal(code, 2);
      assert.match(stderr, message);
    }
  });
});
