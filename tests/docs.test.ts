/** Spec §14.3: what the documents show compiles and runs to its end, and what they link to is there. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { dirname, extname, join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { newDatabase } from "./databases/databases.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import packageJson from "../package.json" with { type: "json" };

const root = join(import.meta.dirname, "..");
const compiler = join(root, "node_modules/typescript/bin/tsc");
const documents = globSync(["*.md", "llms.txt", "docs/**/*.md", "examples/*.md"], { cwd: root }).map((path) =>
  path.replaceAll("\\", "/"),
);
/**
 * Pages whose examples are compiled and run: all but the translations, which have the code of their originals, and the
 * reference, which quotes declarations and the fragments in their comments.
 */
const pages = documents.filter((path) => !/^docs\/(?:zh|api)\/|\.zh-CN\.md$/.test(path));

/** The language of examples for other systems. */
const foreign = /^```(?:typescript|java|go|python)$/m;

/** Packages of others that examples import. */
const others = ["express", "fastify", "@nestjs", "reflect-metadata", "@microsoft", "@grpc"];

/** Decorators of Nest, which Node does not run without a compiler. */
const decorators = /^ *@[A-Z]\w+\(/m;

/** An example that is still running after this time hangs. */
const exampleMs = 60_000;

const exampleDatabase = "postgresql://heddle:secret@db.example.org/heddle";

/** What an example needs around it, by what it calls; see docs/scene.ts. Of `failed`, every line is an example of its own. */
const scenes: readonly (readonly [calls: RegExp, scene: string])[] = [
  [/histories\/order\.json/, "history"],
  [/from "node:test"/, "test"],
  [/retryWorkflowInstance/, "failed"],
  [/run\.pause|updateTaskParams|stopTask|engine\.subscribe|untakenEvents/, "held"],
  [/heddle\/(client|worker)"|durabletask-js"/, "server"],
  [/Server\.start/, "signal"],
  [/inProcessBus/, "cluster"],
];

/** What an example may take as given, in the words of the guide: the names are global, so an example's own go first. */
const given = `
import type * as heddle from "heddle";
import type { sqlite as openSqlite } from "heddle/sqlite";
import type { z as zod } from "zod";
declare global {
  const defineJob: typeof heddle.defineJob;
  const Engine: typeof heddle.Engine;
  const TaskBuilder: typeof heddle.TaskBuilder;
  const Workflow: typeof heddle.Workflow;
  const WorkflowBuilder: typeof heddle.WorkflowBuilder;
  const WorkflowFailed: typeof heddle.WorkflowFailed;
  const hasCode: typeof heddle.hasCode;
  const sqlite: typeof openSqlite;
  const z: typeof zod;
  const engine: heddle.Engine;
  const run: heddle.WorkflowController;
  const nightly: heddle.Workflow;
  const extract: heddle.Job<{ table: string }, { rows: number }>;
  const instanceId: string;
  function copyTable(table: string, signal: AbortSignal): Promise<number>;
  function fetchRates(day: string, signal: AbortSignal): Promise<Record<string, number>>;
  function simulate(months: number): number;
  function runConverter(file: string): string;
}
`;

/** A project of somebody who has installed Heddle, but for the build: the sources stand in for the package. */
const project = temporaryFolder({ after });

describe("the documents", () => {
  before(() => {
    mkdirSync(join(project, "package"));
    symlinkSync(join(root, "src"), join(project, "package/src"), "junction");
    const doors = Object.keys(packageJson.exports).filter((door) => !door.endsWith(".json"));
    const source = (door: string): string => `./src/${door === "." ? "index" : door.slice(2)}.ts`;
    const exported = Object.fromEntries(doors.map((door) => [door, source(door)]));
    writeJson("package/package.json", { name: "heddle", type: "module", exports: exported });
    writeJson("package.json", { type: "module" });
    mkdirSync(join(project, "node_modules"));
    symlinkSync(join(project, "package"), join(project, "node_modules/heddle"), "junction");
    for (const name of ["zod", "@types", ...others]) {
      symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name), "junction");
    }
  });

  test("show code that compiles", async () => {
    const examples = pages.flatMap(examplesOf).filter(({ name }) => name.endsWith(".ts"));
    assert.ok(examples.length > 70, `found ${examples.length} examples`);
    for (const { name, code } of examples) writeFileSync(join(project, name), `${code}\nexport {};\n`);
    writeFileSync(join(project, "given.ts"), given);
    const decorated = examples.filter(({ code }) => decorators.test(code));
    assert.equal(decorated.length, 1);
    await check(
      examples.filter((example) => !decorated.includes(example)),
      {},
    );
    await check(decorated, { experimentalDecorators: true, erasableSyntaxOnly: false });
  });

  test("show first what runs", async () => {
    const [example] = examplesOf("README.md");
    assert.ok(example !== undefined);
    writeFileSync(join(project, "first.ts"), example.code);
    const out = await run(process.execPath, ["first.ts"]);
    const [, promised] =
      /^It prints .+:\n\n```\n(.*?)^```$/ms.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];
    assert.equal(out, promised);
    assert.ok(existsSync(join(project, "heddle.db")));
  });

  test("show programs of other systems beside those for Heddle only", () => {
    assert.deepEqual(
      pages.filter((path) => foreign.test(readFileSync(join(root, path), "utf8"))),
      ["docs/coming-from.md"],
    );
  });

  for (const example of pages.flatMap(examplesOf)) {
    const scene = sceneOf(example.code);
    for (const { title, code } of partsOf(example, scene)) {
      test(`run to their end: ${title}`, { timeout: exampleMs + 10_000 }, async (t) => {
        const out = await runExample(t, { name: example.name, code }, scene);
        assert.deepEqual(unprinted(code, out), []);
      });
    }
  }

  test("show a test that passes", async () => {
    const [imports, ...others] = examplesOf("docs/guide.md");
    const example = others.find(({ code }) => code.includes('from "node:test"'));
    assert.ok(imports !== undefined && example !== undefined);
    writeFileSync(join(project, "guide.test.ts"), `${imports.code}${example.code}`);
    assert.match(await run(process.execPath, ["--test", "guide.test.ts"]), /pass 1\b/);
  });

  for (const path of ["README.md", "README.zh-CN.md", "llms.txt"]) {
    test(`are all found from ${path}`, () => {
      const text = readFileSync(join(root, path), "utf8");
      const isLinked = (page: string): boolean => text.includes(`(${page}`);
      const missing = documents
        .filter((page) => /^docs\/[^/]+\.md$/.test(page) && !isLinked(page))
        .filter((page) => path !== "README.zh-CN.md" || !isLinked(page.replace("docs/", "docs/zh/")));
      assert.deepEqual(missing, []);
    });
  }

  test("link to what is there", () => {
    assert.ok(documents.includes("README.md") && documents.includes("docs/guide.md"));
    assert.deepEqual(documents.flatMap(brokenLinks), []);
  });
});

async function check(examples: readonly Example[], options: Readonly<Record<string, boolean>>): Promise<void> {
  writeJson("tsconfig.json", {
    extends: join(root, "tsconfig.json"),
    // An example may declare something just to show how.
    compilerOptions: { noUnusedLocals: false, noUnusedParameters: false, ...options },
    include: [],
    files: ["given.ts", ...examples.map(({ name }) => name)],
  });
  await run(process.execPath, [compiler, "-p", "tsconfig.json"]);
}

/** Makes JavaScript of an example that has to be compiled, without a look at its types. */
async function compileAlone(folder: string): Promise<string> {
  const options = ["--noCheck", "--noResolve", "--isolatedModules", "--experimentalDecorators", "--skipLibCheck"];
  const target = ["--target", "es2024", "--module", "nodenext", "--types", "", "--ignoreConfig", "--outDir", "."];
  await run(process.execPath, [compiler, "example.ts", ...options, ...target], { cwd: folder });
  return join(folder, "example.js");
}

function writeJson(path: string, value: unknown): void {
  writeFileSync(join(project, path), JSON.stringify(value));
}

interface Example {
  /** Its file. */
  readonly name: string;
  readonly code: string;
}

/** Every block of TypeScript and JavaScript in a document, named after the line it starts at. */
function examplesOf(path: string): Example[] {
  const text = readFileSync(join(root, path), "utf8");
  return [...text.matchAll(/^```([jt]s)\n(.*?)^```$/gms)].map((block) => {
    const [, language = "", code = ""] = block;
    const line = text.slice(0, block.index).split("\n").length;
    return { name: `${path.replaceAll(/[/.]/g, "-")}-line-${line}.${language}`, code };
  });
}

/** Alternatives that stand below each other run one by one. */
function partsOf({ name, code }: Example, scene: string): { title: string; code: string }[] {
  if (scene !== "failed") return [{ title: name, code }];
  const lines = code.split("\n").filter((line) => line.startsWith("await "));
  return lines.map((line, place) => ({ title: `${name}, line ${place + 1}`, code: line }));
}

function sceneOf(code: string): string {
  return scenes.find(([calls]) => calls.test(code))?.[1] ?? "plain";
}

/** In a folder of its own, with the servers that it names replaced by those of the tests. */
async function runExample(t: TestContext, { name, code }: Example, scene: string): Promise<string> {
  const folder = mkdtempSync(join(project, "run-"));
  const [port, grpcPort] = [await freePort(), await freePort()];
  let local = code
    .replaceAll("127.0.0.1:7411", `127.0.0.1:${port}`)
    .replaceAll("127.0.0.1:4001", `127.0.0.1:${grpcPort}`);
  if (local.includes(exampleDatabase)) local = local.replaceAll(exampleDatabase, await newDatabase("postgres", t));
  const source = join(folder, `example${extname(name)}`);
  writeFileSync(source, `${local}\nexport {};\n`);
  const file = decorators.test(code) ? await compileAlone(folder) : source;
  const env = {
    DOCS_PORT: String(port),
    DOCS_GRPC_PORT: String(grpcPort),
    HEDDLE_PORT: String(port),
    HEDDLE_STORAGE: `sqlite:${join(folder, "env.db")}`,
  };
  return await run(process.execPath, [join(root, "tests/docs/scene.ts"), file, scene], {
    cwd: folder,
    env,
    timeout: exampleMs,
  });
}

/** What comments beside a `console.log` say that it prints, and it does not. An ellipsis stands for anything. */
function unprinted(code: string, out: string): string[] {
  const printed = out.replaceAll(/\s+/g, " ");
  const promised = [...code.matchAll(/^\s*console\.log\(.*\); \/\/ (.+)$/gm)].map((line) => line[1] ?? "");
  const patternOf = (text: string): RegExp =>
    new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&").replaceAll("…", ".*"));
  return promised.filter((text) => !patternOf(text).test(printed));
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

/** Links within the repository whose file, or whose heading in it, does not exist. */
function brokenLinks(path: string): string[] {
  const text = withoutCode(readFileSync(join(root, path), "utf8"));
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((link) => link[1] ?? "");
  return targets
    .filter((target) => !/^[a-z]+:/.test(target) && !isThere(path, target))
    .map((target) => `${path} links to ${target}`);
}

function isThere(from: string, target: string): boolean {
  const [path = "", heading] = target.split("#");
  const file = path === "" ? join(root, from) : join(root, dirname(from), path);
  if (!existsSync(file)) return false;
  return heading === undefined || headingsOf(readFileSync(file, "utf8")).includes(heading);
}

/** As GitHub makes them. */
function headingsOf(text: string): string[] {
  return [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map((match) =>
    (match[1] ?? "")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function withoutCode(text: string): string {
  return text
    .replaceAll(/^```.*?^```$/gms, "")
    .replaceAll(/`[^`\n]*`/g, (code) => code.slice(1, -1).replaceAll(/[[\]()]/g, ""));
}

interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeout?: number;
}

async function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  try {
    // A test in the documents is a test of its own, not a part of this one.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { cwd = project, timeout = 120_000 } = options;
    const { stdout } = await promisify(execFile)(program, args, { cwd, env: { ...env, ...options.env }, timeout });
    return stdout;
  } catch (error) {
    const { stdout, stderr, killed } = error as { stdout?: string; stderr?: string; killed?: boolean };
    const what = killed === true ? "did not end" : "failed";
    throw new Error(`${args.join(" ")} ${what}:\n${stdout ?? ""}${stderr ?? ""}`, { cause: error });
  }
}
