/** Every command that talks to a server sends the token of `--token-file`, which the documents recommend. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Command } from "commander";
import type { Doors } from "../../src/cli/doors.ts";
import { makeProgram } from "../../src/cli/program/program.ts";
import { root } from "./program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const moduleText = `import { defineJob } from ${JSON.stringify(join(root, "src/index.ts"))};
export const nothing = defineJob("nothing", () => 1);
`;

const secret = "hdl_of_a_file";

/** Without a server: they open stores, or start one. */
const doors: Doors = {
  storage: () => Promise.reject(new Error("no command with a token opens a store")),
  bus: () => Promise.reject(new Error("no command with a token connects to a bus")),
  pastEngine: () => Promise.reject(new Error("no command with a token lives through a past")),
  transfer: () => Promise.reject(new Error("no command with a token opens a store")),
};

/** The arguments that each command needs beyond its token. `@spec` and `@jobs` are files, `@tis` is a folder of TIS. */
const argumentsOf: Readonly<Record<string, readonly string[]>> = {
  run: ["flow"],
  submit: ["flow"],
  list: [],
  show: ["i"],
  logs: ["i"],
  pause: ["i"],
  resume: ["i"],
  terminate: ["i"],
  cancel: ["i"],
  stop: ["i", "task"],
  retry: ["i"],
  event: ["i", "name"],
  result: ["i"],
  history: ["i"],
  query: ["i", "name"],
  update: ["i", "name"],
  skip: ["i", "task"],
  succeed: ["i", "task"],
  fork: ["i"],
  context: ["i"],
  delete: ["i"],
  bulk: ["pause", "--workflow", "w"],
  "task complete": ["t"],
  "task fail": ["t", "--message", "m"],
  import: ["@tis", "--from", "tis"],
  "job list": [],
  "job run": ["job"],
  "schedule list": [],
  "schedule create": ["s", "--job", "j", "--rate", "1m"],
  "schedule pause": ["s"],
  "schedule resume": ["s"],
  "schedule delete": ["s"],
  "schedule trigger": ["s"],
  "schedule preview": ["--rate", "1m"],
  "schedule backfill": ["s", "--from", "2026-01-01T00:00:00Z", "--to", "2026-01-02T00:00:00Z"],
  "workflow list": [],
  "workflow show": ["w"],
  "workflow save": ["@spec"],
  "workflow schedule": ["w", "--cron", "0 6 * * *"],
  "workflow delete": ["w"],
  "workflow versions": ["w"],
  "workflow diff": ["w", "1"],
  "workflow rollback": ["w", "1"],
  "cluster status": [],
  "cluster workers": [],
  "cluster drain": [],
  "domain list": [],
  "domain set": ["d", "1"],
  "token create": ["t", "--role", "viewer"],
  "token list": [],
  "token delete": ["t"],
  audit: [],
  worker: ["@jobs"],
};

function leavesOf(command: Command, path: readonly string[] = []): { path: string; command: Command }[] {
  if (command.commands.length === 0) return [{ path: path.join(" "), command }];
  return command.commands.flatMap((child) => leavesOf(child, [...path, child.name()]));
}

function takesToken({ options }: Command): boolean {
  return options.some(({ long }) => long === "--token");
}

/** Lets nobody in, and keeps what each caller said of itself. */
async function refusingServer(t: TestContext): Promise<{ url: string; heard: (string | undefined)[] }> {
  const heard: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    heard.push(request.headers.authorization);
    response.writeHead(401, { "content-type": "application/json" });
    response.end(JSON.stringify({ code: "UNAUTHORIZED", message: "not let in" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard };
}

test("every command sends the token of --token-file", async (t) => {
  const folder = temporaryFolder(t);
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, `${secret}\n`);
  const paths: Readonly<Record<string, string>> = {
    "@spec": join(folder, "spec.json"),
    "@jobs": join(folder, "jobs.ts"),
    "@tis": join(folder, "tis"),
  };
  writeFileSync(join(folder, "spec.json"), JSON.stringify({ nodes: [], edges: [] }));
  writeFileSync(join(folder, "jobs.ts"), moduleText);
  mkdirSync(join(folder, "tis", "flow"), { recursive: true });
  writeFileSync(join(folder, "tis", "flow", "dag-spec.json"), JSON.stringify({ nodes: [{ nodeId: 1 }], edges: [] }));
  const commands = leavesOf(makeProgram(doors)).filter(({ command }) => takesToken(command));
  assert.deepEqual(commands.map(({ path }) => path).toSorted(), Object.keys(argumentsOf).toSorted());
  const { url, heard } = await refusingServer(t);
  for (const { path } of commands) {
    heard.length = 0;
    const given = argumentsOf[path]!.map((argument) => paths[argument] ?? argument);
    const argv = ["node", "heddle", ...path.split(" "), ...given, "--url", url, "--token-file", tokenFile];
    await assert.rejects(makeProgram(doors).parseAsync(argv), { code: "UNAUTHORIZED" }, path);
    assert.ok(heard.length > 0, path);
    assert.deepEqual([...new Set(heard)], [`Bearer ${secret}`], path);
  }
});
