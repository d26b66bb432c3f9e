/** The package as users get it: packed, installed into an empty project, compiled against, and run. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { cpSync, existsSync, globSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { after, before, describe, test } from "node:test";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import packageJson from "../package.json" with { type: "json" };
import { temporaryFolder } from "./support/temporary-folder.ts";

const root = join(import.meta.dirname, "..");
const project = temporaryFolder({ after });
let packed: { filename: string; files: { path: string }[]; unpackedSize: number };

describe("the packed package", () => {
  before(async () => {
    const out = await run("npm", ["pack", "--json", "--loglevel=error", "--pack-destination", project], root);
    const [first] = JSON.parse(out.slice(out.indexOf("["))) as (typeof packed)[];
    assert.ok(first !== undefined);
    packed = first;
    writeFileSync(join(project, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }));
    await run("npm", ["install", "--loglevel=error", "--prefer-offline", `./${packed.filename}`], project);
  });

  test("holds the built code, its types and its SQL, the documents, and nothing else", () => {
    const paths = packed.files.map((file) => file.path);
    for (const target of doors()) assert.ok(paths.includes(target.slice("./".length)), `${target} is missing`);
    for (const file of globSync(["**/*.sql", "server/page/*.{html,css,js}"], { cwd: join(root, "src") })) {
      assert.ok(paths.includes(join("dist", file)), `${file} is missing`);
    }
    assert.ok(paths.includes("LICENSE"));
    assert.ok(paths.includes("dist/ui/index.html"), "the console is missing");
    const kinds =
      /^(?:dist\/.+\.(?:js|d\.ts|js\.map|sql|html|css|svg)|docs\/.+\.(?:md|png|webp)|examples\/.+\.(?:md|ts|py)|deploy\/.+|package\.json|LICENSE|(?:README(?:\.zh-CN)?|ARCHITECTURE|CHANGELOG|CONTRIBUTING)\.md)$/;
    assert.deepEqual(
      paths.filter((path) => !kinds.test(path) || /\.(?:test|rig)\./.test(path)),
      [],
    );
    assert.ok(packed.unpackedSize < 15_000_000, `${packed.unpackedSize} bytes`);
  });

  test("holds every file that its documents link to", () => {
    const paths = packed.files.map((file) => file.path);
    const isPacked = (path: string): boolean => paths.some((each) => each === path || each.startsWith(`${path}/`));
    const missing = paths
      .filter((path) => path.endsWith(".md"))
      .flatMap((path) =>
        [...readFileSync(join(root, path), "utf8").matchAll(/\]\((?![a-z]+:)([^)#\s]+)/g)].map(([, link = ""]) => ({
          path,
          target: normalize(join(dirname(path), link)).replace(/\/$/, ""),
        })),
      )
      .filter(({ target }) => !isPacked(target));
    assert.deepEqual(missing, []);
  });

  test("brings its own dependencies and no tools", () => {
    const installed = globSync(["*/package.json", "@*/*/package.json"], { cwd: join(project, "node_modules") })
      .map((path) => path.replace(/\/package\.json$/, ""))
      .toSorted();
    for (const name of Object.keys(packageJson.dependencies)) assert.ok(installed.includes(name), `${name} is missing`);
    assert.deepEqual(
      Object.keys(packageJson.devDependencies).filter((name) => installed.includes(name)),
      [],
    );
  });

  test("has types that hold, and runs", async () => {
    // What a user would have besides: Node's types and a compiler.
    symlinkSync(join(root, "node_modules/@types"), join(project, "node_modules/@types"), "junction");
    cpSync(join(root, "tests/package"), project, { recursive: true });
    await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc")], project);
    assert.ok(existsSync(join(project, "out/nightly.js")), `there is ${readdirSync(project).join(", ")}`);

    const out = await run(process.execPath, ["out/nightly.js"], project);
    assert.deepEqual(JSON.parse(out.trim().split("\n").at(-1) ?? ""), {
      outputs: { orders: { rows: 6 }, join: { joined: 12 }, index: { indexed: ["a", "b"] } },
      found: [[true, "Success"]],
      doors: ["function", "object", "function"],
      required: ["function", "function", "function"],
    });
  });

  test("has a program that serves", async () => {
    const { lines, answer } = await tryProgram(project);
    assert.match(lines[0] ?? "", /^Heddle is at +http:/, lines.join("\n"));
    assert.equal((answer as { status: string }).status, "UP");
    assert.match(lines.at(-1) ?? "", /All data are kept/, lines.join("\n"));
  });
});

/** The first three lines that it prints, and what it answers; then it is told to stop. */
async function tryProgram(folder: string): Promise<{ lines: string[]; answer: unknown }> {
  const child = spawn("npx", ["heddle", "dev", "--port", "0"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const lines: string[] = [];
  let answer: unknown;
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    const [url] = /http:\/\/\S+/.exec(line) ?? [];
    if (url === undefined || answer !== undefined) continue;
    answer = await (await fetch(`${url}/actuator/health`)).json();
    process.kill(-(child.pid as number), "SIGTERM");
  }
  return { lines, answer };
}

/** Every file that package.json promises. */
function doors(): string[] {
  const exported = Object.values(packageJson.exports).flatMap((door) =>
    typeof door === "string" ? [door] : Object.values(door),
  );
  return [...exported, ...Object.values(packageJson.bin)];
}

async function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    // npm hands its scripts settings of the project they belong to; a user's shell has none.
    const own = Object.entries(process.env).filter(([name]) => !/^npm_(?:package|lifecycle|config_local)/.test(name));
    const { stdout } = await promisify(execFile)(program, args, {
      cwd,
      env: Object.fromEntries(own),
      timeout: 120_000,
    });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(" ")} failed:\n${stdout ?? ""}${stderr ?? ""}`, { cause: error });
  }
}
