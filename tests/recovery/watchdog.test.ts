/** A blocked event loop, in real processes: the watchdog's thread names what blocks it, and ends the process at its limit. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { HeddleClient } from "../../src/client.ts";
import { begin, type Running } from "../cli/program.ts";
import { Process } from "./process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

interface Line {
  readonly kind?: string;
  readonly instanceId?: string;
  readonly workflowName?: string;
  readonly step?: string | number;
  readonly level: string | number;
  readonly message?: string;
  readonly msg?: string;
  readonly stalledMs: number;
}

function linesOf(stderr: string): Line[] {
  return stderr
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Line);
}

/** The line about the stall that the scene makes, once it is there: a slow machine may have stalls of its own before. */
async function stallOf(child: Process): Promise<Line> {
  for (;;) {
    const line = linesOf(child.stderr).find(({ instanceId }) => instanceId !== undefined);
    if (line !== undefined) return line;
    ok(child.isAlive, `it ended without a line about a stall:\n${child.stderr}`);
    await sleep(20);
  }
}

describe("an engine with a watchdog names what blocks its event loop while it is blocked", () => {
  const scenes = [
    ["code-start", { kind: "code", workflowName: "coded", step: 0 }, '"code"'],
    ["code-timer", { kind: "code", workflowName: "coded", step: 2 }, '"code"'],
    ["job-call", { kind: "job", workflowName: "graph", step: "crunch" }, '{"crunch":"job"}'],
    ["job-await", { kind: "job", workflowName: "graph", step: "crunch" }, '{"crunch":"job"}'],
  ] as const;
  for (const [scene, culprit, result] of scenes) {
    test(scene, { timeout: 120_000 }, async (t) => {
      const folder = temporaryFolder(t);
      const file = join(folder, "go-on");
      const child = new Process("./watchdog-child.ts", [
        join(folder, "heddle.db"),
        scene,
        file,
        '{"warnAfterMs":1000}',
      ]);
      try {
        equal(await child.line(), "up");
        const { level, stalledMs, kind, instanceId, workflowName, step } = await stallOf(child);
        deepEqual({ level, stalledMs, instanceId }, { level: "warn", stalledMs: 1000, instanceId: "culprit" });
        deepEqual({ kind, workflowName, step }, culprit);
        writeFileSync(file, "");
        equal(await child.line(), result);
        equal((await child.exit).code, 0);
        const messages = linesOf(child.stderr).map(({ message }) => message);
        deepEqual(messages.slice(-2), ["the event loop is blocked", "the event loop runs again"]);
      } finally {
        await child.kill();
      }
    });
  }
});

test("a process that was stopped, as on a suspended machine, is not ended", { timeout: 120_000 }, async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "go-on");
  const child = new Process("./watchdog-child.ts", [join(folder, "heddle.db"), "idle", file, '{"endAfterMs":3000}']);
  try {
    equal(await child.line(), "up");
    // The thread has to be there.
    await sleep(1500);
    child.signal("SIGSTOP");
    await sleep(5000);
    child.signal("SIGCONT");
    await sleep(500);
    writeFileSync(file, "");
    deepEqual(await child.exit, { code: 0, signal: null });
  } finally {
    await child.kill();
  }
});

const app = `import { defineJob, defineWorkflow } from ${JSON.stringify(join(import.meta.dirname, "../../src/index.ts"))};
  export const echo = defineJob("echo", (text) => text);
  export const poison = defineWorkflow("poison", async (ctx) => {
    await ctx.run(echo, "a");
    for (;;);
  });
  export const good = defineWorkflow("good", async (ctx) => {
    await ctx.sleep(3000);
    return await ctx.run(echo, "good");
  });`;

describe("heddle server", () => {
  /** Once before anybody records it, and then as often as is allowed and once more; and some, for a slow machine. */
  const livesMax = 1 + 1 + 1 + 4;

  test("ends when its event loop stays blocked, until the instance is quarantined", { timeout: 240_000 }, async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, "app.ts"), app);
    const args = ["server", "--port", "0", "--app", "app.ts", "--watchdog-seconds", "3", "--max-interruptions", "1"];
    let life = await startServer();
    await life.client.start("good", undefined, { instanceId: "good" });
    // The process may be blocked before it answers.
    const started = life.client.start("poison", undefined, { instanceId: "poison" }).catch(() => undefined);
    let lives = 1;
    for (; lives < livesMax; lives++) {
      if (await isQuarantined(life)) break;
      checkDeath(life.running, (await life.running.ended).stderr);
      life = await startServer();
    }
    ok(lives < livesMax, "it was not quarantined");
    ok(lives > 3, `it was quarantined in life ${lives}`);
    equal(await life.client.result("good"), "good");
    await started;

    async function startServer(): Promise<{ client: HeddleClient; running: Running }> {
      const running = begin(t, args, { cwd: folder });
      const [, url = ""] = await running.says(/"url":"([^"]+)".*the server is ready/);
      return { client: new HeddleClient({ url }), running };
    }
  });

  /** False if it has ended. */
  async function isQuarantined({ client, running }: { client: HeddleClient; running: Running }): Promise<boolean> {
    const ended = running.ended.then(() => false);
    const quarantined = (async () => {
      while (running.child.signalCode === null) {
        const asked = client.call("getInstance", { params: { id: "poison" } });
        const problem = await asked.then(
          () => "",
          (error: unknown) => String(error),
        );
        if (problem.includes("its code ended or blocked the process")) return true;
        await sleep(50);
      }
      return false;
    })();
    return await Promise.race([ended, quarantined]);
  }

  function checkDeath({ child }: Running, stderr: string): void {
    equal(child.signalCode, "SIGKILL");
    const lines = linesOf(stderr).slice(-2);
    deepEqual(
      lines.map(({ level, msg, stalledMs }) => [level, msg, stalledMs]),
      [
        [40, "the event loop is blocked", 2000],
        [50, "the event loop has been blocked for too long: the process is ended", 3000],
      ],
    );
    // Also where both instances are replayed side by side after a restart.
    for (const { kind, instanceId, workflowName } of lines)
      deepEqual([kind, instanceId, workflowName], ["code", "poison", "poison"], stderr);
  }
});
