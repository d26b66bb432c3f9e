/** Spec §4.5 for jobs and the code of workflows in one process: neither is punished for what the other does. */
import { deepEqual, ok } from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Process } from "./process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** For each that kills: once before anybody records it, and then as often as is allowed and once more. */
const deathsPerKiller = 1 + 3 + 1;

async function live(args: readonly (string | number)[]): Promise<{ lines: string[]; code: number | null }> {
  const child = new Process("./poison-mix-child.ts", args);
  const lines: string[] = [];
  try {
    for (let line = await child.line(); line !== undefined; line = await child.line()) lines.push(line);
  } finally {
    await child.kill();
  }
  ok(!child.stderr.includes("EngineError:"), child.stderr);
  return { lines, code: (await child.exit).code };
}

describe(
  "those that kill their process are found out, and innocents of the other kind are not",
  { concurrency: 2 },
  () => {
    const scenes = [
      { name: "a job beside code", jobs: 1, codes: 0 },
      { name: "code beside jobs", jobs: 0, codes: 1 },
      { name: "a job and code", jobs: 1, codes: 1 },
    ];
    for (const { name, jobs, codes } of scenes) {
      test(name, { timeout: 300_000 }, async (t) => {
        const folder = temporaryFolder(t);
        const file = join(folder, "heddle.db");
        let life = await live([file, jobs, codes]);
        for (let lives = 1; life.code !== 0; lives++) {
          ok(lives <= deathsPerKiller * (jobs + codes), `it died ${lives} times`);
          life = await live([file, jobs, codes]);
        }
        deepEqual(life.lines, [
          ...Array.from({ length: jobs }, (_, i) => `exit-${i}: Failed TASK_LOST`),
          ...Array.from({ length: codes }, (_, i) => `poison-${i}: CrashLoop`),
          ...(codes === 0 ? [] : ["job-0: Success", "job-1: Success"]),
          ...Array.from({ length: 6 }, (_, i) => `patient-${i}: Success`),
        ]);
      });
    }
  },
);
