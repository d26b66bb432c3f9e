/** Spec §14.3: the commands that the documents print exist with their flags, and those of the first hour run as printed. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test, type TestContext } from "node:test";
import type { Command } from "commander";
import { makeProgram } from "../../src/cli/program/program.ts";
import { type DevServer, devServer, heddle } from "../cli/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const root = join(import.meta.dirname, "../..");
const pages = globSync(["*.md", "docs/*.md", "docs/zh/*.md", "examples/*.md"], { cwd: root }).toSorted();

/** The ways to call the program: anywhere, in a project, in a clone. */
const calls = [["heddle"], ["npx", "heddle"], ["npx", "node", "src/cli.ts"]];

/** No command: `application_name` of a connection to PostgreSQL. */
const connectionName = "heddle notifications";

let program: Command;
before(() => {
  const none = (): never => assert.fail("a command is looked at, not run");
  program = makeProgram({ storage: none, bus: none, pastEngine: none, transfer: none });
});

describe("14.3 the commands in the documents", () => {
  test("are those of the program, with its flags", () => {
    const printed = pages.flatMap((path) => {
      const text = readFileSync(join(root, path), "utf8");
      const lines = [...blocksOf(text).flatMap((block) => block.split("\n")), ...inlineOf(text)];
      return lines.flatMap(commandsIn).flatMap((words) => {
        const args = argumentsOf(words);
        return args === undefined ? [] : [{ path, args }];
      });
    });
    assert.ok(printed.length > 150, `found ${printed.length} commands`);
    assert.deepEqual(
      printed.flatMap(({ path, args }) => problemsOf(args).map((what) => `${path}: heddle ${args.join(" ")}: ${what}`)),
      [],
    );
  });

  for (const [command, problem] of [
    ["heddle rnu nightly", /no command rnu/],
    ["heddle schedule creat poll", /no command creat/],
    ["heddle list --statuss Failed", /no flag --statuss/],
    ["npx heddle show one two", /too many arguments/],
    ["TOKEN=1 npx node src/cli.ts logs -x i", /no flag -x/],
  ] as const) {
    test(`that do not exist are noticed: ${command}`, () => {
      const [words = []] = commandsIn(command);
      assert.match(problemsOf(argumentsOf(words) ?? []).join(), problem);
    });
  }
});

describe("14.3 commands run as printed, beside a server with the examples", () => {
  for (const [path, blocks] of [
    ["README.md", /run example-report/],
    ["docs/getting-started.md", /show example-import-1/],
    ["docs/http-api.md", /^curl /],
    ["docs/push.md", /^curl /],
  ] as const) {
    test(path, async (t) => {
      const folder = temporaryFolder(t);
      const server = await devServer(t, folder);
      const printed = blocksOf(readFileSync(join(root, path), "utf8")).filter((block) => blocks.test(block));
      assert.ok(printed.length > 0);
      const commands = printed.flatMap((block) => block.split("\n").flatMap(commandsIn));
      for (const words of commands) await runPrinted(t, words, { server, folder });
    });
  }

  for (const [module, run = ""] of serversOf(readFileSync(join(root, "examples/README.md"), "utf8"))) {
    test(`examples/README.md: ${module}`, async (t) => {
      const folder = temporaryFolder(t);
      const server = await devServer(t, folder, { args: [join(root, module)] });
      await runPrinted(t, commandsIn(run)[0] ?? [], { server, folder });
    });
  }
});

/** A server of one example, and the command for the other terminal. */
function serversOf(text: string): (readonly [module: string, run: string | undefined])[] {
  const blocks = blocksOf(text).map((block) => block.split("\n"));
  const found = blocks.map(([server = "", run]) => [/ dev (\S+)/.exec(server)?.[1] ?? "", run] as const);
  assert.ok(found.length >= 2 && found.every(([module, run]) => module !== "" && run !== ""));
  return found;
}

interface Terminal {
  readonly server: DevServer;
  readonly folder: string;
}

async function runPrinted(t: TestContext, words: readonly string[], { server, folder }: Terminal): Promise<void> {
  const args = argumentsOf(words);
  if (args !== undefined) {
    // In the folder of the server, commands reach it without a URL.
    const { code, stderr } = await heddle(args, { cwd: folder });
    assert.equal(code, 0, `${words.join(" ")}: ${stderr}`);
  } else if (words[0] === "curl") {
    await fetchPrinted(t, words, server.url);
  } else {
    assert.equal(words[0], "jq", `${words.join(" ")} is not run`);
  }
}

/** What `curl` does with these words. An ellipsis for an id or an address stands for one that is there. */
async function fetchPrinted(t: TestContext, words: readonly string[], url: string): Promise<void> {
  const after = (flag: string): string | undefined => words[words.indexOf(flag) + 1 || words.length];
  const printed = words.find((word) => /^(?:http|…)/.test(word)) ?? "";
  const address = printed.replace(/^(?:http:\/\/127\.0\.0\.1:7411|…)/, url).replace("0198…", "example-import-1");
  const [name = "", value = ""] = after("-H")?.split(": ") ?? [];
  const controller = new AbortController();
  t.after(() => controller.abort());
  const response = await fetch(address, {
    method: after("-X") ?? "GET",
    headers: name === "" ? {} : { [name]: value },
    body: after("-d") ?? null,
    signal: controller.signal,
  });
  assert.ok(response.ok, `${printed} answers ${response.status}: ${response.ok || (await response.text())}`);
}

/** Code that may have commands in it. */
function blocksOf(text: string): string[] {
  return [...text.matchAll(/^```(?:sh)?\n(.*?)\n```$/gms)].map(([, block = ""]) => block);
}

/** Commands within sentences and tables; brackets around what may be left out are dropped. */
function inlineOf(text: string): string[] {
  const sentences = text.replaceAll(/^```.*?^```$/gms, "");
  const found = [...sentences.matchAll(/`((?:npx )?heddle [a-z-][^`]*)`/g)].map(([, code = ""]) => code);
  return found
    .filter((code) => code !== connectionName)
    .map((code) => code.replaceAll("\\|", "/").replaceAll(/[[\]]/g, " "));
}

/** The words of each command of a line, without variables before it and without comments. */
function commandsIn(line: string): string[][] {
  const commands: string[][] = [[]];
  for (const [token] of line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)) {
    const words = commands.at(-1);
    if (token.startsWith("#")) break;
    if (/^(?:\||&&|;|>|&)$/.test(token)) commands.push([]);
    else if (words?.length !== 0 || !/^(?:[A-Z_]+=|\$$)/.test(token)) words?.push(token.replaceAll(/^['"]|['"]$/g, ""));
  }
  return commands.filter((words) => words.length > 0);
}

/** What follows the name of the program; undefined for another program. */
function argumentsOf(words: readonly string[]): readonly string[] | undefined {
  const call = calls.find((each) => each.every((word, place) => words[place] === word));
  return call === undefined ? undefined : words.slice(call.length);
}

function problemsOf(args: readonly string[]): string[] {
  let command = program;
  const rest = [...args];
  for (;;) {
    const next = command.commands.find((each) => each.name() === rest[0]);
    if (next === undefined) break;
    command = next;
    rest.shift();
  }
  const problems: string[] = [];
  const given: string[] = [];
  for (let place = 0; place < rest.length; place++) {
    const word = rest[place] ?? "";
    if (!/^--?[a-z]/i.test(word)) {
      given.push(word);
      continue;
    }
    const [flag] = word.split("=");
    const all = [...command.options, ...program.options];
    const option = all.find(({ long, short }) => long === flag || short === flag);
    if (option === undefined && !/^--(?:help|version)$/.test(flag ?? "")) problems.push(`no flag ${flag}`);
    if (option?.required === true && !word.includes("=")) place++;
  }
  const { registeredArguments } = command;
  const isVariadic = registeredArguments.some(({ variadic }) => variadic);
  if (command.commands.length > 0 && registeredArguments.length === 0 && given.length > 0) {
    problems.push(`no command ${given[0]}`);
  } else if (given.length > registeredArguments.length && !isVariadic) problems.push("too many arguments");
  return problems;
}
