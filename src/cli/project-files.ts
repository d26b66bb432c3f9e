const app = `import { defineJob, defineWorkflow, TaskBuilder, WorkflowBuilder } from "heddle";

/** A job is a function with a name. What it returns is kept; what it throws is its failure. */
export const greet = defineJob("greet", (params: { name: string }, ctx) => {
  ctx.log.info({ name: params.name }, "greeting");
  return { greeting: \`Hello, \${params.name}!\` };
});

export const shout = defineJob("shout", (_params: undefined, ctx) => {
  const { greeting } = ctx.outputs["greet"] as { greeting: string };
  return { shouted: greeting.toUpperCase() };
});

/** A DAG: tasks, and which of them wait for which. */
export const hello = new WorkflowBuilder()
  .withName("hello")
  .withTask(new TaskBuilder("greet").withJobFunction(greet, { name: "world" }).withRetryCount(3))
  .withTask(new TaskBuilder("shout").withJobFunction(shout, undefined).withDependency("greet"))
  .build();

/** A code workflow: an async function that goes on where it was after a crash. */
export const welcome = defineWorkflow("welcome", async (ctx, input: { name?: string } | undefined) => {
  const { greeting } = await ctx.run(greet, { name: input?.name ?? "friend" });
  await ctx.sleep(1000);
  return \`\${greeting} Good to have you here.\`;
});
`;

const test = `import assert from "node:assert/strict";
import { test } from "node:test";
import { testEngine } from "heddle/testing";
import { greet, hello, shout, welcome } from "./app.ts";

test("hello greets loudly", async () => {
  await using t = await testEngine({ jobs: [greet, shout] });
  const run = await t.engine.submitWorkflow(hello);
  const outputs = await t.clock.until(run.result());
  assert.deepEqual(outputs["shout"], { shouted: "HELLO, WORLD!" });
});

test("welcome waits a second, which a test does not have to", async () => {
  await using t = await testEngine({ jobs: [greet], workflows: [welcome] });
  const run = await t.engine.startWorkflow(welcome, { name: "Ada" });
  assert.equal(await t.clock.until(run.result()), "Hello, Ada! Good to have you here.");
});
`;

function readme(name: string): string {
  return `# ${name}

Workflows that survive crashes, run by Heddle. Node.js 24 or newer runs the sources as they are.

| command | what it does |
|---|---|
| \`npm start\` | a server with these workflows on http://127.0.0.1:7411; its data are in \`.heddle/\` |
| \`npx heddle run hello\` | starts the DAG \`hello\` and shows its progress |
| \`npx heddle run welcome --input '{"name":"Ada"}'\` | starts the code workflow \`welcome\` |
| \`npx heddle list\` | what has run |
| \`npm test\` | the tests, on a clock that skips the waiting |
| \`npm run check\` | the types |

Everything is in \`app.ts\`. Change it, and start the server again; \`npm run dev\` does that by itself.
`;
}

function packageJson(name: string): string {
  const content = {
    name,
    private: true,
    type: "module",
    scripts: {
      start: "heddle dev app.ts",
      dev: "heddle dev --watch app.ts",
      // An older Node does not find tests in TypeScript, and would be content with none.
      pretest: "heddle --version",
      test: "node --test",
      check: "tsc",
    },
    dependencies: { heddle: "*" },
    devDependencies: { "@types/node": "^24.0.0", typescript: ">=5.9.0" },
    engines: { node: ">=24" },
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** Node runs TypeScript by leaving the types out, so only what disappears without a trace is allowed. */
const tsconfig = {
  compilerOptions: {
    target: "es2024",
    module: "nodenext",
    types: ["node"],
    strict: true,
    noUncheckedIndexedAccess: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ["*.ts"],
};

/** Files written by `heddle init`, by name. */
export function projectFiles(name: string): Readonly<Record<string, string>> {
  return {
    "package.json": packageJson(name),
    "tsconfig.json": `${JSON.stringify(tsconfig, null, 2)}\n`,
    "app.ts": app,
    "app.test.ts": test,
    "README.md": readme(name),
    ".gitignore": "node_modules/\n.heddle/\n",
    ".dockerignore": "node_modules/\n.heddle/\n.git/\n",
  };
}
