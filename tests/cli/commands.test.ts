/** Spec §12.5: every command that talks to a server, in words and as JSON, against a real server. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { HeddleClient } from "../../src/client.ts";
import { begin, cliFile, heddle, Running } from "./program.ts";
import { spawn } from "node:child_process";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const folder = temporaryFolder({ after });
const appFile = join(import.meta.dirname, "slow-app.ts");
let server: Running;
let url: string;

const spec = {
  nodes: [{ nodeId: 1, nodeName: "only", nodeType: 1, jobName: "take-time", nodeParams: '{"ms":1}' }],
  edges: [],
};

async function words(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await heddle(args, { cwd: folder, env: { HEDDLE_URL: url } });
  assert.equal(code, 0, `heddle ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** One document and nothing else. */
async function json<T = Record<string, unknown>>(...args: string[]): Promise<T> {
  return JSON.parse(await words(...args, "--json")) as T;
}

async function refused(code: number, message: RegExp, ...args: string[]): Promise<void> {
  const ended = await heddle(args, { cwd: folder, env: { HEDDLE_URL: url } });
  assert.equal(ended.code, code, `heddle ${args.join(" ")}: ${ended.stdout}${ended.stderr}`);
  assert.match(ended.stderr, message);
  assert.doesNotMatch(ended.stderr, /^\s+at /m);
}

describe("heddle", () => {
  before(async () => {
    const child = spawn(process.execPath, [cliFile, "dev", "--json", "--port", "0", appFile], {
      cwd: folder,
      env: { PATH: process.env["PATH"] },
    });
    server = new Running(child);
    const [text] = await server.says(/^\{[^]*?^\}/m);
    ({ url } = JSON.parse(text) as { url: string });
  });
  after(async () => {
    server.child.kill("SIGTERM");
    const { code } = await server.ended;
    assert.equal(code, 0);
  });

  test("run shows each step, and ends with the result", async () => {
    const out = await words("run", "slow", "--id", "run-1");
    assert.match(out, /^Instance run-1$/m);
    assert.match(out, /first Success/);
    assert.match(out, /second Running[^]*second Success/);
    assert.match(out, /^Success$/m);
    const end = await json("run", "slow", "--id", "run-2", "--max-concurrent-tasks", "1", "--input", '{"a":1}');
    assert.deepEqual(end, {
      instanceId: "run-2",
      status: "Success",
      reason: null,
      output: { first: 300, second: 700 },
    });
  });

  test("run of a workflow that fails says why, and exits with 1", async () => {
    const { code, stdout } = await heddle(["run", "failing", "--id", "f-1"], { env: { HEDDLE_URL: url } });
    assert.equal(code, 1);
    assert.match(stdout, /fail Failed.*no luck today/);
    assert.match(stdout, /^Failed: .*no luck today/m);
    assert.match(stdout, /cli\.ts logs f-1$[^]*cli\.ts retry f-1$/m);
  });

  test("a repeated submit says that it has started nothing", async () => {
    const submit = ["submit", "failing", "--id", "repeated", "--url", url];
    assert.deepEqual(await heddle(submit), { code: 0, stdout: "repeated\n", stderr: "" });
    await new HeddleClient({ url }).end("repeated");
    const { code, stdout, stderr } = await heddle(submit);
    assert.deepEqual([code, stdout], [0, "repeated\n"]);
    assert.match(
      stderr,
      /repeated was started before and is Failed; nothing new was started\. .* retry repeated --url/,
    );
  });

  test("run and submit take a file", async () => {
    const file = join(folder, "from-file.json");
    writeFileSync(file, JSON.stringify(spec));
    assert.match(await words("run", file), /only Success/);
    const { instanceId } = await json<{ instanceId: string }>("submit", file, "--id", "file-2");
    assert.equal(instanceId, "file-2");
    assert.equal((await words("submit", "from-file")).trim().length, 36);
  });

  test("list and show", async () => {
    await words("submit", "failing", "--id", "shown");
    await json("run", "slow", "--id", "listed");
    const rows = await json<{ instanceId: string }[]>("list", "--workflow", "slow", "--limit", "1");
    assert.deepEqual(
      rows.map(({ instanceId }) => instanceId),
      ["listed"],
    );
    assert.match(
      await words("list", "--status", "Success,Failed", "--prefix", "listed"),
      /^INSTANCE[^]*listed +slow +Success/,
    );
    assert.match(await words("list", "--prefix", "nobody"), /No instances/);
    assert.match(await words("show", "shown"), /status +Failed[^]*TASK[^]*fail +Failed/);
    assert.match(await words("show", "shown", "--attempts"), /^TASK +ATTEMPT[^]*^fail +1 +Failed/m);
    assert.equal((await json("show", "listed"))["status"], "Success");
    const nodes = [{ nodeId: 1, nodeName: "m", jobName: "say", map: { items: ["one", "two"] } }];
    const mapped = join(folder, "mapped.json");
    writeFileSync(mapped, JSON.stringify({ nodes }));
    await words("run", mapped, "--id", "mapped");
    assert.match(await words("show", "mapped"), /^m +Success[^]*2 of 2 items done/m);
    assert.match(await words("show", "mapped", "--items"), /^m +0 +Success +1 [^]*"one"[^]*^m +1 +Success/m);
    assert.deepEqual(await json("show", "mapped", "--items", "--failed"), []);
    assert.match(await words("show", "mapped", "--items", "--failed"), /^The instance has no items that failed\.$/m);
    assert.match(await words("show", "shown", "--items"), /^The instance has no items\.$/m);
    await refused(1, /has no task "nobody"/, "show", "mapped", "--items", "--task", "nobody");
    await refused(1, /task "fail".* map/, "show", "shown", "--items", "--task", "fail");
    await refused(2, /add --items/, "show", "mapped", "--failed");
    await json("run", "saying", "--id", "twice");
    assert.match(await words("show", "twice"), /^say +Success[^]*^say#2 +Success/m);
    assert.match(await words("show", "twice", "--task", "say#2"), /task +say \(number 1,/);
    await refused(1, /say#3/, "show", "twice", "--task", "say#3");
  });

  test("12.5 run, show and list say what an instance waits for, since when, and what to do", async (t) => {
    const run = begin(t, ["run", "approval", "--id", "a-1"], { cwd: folder, env: { HEDDLE_URL: url } });
    const [line] = await run.says(/waiting for event "approve" \(.*/);
    assert.match(line, /\(\d\.\d s so far\); raise it with: .* event a-1 approve$/);
    await words("event", "a-1", "Approve");
    const shown = await words("show", "a-1");
    assert.match(shown, /^Waits for:\n {2}event "approve", .*slow-app\.ts:\d+ \(.* so far\); raise it with: /m);
    assert.match(shown, /^Came, but the code has not waited for it:\n {2}event "Approve" × 1 since /m);
    assert.match(
      await words("list", "--workflow", "approval"),
      /a-1 +approval +Running .*event "approve" \(.* so far\)/,
    );
    await words("pause", "a-1", "--reason", "db move");
    assert.match(
      await words("show", "a-1"),
      /the instance to be resumed, which .* has paused: db move \(.* so far\); resume/,
    );
    await run.says(/waiting for the instance to be resumed/);
    await words("resume", "a-1");
    await words("event", "a-1", "approve", "--data", "7");
    assert.match((await run.ended).stdout, /Success\n7\n/);
  });

  test("12.5 update, query, history and result ask one instance", async () => {
    await words("submit", "counter", "--id", "c-1");
    assert.equal(await words("update", "c-1", "add", "--input", '{"by":2}'), "2\n");
    assert.equal(await json("update", "c-1", "add", "--input", '{"by":3}'), 5);
    assert.equal(await words("query", "c-1", "count"), "5\n");
    await refused(1, /answers no query "cuont"; it answers "count"/, "query", "c-1", "cuont");
    await refused(1, /c-1 is Running and has no result yet; wait for it with --wait/, "result", "c-1");
    await words("event", "c-1", "done");
    assert.match(await words("result", "c-1", "--wait"), /^Success\n{\n {2}"count": 5\n}\n$/);
    assert.deepEqual((await json("result", "c-1"))["output"], { count: 5 });
    assert.match(await words("history", "c-1"), /^TURN +TIME +EVENT +DATA\n +0 .* InstanceCreated [^]* InstanceEnded /);
    const turns = await json<{ turn: number; events: { type: string }[] }[]>("history", "c-1");
    assert.equal(turns.at(-1)?.events.at(-1)?.type, "InstanceEnded");

    await words("submit", "failing", "--id", "f-1");
    const failed = await heddle(["result", "f-1", "--wait"], { cwd: folder, env: { HEDDLE_URL: url } });
    assert.equal(failed.code, 1);
    assert.match(failed.stdout, /^Failed: task "fail" failed: no luck today\nShow tasks /);
    const shown = await words("show", "f-1");
    assert.match(shown, /fail failed:\n.* at .*slow-app\.ts:\d+/);
    assert.doesNotMatch(shown, /job-call|call-job/);
  });

  test("logs, and logs -f until the end", async () => {
    await words("submit", "slow", "--id", "logged");
    const followed = await words("logs", "-f", "logged");
    assert.equal(followed.trim().split("\n").length, 2);
    assert.match(followed, /info +first: takes its time {"ms":300}/);
    const lines = await json<{ taskName: string }[]>("logs", "logged");
    assert.deepEqual(
      lines.map(({ taskName }) => taskName),
      ["first", "second"],
    );
    const [line = "", ...others] = (await words("logs", "-f", "--json", "--task", "first", "logged"))
      .trim()
      .split("\n");
    assert.equal((JSON.parse(line) as { message: string }).message, "takes its time");
    assert.deepEqual(others, []);
  });

  test("pause, resume, terminate, cancel and retry", async () => {
    await words("submit", "endless", "--id", "e-1");
    assert.match(await words("pause", "e-1"), /e-1 is/);
    assert.equal((await json("resume", "e-1"))["instanceId"], "e-1");
    assert.deepEqual(await json("terminate", "e-1", "--reason", "enough"), {
      instanceId: "e-1",
      status: "Terminated",
      pausing: false,
    });
    assert.match(await words("show", "e-1"), /reason +enough/);
    assert.match(await words("retry", "e-1"), /e-1 is Running/);
    assert.match(await words("cancel", "e-1"), /e-1 is Terminated/);
    await words("submit", "endless", "--id", "e-2");
    assert.match(await words("stop", "e-2", "dawdle", "--reason", "too slow"), /e-2 is Failed/);
    assert.match(await words("show", "e-2", "--task", "dawdle"), /status +Stopped[^]*failure +TASK_STOPPED: too slow/);
    assert.equal((await json("show", "e-2", "--task", "dawdle"))["status"], "Stopped");
    await refused(1, /dawdel.*dawdle/, "stop", "e-2", "dawdel");
    await json("run", "slow", "--id", "again");
    assert.equal((await json("retry", "again", "--from", "second"))["status"], "Running");
    await refused(1, /Success/, "pause", "listed");
  });

  test("skip, succeed, fork, context, delete and bulk", async () => {
    const failed = async (id: string): Promise<void> => {
      await words("submit", "endless", "--id", id);
      assert.match(await words("stop", id, "dawdle"), /is Failed/);
    };
    await failed("repair-1");
    assert.match(await words("skip", "repair-1", "dawdle"), /repair-1 is (Running|Success)/);
    await until(async () => (await words("show", "repair-1")).includes("Success"));
    await failed("repair-2");
    await words("succeed", "repair-2", "dawdle", "--output", '{"by":"hand"}');
    await until(async () => (await words("show", "repair-2")).includes("Success"));
    await refused(1, /Success/, "context", "repair-2", "--set", '{"a":1}');
    await words("submit", "endless", "--id", "repair-3");
    assert.deepEqual(await json("context", "repair-3", "--set", '{"a":1}'), { a: 1 });
    assert.match(await words("context", "repair-3"), /"a": 1/);
    await refused(2, /--params needs --from/, "retry", "repair-3", "--params", "{}");
    await refused(2, /number of a task/, "fork", "repair-3", "--from", "first");
    await json("run", "saying", "--id", "forked-1");
    assert.match(await words("fork", "forked-1", "--from", "1", "--id", "forked-2"), /^forked-2/);
    await until(async () => (await words("show", "forked-2")).includes("Success"));

    assert.match(await words("bulk", "terminate", "--prefix", "repair-"), /1 instance would be concerned .*--yes/);
    assert.match(await words("show", "repair-3"), /Running/);
    assert.match(
      await words("bulk", "terminate", "--prefix", "repair-", "--yes", "--reason", "enough"),
      /on 1 instance\./,
    );
    assert.match(await words("show", "repair-3"), /Terminated[^]*enough/);
    await refused(2, /needs a filter/, "bulk", "delete", "--yes");
    await refused(2, /must be one of.*delete/, "bulk", "destroy", "--prefix", "repair-");
    assert.match(await words("delete", "repair-1"), /repair-1 is deleted/);
    await refused(1, /repair-1/, "show", "repair-1");
    assert.equal((await json("bulk", "delete", "--prefix", "repair-", "--yes"))["done"], 2);
  });

  test("tasks are completed from outside, and fail from outside", async () => {
    const tokenOf = async (id: string): Promise<string> => {
      await json("job", "run", "ask", "--id", id);
      await until(async () => (await words("show", id)).includes("completion from outside"));
      return /hct_[\w.-]+/.exec(await words("logs", id, "--json"))?.[0] ?? "";
    };
    const token = await tokenOf("ask-1");
    assert.match(await words("task", "complete", token, "--output", '{"by":"us"}'), /ask-1 is completed/);
    assert.match(await words("show", "ask-1"), /Success/);
    await refused(1, /does not wait for that completion/, "task", "complete", token);
    const other = await tokenOf("ask-2");
    assert.deepEqual(await json("task", "fail", other, "--message", "no", "--final"), { instanceId: "ask-2" });
    assert.match(await words("show", "ask-2"), /Failed[^]*no/);
    await refused(2, /message/, "task", "fail", other);
  });

  test("jobs, run and scheduled by themselves", async () => {
    assert.match(await words("job", "list"), /take-time +[0-9a-f]+/);
    const names = (await json<{ name: string }[]>("job", "list")).map(({ name }) => name);
    assert.ok(names.includes("take-time"));
    const out = await words("job", "run", "take-time", "--params", '{"ms":1}', "--id", "job-1", "--wait");
    assert.match(out, /^Instance job-1$[^]*take-time Success[^]*"take-time": 1/m);
    const ended = await json("job", "run", "take-time", "-p", '{"ms":2}', "--wait");
    assert.deepEqual([ended["status"], ended["output"]], ["Success", { "take-time": 2 }]);
    assert.deepEqual(await json("job", "run", "say", "--id", "job-2"), { instanceId: "job-2" });
    await refused(1, /"take-tim" is not registered.*"take-time"/, "job", "run", "take-tim");
    await refused(1, /^$/, "job", "run", "fail", "--wait");
    const rate = ["--rate", "1h"];
    assert.match(
      await words("schedule", "create", "j", "--job", "take-time", "-p", '{"ms":1}', ...rate),
      /job take-time/,
    );
    assert.match(await words("schedule", "list"), /j +job take-time/);
    await words("schedule", "delete", "j");
    await refused(2, /one of --workflow and --job/, "schedule", "create", "j", ...rate);
    await refused(2, /one of --workflow and --job/, "schedule", "create", "j", "-w", "slow", "--job", "say", ...rate);
    await refused(2, /--input goes with --workflow/, "schedule", "create", "j", "--job", "say", "-i", "1", ...rate);
    await refused(2, /--params goes with --job/, "schedule", "create", "j", "-w", "slow", "-p", "1", ...rate);
  });

  test("schedules", async () => {
    assert.match(await words("schedule", "list"), /No schedules/);
    await words(
      "schedule",
      "create",
      "s-1",
      "--workflow",
      "slow",
      "--cron",
      "0 6 * * *",
      "--time-zone",
      "Europe/Berlin",
    );
    assert.deepEqual(await json("schedule", "create", "s-2", "-w", "slow", "--rate", "1h", "--when-busy", "queue"), {
      scheduleId: "s-2",
    });
    assert.match(await words("schedule", "list"), /s-1 +slow +0 6 \* \* \* \(Europe\/Berlin\) +yes/);
    assert.match(await words("schedule", "pause", "s-1"), /Schedule s-1 is paused/);
    const rows = await json<{ scheduleId: string; isEnabled: boolean }[]>("schedule", "list");
    assert.deepEqual(rows.map(({ scheduleId, isEnabled }) => `${scheduleId} ${isEnabled}`).toSorted(), [
      "s-1 false",
      "s-2 true",
    ]);
    assert.deepEqual(await json("schedule", "resume", "s-1"), { scheduleId: "s-1", done: true });
    assert.match(await words("schedule", "trigger", "s-2"), /Started /);
    const [from, to] = ["2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z"];
    assert.deepEqual(await json("schedule", "backfill", "s-1", "--from", from, "--to", to, "--parallelism", "2"), {
      runs: 2,
    });
    assert.deepEqual(
      await json("schedule", "preview", "--cron", "0 6 * * *", "--time-zone", "UTC", "--from", from, "-n", "2"),
      [Date.parse("2026-01-01T06:00:00Z"), Date.parse("2026-01-02T06:00:00Z")],
    );
    assert.equal((await words("schedule", "preview", "--rate", "1m")).trim().split("\n").length, 10);
    assert.match(await words("schedule", "delete", "s-1"), /deleted/);
    assert.equal((await json("schedule", "delete", "s-2"))["done"], true);
    await refused(2, /one of --cron, --rate and --delay/, "schedule", "preview");
    await refused(1, /cli\.ts schedule list/, "schedule", "pause", "nobody");
  });

  test("workflows: save, show, versions, diff, roll back, delete", async () => {
    const file = join(folder, "kept.json");
    writeFileSync(file, JSON.stringify(spec));
    const first = await json<{ version: string }>("workflow", "save", file);
    writeFileSync(file, JSON.stringify({ ...spec, nodes: [{ ...spec.nodes[0], nodeParams: '{"ms":2}' }] }));
    assert.match(await words("workflow", "save", file, "--name", "kept"), /Saved kept, version/);
    const rows = await json<{ name: string }[]>("workflow", "list");
    assert.ok(rows.some(({ name }) => name === "kept"));
    assert.match(await words("workflow", "list"), /slow +dag .* code/);
    assert.match(await words("workflow", "show", "kept"), /kept \(dag[^]*take-time/);
    assert.equal((await json("workflow", "show", "slow"))["name"], "slow");
    const versions = await json<{ version: string; isCurrent: boolean }[]>("workflow", "versions", "kept");
    assert.deepEqual([versions.length, versions[0]?.isCurrent], [2, true]);
    assert.match(await words("workflow", "versions", "kept"), /current/);
    assert.match(await words("workflow", "diff", "kept", first.version), /changed/);
    const { changes } = await json<{ changes: unknown[] }>("workflow", "diff", "kept", first.version, first.version);
    assert.deepEqual(changes, []);
    const back = await json<{ version: string }>("workflow", "rollback", "kept", first.version);
    assert.equal(back.version, first.version);
    assert.match(
      await words("workflow", "schedule", "kept", "--cron", "0 3 * * *", "--overlap", "allow", "--misfire", "all"),
      /The schedule of kept is on/,
    );
    assert.match(await words("workflow", "schedule", "kept", "--off"), /The schedule of kept is off/);
    const { cronExpr, overlap, misfire, enableSchedule } = await json("workflow", "show", "kept");
    assert.deepEqual([cronExpr, overlap, misfire, enableSchedule], ["0 3 * * *", "allow", "all", false]);
    assert.match(await words("workflow", "delete", "kept"), /Deleted kept/);
    await refused(1, /cli\.ts workflow list/, "workflow", "show", "kept");
  });

  test("domains", async () => {
    assert.match(await words("domain", "set", "reports", "2", "--priority", "-1"), /reports has 2 slots/);
    assert.deepEqual(await json("domain", "set", "reports", "1"), { domain: "reports", size: 1 });
    assert.match(await words("domain"), /DOMAIN[^]*default[^]*reports +1 +-1/);
    await refused(1, /POOL_SIZE_INVALID|whole number from 1/, "domain", "set", "reports", "10000");
    await refused(2, /--priority/, "domain", "set", "reports", "1", "--priority", "high");
  });

  test("the cluster", async () => {
    assert.match(await words("cluster"), /1 of 1 members up/);
    assert.equal((await json("cluster", "status"))["totalMembers"], 1);
    assert.match(await words("cluster", "workers"), /WORKER/);
    assert.equal((await json<unknown[]>("cluster", "workers")).length, 1);
  });

  test("what was refused comes with the command that helps", async () => {
    const file = join(folder, "advised.json");
    writeFileSync(file, JSON.stringify(spec));
    await words("workflow", "save", file);
    await refused(1, /versions with: .* workflow versions/, "workflow", "diff", "advised", "nope");
    await refused(1, /versions with: .* workflow versions/, "workflow", "rollback", "advised", "nope");
    await refused(1, /Only saved workflows can be deleted/, "workflow", "delete", "slow");
    const elsewhere = /in namespace "other"[^]* workflow list --namespace other$/m;
    await refused(1, elsewhere, "submit", "nowhere", "--namespace", "other");
    writeFileSync(file, JSON.stringify(spec).replace("take-time", "not-exported"));
    await refused(1, /job "not-exported" is not registered[^]*export this one as well/, "run", file);
  });

  test("exit codes: usage 2, not reachable 3, refused 1", async () => {
    await refused(2, /unknown command/, "frobnicate");
    await refused(2, /missing required argument/, "show");
    await refused(2, /--input must be JSON/, "run", "slow", "--input", "{");
    await refused(2, /cli\.ts dev app\.ts/, "run", "app.ts");
    await refused(1, /"failling" is known here; did you mean "failing"\?[^]*workflow list/, "run", "failling");
    await refused(
      2,
      /--status must be one of Ready, [^\n]*got "Faild"; did you mean "Failed"\?/,
      "list",
      "--status",
      "Faild",
    );
    await refused(2, /there is no file .*nowhere\.ts/, "dev", "nowhere.ts");
    await refused(2, /--limit must be a whole number/, "list", "--limit", "few");
    await refused(2, /cannot be read as a definition/, "workflow", "save", "nowhere.json");
    await refused(3, /no server answers[^]*cli\.ts dev/, "list", "--url", "http://127.0.0.1:1");
    await refused(1, /nobody[^]*cli\.ts list/, "show", "nobody");
    await refused(2, /http:\/\//, "list", "--url", "ftp://example.org");
    const { stderr, stdout } = await heddle(["show", "nobody", "--json"], { env: { HEDDLE_URL: url } });
    assert.equal(stdout, "");
    assert.equal((JSON.parse(stderr) as { error: { code: string } }).error.code, "INSTANCE_UNKNOWN");
    assert.match((await heddle(["list", "--url", "http://127.0.0.1:1", "--verbose"])).stderr, /^\s+at /m);
  });

  test("help names every command", async () => {
    const help = await words("--help");
    for (const name of [
      "dev",
      "server",
      "worker",
      "run",
      "submit",
      "export",
      "import",
      "init",
      "completion",
      "token",
    ]) {
      assert.match(help, new RegExp(`^ {2}${name} `, "m"));
    }
    assert.match(help, /130 interrupted/);
  });

  test("completion of a shell that is here", async () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const script = await words("completion", shell);
      assert.match(script, /backfill/);
      assert.match(script, /parallelism/);
    }
    const script = `${await words("completion", "bash")}
COMP_WORDS=(heddle schedule back); COMP_CWORD=2; _heddle; echo "\${COMPREPLY[@]}"
COMP_WORDS=(heddle schedule list --js); COMP_CWORD=3; _heddle; echo "\${COMPREPLY[@]}"`;
    const bash = new Running(spawn("bash", ["-c", script]));
    assert.equal((await bash.ended).stdout, "backfill\n--json\n");
  });
});
