/** Spec §4.5 for the code of workflows: what ends or blocks its process is quarantined, and its neighbours are not. */
import { equal, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { defineJob, defineWorkflow, Engine } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { Process } from "./process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Once before anybody records it, and then as often as is allowed and once more. */
const deathsMax = 1 + 3 + 1;
const silenceMs = 3000;

interface Life {
  readonly lines: readonly string[];
  readonly code: number | null;
}

/** Plays one life; a process that falls silent is killed. */
async function live(file: string, how: string, where: string): Promise<Life> {
  const child = new Process("./poison-code-child.ts", [file, how, where]);
  const lines: string[] = [];
  let silence: NodeJS.Timeout | undefined;
  try {
    for (;;) {
      // A slow machine may take long to start a process.
      const isUp = lines.includes("submitted");
      silence = setTimeout(() => void child.kill(), isUp ? silenceMs : 10 * silenceMs);
      const line = await child.line();
      clearTimeout(silence);
      if (line === undefined) break;
      if (line !== "beat") lines.push(line);
    }
  } finally {
    clearTimeout(silence);
    await child.kill();
  }
  const { code } = await child.exit;
  ok(!child.stderr.includes("EngineError:"), child.stderr);
  return { lines, code };
}

async function newFile(t: TestContext): Promise<string> {
  const folder = temporaryFolder(t);
  return join(folder, "heddle.db");
}

describe("code that ends or blocks its process is quarantined, and its neighbours go on", { concurrency: 2 }, () => {
  const scenes = [
    ["exit", "timer"],
    ["exit", "activity"],
    ["exit", "first"],
    ["spin", "timer"],
    ["microtasks", "timer"],
  ] as const;
  for (const [how, where] of scenes) {
    test(`${how} after ${where}`, { timeout: 240_000 }, async (t) => {
      const file = await newFile(t);
      let lives = 0;
      for (;;) {
        const life = await live(file, how, where);
        lives++;
        if (life.code === 0) {
          const last = life.lines.at(-1) ?? "";
          match(last, /quarantined: .*its code ended or blocked the process 4 times at step \d/);
          break;
        }
        ok(lives <= deathsMax + 1, `it died ${lives} times`);
      }
      equal(lives, deathsMax + 1);
    });
  }
});

test("an instance that was resumed with better code goes on where it was", { timeout: 240_000 }, async (t) => {
  const file = await newFile(t);
  while ((await live(file, "exit", "timer")).code !== 0);
  const echo = defineJob("echo", (text: string) => text);
  const poison = defineWorkflow("poison", async (ctx) => {
    await ctx.run(echo, "a");
    await ctx.sleep(100);
    return "better";
  });
  const engine = new Engine({ storage: sqlite(file), jobs: [echo], workflows: [poison] });
  await engine.start();
  t.after(() => engine.stop());
  await engine.resumeWorkflowInstance("poison");
  equal(await engine.awaitWorkflowInstance("poison"), "better");
});
