/** Spec §6.4: the ready-made jobs, with real servers, processes and files. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { readyMadeJobs } from "../../src/jobs.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import { JobsRig } from "./rig.ts";

const secret = "pa55 w/ord+é";

function setSecret(t: TestContext, name = "HEDDLE_SECRET_TEST", value = secret): void {
  process.env[name] = value;
  t.after(() => void delete process.env[name]);
}

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function isAlive(pid: number): boolean {
  try {
    // A zombie has ended, and waits for its parent.
    return !/^\S+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

describe("6.4 readyMadeJobs", () => {
  test("has the jobs that the options allow", () => {
    const names = (options?: Parameters<typeof readyMadeJobs>[0]): string[] =>
      readyMadeJobs(options).map(({ name }) => name);
    assert.deepEqual(names(), ["http", "sql", "wait-for"]);
    assert.deepEqual(names({ allowShell: true, cleanupFolders: ["/tmp"] }).toSorted(), [
      "file-cleanup",
      "http",
      "script",
      "shell",
      "sql",
      "wait-for",
    ]);
    assert.deepEqual(names({ jobs: ["http"] }), ["http"]);
    assert.throws(() => names({ jobs: ["shell"] }), { code: "OPTION_INVALID", message: /allowShell/ });
    assert.throws(() => names({ jobs: ["file-cleanup"] }), { code: "OPTION_INVALID", message: /cleanupFolders/ });
    assert.throws(() => names({ jobs: ["htp" as "http"] }), { code: "OPTION_INVALID", message: /did you mean "http"/ });
  });

  test("describes the params of each job as JSON Schema", () => {
    for (const { name, input, description } of readyMadeJobs({ allowShell: true, cleanupFolders: ["/tmp"] })) {
      const schema = input?.["~standard"].jsonSchema?.input({ target: "draft-2020-12" });
      assert.equal(schema?.["type"], "object", name);
      assert.ok(description !== undefined);
    }
  });
});

describe("6.4 http", () => {
  test("sends method, headers and body, and gives the status and the value of the body", async (t) => {
    const rig = await JobsRig.start(t, readyMadeJobs());
    const url = await serve(t, (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        response.setHeader("content-type", "application/json");
        response.end(
          JSON.stringify({ ...request.headers, method: request.method, said: String(Buffer.concat(chunks)) }),
        );
      });
    });
    const { status, body, truncated } = await rig.run("http", {
      url,
      method: "POST",
      headers: { "x-a": "1" },
      body: '{"a":1}',
    });
    assert.deepEqual([status, truncated], [200, false]);
    const heard = body as Record<string, string>;
    assert.deepEqual([heard["method"], heard["x-a"], heard["said"]], ["POST", "1", '{"a":1}']);
    assert.equal(heard["content-type"], "application/json");
    assert.ok(heard["idempotency-key"]);
  });

  test("fails with the status and the start of the body; a 404 is final, a 503 is not", async (t) => {
    const rig = await JobsRig.start(t, readyMadeJobs());
    const url = await serve(t, (request, response) => response.writeHead(Number(request.url?.slice(1))).end("sorry"));
    const missing = await rig.fail("http", { url: `${url}/404` });
    assert.deepEqual([missing.type, missing.retryable], ["HttpFailed", false]);
    assert.match(missing.message, /status 404; the body begins: sorry/);
    assert.equal((await rig.fail("http", { url: `${url}/503` })).retryable, true);
    assert.equal((await rig.run("http", { url: `${url}/404`, expectStatus: [404] }))["status"], 404);
    assert.equal((await rig.fail("http", { url: "file:///etc/passwd" })).retryable, false);
  });

  test("reads no more than the limit, and waits no longer", async (t) => {
    const rig = await JobsRig.start(t, readyMadeJobs());
    const url = await serve(t, (request, response) => {
      if (request.url === "/slow") return;
      response.write("x".repeat(100_000));
    });
    const { body, truncated } = await rig.run("http", { url, responseBytesMax: 10 });
    assert.deepEqual([body, truncated], ["xxxxxxxxxx", true]);
    assert.match((await rig.fail("http", { url: `${url}/slow`, timeoutSeconds: 0.2 })).message, /within 0.2 seconds/);
  });

  test("leaves no part of a secret where a response, or the start of it in an error, is cut", async (t) => {
    setSecret(t, "HEDDLE_SECRET_TEST", "token-of-mine");
    const rig = await JobsRig.start(t, readyMadeJobs());
    const before = "x".repeat(494);
    const url = await serve(t, (request, response) =>
      response.writeHead(request.url === "/bad" ? 400 : 200).end(`${before}${request.headers["x-token"]?.toString()}`),
    );
    const headers = { "x-token": { env: "HEDDLE_SECRET_TEST" } };
    const cut = await rig.run("http", { url, headers, responseBytesMax: 500 });
    assert.deepEqual([cut["truncated"], String(cut["body"]).includes("to")], [true, false]);
    assert.doesNotMatch((await rig.fail("http", { url: `${url}/bad`, headers })).message, /xto/);
  });

  test("asks allowed hosts only, also after a redirect, and takes no secret to another origin", async (t) => {
    setSecret(t, "HEDDLE_SECRET_TEST", "token-of-mine");
    const heard: (string | undefined)[] = [];
    const other = await serve(t, (request, response) => {
      heard.push(request.headers["x-token"] as string | undefined);
      response.end("there");
    });
    const first = await serve(t, (request, response) => {
      heard.push(request.headers["x-token"] as string | undefined);
      response.writeHead(302, { location: other }).end();
    });
    const headers = { "x-token": { env: "HEDDLE_SECRET_TEST" } };
    const open = await JobsRig.start(t, readyMadeJobs());
    assert.equal((await open.run("http", { url: first, headers }))["body"], "there");
    assert.deepEqual(heard, ["token-of-mine", undefined]);
    const narrow = await JobsRig.start(t, readyMadeJobs({ allowedHosts: [new URL(first).host] }));
    const refused = await narrow.fail("http", { url: first, headers });
    assert.deepEqual([refused.type, refused.retryable], ["ParamsRefused", false]);
    assert.equal(heard.length, 3);
  });

  test("leaves no secret in results, errors, logs and history", async (t) => {
    setSecret(t);
    const rig = await JobsRig.start(t, readyMadeJobs());
    const url = await serve(t, (request, response) => {
      const said = decodeURIComponent(String(request.headers["x-key"]));
      response
        .writeHead(request.url === "/bad" ? 400 : 200)
        .end(`you said ${said} and ${String(request.headers["x-key"])}`);
    });
    process.env["HEDDLE_SECRET_ENCODED"] = encodeURIComponent(secret);
    t.after(() => void delete process.env["HEDDLE_SECRET_ENCODED"]);
    const headers = { "x-key": { env: "HEDDLE_SECRET_ENCODED" }, "x-other": { context: "none" } };
    assert.equal((await rig.fail("http", { url, headers })).type, "ParamsRefused");
    const failed = await rig.fail("http", {
      url: `${url}/bad`,
      headers: { "x-key": { env: "HEDDLE_SECRET_ENCODED" } },
    });
    assert.match(failed.message, /you said .* and \*\*\*/);
    assert.ok(!failed.trace.includes(encodeURIComponent(secret)));
  });

  test("gives out no variable and no file that the worker did not name as a secret", async (t) => {
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, "secrets"));
    writeFileSync(join(folder, "secrets/key"), "the key\n");
    writeFileSync(join(folder, "outside"), "outside");
    symlinkSync(join(folder, "outside"), join(folder, "secrets/link"));
    const rig = await JobsRig.start(t, readyMadeJobs({ secretFolders: [join(folder, "secrets")] }));
    let body = "";
    const url = await serve(t, (request, response) => {
      request.on("data", (chunk: Buffer) => (body += String(chunk)));
      request.on("end", () => response.end());
    });
    const send = { url, method: "POST" };
    for (const reference of [
      { env: "PATH" },
      { file: join(folder, "outside") },
      { file: join(folder, "secrets/link") },
    ]) {
      const { type, retryable } = await rig.fail("http", { ...send, body: reference });
      assert.deepEqual([type, retryable], ["SecretRefused", false]);
    }
    assert.equal(body, "");
    await rig.run("http", { ...send, body: { file: join(folder, "secrets/key") } });
    assert.equal(body, "the key");
  });
});

describe("6.4 shell and script", () => {
  const jobs = readyMadeJobs({ allowShell: true });

  test("log the output while they run, and give its end and the exit code", async (t) => {
    const rig = await JobsRig.start(t, jobs);
    const folder = temporaryFolder(t);
    const run = await rig.begin("shell", {
      command: `echo one; echo two >&2; while [ ! -e ${folder}/go ]; do sleep 0.05; done; echo three`,
    });
    await until(() => rig.lines.length === 2);
    assert.deepEqual(rig.lines.map(({ level, message }) => `${level} ${message}`).toSorted(), ["info one", "warn two"]);
    writeFileSync(join(folder, "go"), "");
    assert.deepEqual(await run.result(), { shell: { exitCode: 0, stdout: "one\nthree", truncated: false } });
    assert.deepEqual(await rig.run("shell", { command: "exit 3", exitCodes: [0, 3] }), {
      exitCode: 3,
      stdout: "",
      truncated: false,
    });
    assert.equal((await rig.run("shell", { command: "seq 1 1000", outputBytesMax: 10 }))["truncated"], true);
  });

  test("run Node.js, Python and bash, with arguments and standard input", async (t) => {
    const rig = await JobsRig.start(t, jobs);
    const sources = {
      node: 'import { readFileSync } from "node:fs"; console.log(process.argv[2] + readFileSync(0, "utf8"))',
      python: "import sys; print(sys.argv[1] + sys.stdin.read())",
      bash: 'echo "$1$(cat)"',
    };
    for (const [language, source] of Object.entries(sources)) {
      const { stdout } = await rig.run("script", { language, source, args: ["a"], stdin: "b" });
      assert.equal(stdout, "ab", language);
    }
  });

  test("fail with the exit code and the last lines of stderr; a missing program is final", async (t) => {
    const rig = await JobsRig.start(t, jobs);
    const failed = await rig.fail("shell", { command: "seq 1 50 >&2; exit 7" });
    assert.match(failed.message, /^the command ended with exit code 7; stderr ends with:\n31\n/);
    assert.deepEqual([failed.type, failed.retryable], ["CommandFailed", true]);
    assert.equal((await rig.fail("shell", { command: "no-such-program" })).retryable, false);
    assert.equal((await rig.fail("shell", { command: "true", cwd: "/no/such/folder" })).retryable, false);
  });

  test("get their secrets as variables, see none of the worker's own, and repeat none", async (t) => {
    setSecret(t);
    const rig = await JobsRig.start(t, jobs);
    const env = { KEY: { env: "HEDDLE_SECRET_TEST" } };
    const { stdout } = await rig.run("shell", { command: 'echo "key $KEY"; env | grep -c SECRET || true', env });
    assert.equal(stdout, "key ***\n0");
    const failed = await rig.fail("shell", {
      command: 'printf "%s" "$KEY" | base64 >&2; echo "$KEY" >&2; exit 1',
      env,
    });
    const forms = [secret, Buffer.from(secret).toString("base64"), JSON.stringify(secret).slice(1, -1)];
    for (const form of forms) assert.ok(!failed.trace.includes(form), form);
    assert.match(failed.message, /\*\*\*/);
  });

  const tree = (folder: string): string =>
    [
      `sleep 300 & echo $! > ${folder}/child`,
      `(sleep 301 & echo $! > ${folder}/grandchild; wait) &`,
      `setsid sleep 302 & echo $! > ${folder}/daemon`,
      `trap "" TERM; touch ${folder}/ready; while true; do sleep 0.1; done`,
    ].join("\n");
  const pidsOf = (folder: string): number[] =>
    ["child", "grandchild", "daemon"].map((name) => Number(readFileSync(join(folder, name), "utf8")));

  test("die with their whole tree when the instance is terminated", async (t) => {
    const rig = await JobsRig.start(t, jobs);
    const folder = temporaryFolder(t);
    const run = await rig.begin("shell", { command: tree(folder) });
    await until(() => existsSync(join(folder, "ready")) && existsSync(join(folder, "grandchild")));
    const pids = pidsOf(folder);
    assert.ok(pids.every(isAlive));
    await run.terminate();
    await until(() => !pids.some(isAlive));
  });

  test("die with their whole tree at their timeout, and leave nothing behind when they end", async (t) => {
    const rig = await JobsRig.start(t, jobs);
    const folder = temporaryFolder(t);
    const failed = await rig.fail("shell", { command: tree(folder), timeoutSeconds: 1 });
    assert.match(failed.message, /killed after 1 seconds/);
    assert.ok(!pidsOf(folder).some(isAlive));
    await rig.run("shell", { command: `sleep 300 & echo $! > ${folder}/child` });
    assert.ok(!isAlive(Number(readFileSync(join(folder, "child"), "utf8"))));
  });

  test("remove the file of a script", async (t) => {
    const rig = await JobsRig.start(t, jobs);
    const { stdout } = await rig.run("script", { language: "bash", source: 'dirname "$0"' });
    assert.ok(String(stdout).includes("heddle-script-") && !existsSync(String(stdout)));
  });
});

describe("6.4 file-cleanup", () => {
  test("deletes old files that fit, in the folders that the worker allows", async (t) => {
    const folder = temporaryFolder(t);
    const allowed = join(folder, "logs");
    mkdirSync(join(allowed, "inner"), { recursive: true });
    const old = new Date(Date.now() - 48 * 3_600_000);
    for (const name of ["logs/a.log", "logs/inner/b.log", "logs/c.txt", "out.log"]) {
      writeFileSync(join(folder, name), "12345");
      utimesSync(join(folder, name), old, old);
    }
    writeFileSync(join(allowed, "new.log"), "");
    symlinkSync(folder, join(allowed, "up"));
    const rig = await JobsRig.start(t, readyMadeJobs({ cleanupFolders: [allowed] }));
    const folders = [{ dirPath: allowed, filePattern: "*.log", retentionHours: 24 }];
    const expected = { deleted: 2, bytes: 10, failed: 0, truncated: false };
    assert.deepEqual(await rig.run("file-cleanup", { folders, dryRun: true }), expected);
    assert.ok(existsSync(join(allowed, "a.log")));
    assert.deepEqual(await rig.run("file-cleanup", { folders }), expected);
    assert.deepEqual(readdirSync(allowed).toSorted(), ["c.txt", "inner", "new.log", "up"]);
    assert.ok(existsSync(join(folder, "out.log")));
    for (const dirPath of [folder, join(allowed, "up"), `${allowed}/../logs-not`]) {
      const refused = await rig.fail("file-cleanup", { folders: [{ dirPath, filePattern: "*", retentionHours: 0 }] });
      assert.deepEqual([refused.type, refused.retryable], ["CleanupFailed", false]);
    }
  });
});

describe("6.4 wait-for", () => {
  test("waits for a file and for an address, up to its timeout", async (t) => {
    const rig = await JobsRig.start(t, readyMadeJobs());
    const file = join(temporaryFolder(t), "done");
    const run = await rig.begin("wait-for", { file, everySeconds: 0.1 });
    await until(() => rig.lines.length > 0);
    writeFileSync(file, "");
    await run.result();
    let asked = 0;
    const url = await serve(t, (_request, response) => response.writeHead(++asked < 3 ? 503 : 200).end());
    assert.deepEqual(await rig.run("wait-for", { url, everySeconds: 0.1 }), { checks: 3, status: "200" });
    const late = await rig.fail("wait-for", { file: `${file}-never`, everySeconds: 0.1, timeoutSeconds: 0.3 });
    assert.equal(late.type, "WaitTimeout");
    await assert.rejects(rig.begin("wait-for", { file, url }), { code: "PARAMS_INVALID", message: /one of url, file/ });
  });

  test("stops waiting when it is aborted", async (t) => {
    const rig = await JobsRig.start(t, readyMadeJobs());
    const run = await rig.begin("wait-for", { file: "/no/such/file", everySeconds: 3600, timeoutSeconds: 7200 });
    await until(() => rig.lines.length > 0);
    await run.terminate();
    await assert.rejects(run.result());
  });
});
