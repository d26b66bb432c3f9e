import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Dice } from "./dice.ts";
import { Process } from "./process.ts";

export interface ChaosOptions {
  /** Where database and log are; the same folder goes on where an earlier run stopped. */
  readonly folder: string;
  readonly seed: number;
  readonly instances: number;
  readonly submitEveryMs: number;
  /** Asked before each life: whether this one, too, is to be killed. Otherwise it is left to finish. */
  isKillWanted(life: number): boolean;
  onKill?(kill: Kill): void;
}

export interface Kill {
  readonly life: number;
  /** Before the engine said that it is up. */
  readonly atStartUp: boolean;
  readonly aliveMs: number;
}

export interface Chaos {
  readonly kills: readonly Kill[];
  readonly databaseFile: string;
  readonly logFile: string;
  /** What all lives together wrote to standard error: the engine's warnings and errors. */
  readonly stderr: string;
}

/** Runs the child, kills it at random moments, and runs it again, until it is left to finish. */
export async function runChaos(options: ChaosOptions): Promise<Chaos> {
  const { folder, seed, instances, submitEveryMs } = options;
  const dice = new Dice(seed, 0xdead);
  const [databaseFile, logFile] = [join(folder, "heddle.db"), join(folder, "side-effects.log")];
  const kills: Kill[] = [];
  let stderr = "";
  for (let life = 1; ; life++) {
    const child = new Process("./child.ts", [databaseFile, logFile, life, seed, instances, submitEveryMs]);
    try {
      if (!options.isKillWanted(life)) {
        const { code, signal } = await child.exit;
        if (code !== 0) throw new Error(`life ${life} ended with ${code ?? signal}:\n${child.stderr}`);
        return { kills, databaseFile, logFile, stderr: stderr + child.stderr };
      }
      const kill = await killAtRandom(child, dice, life);
      kills.push(kill);
      options.onKill?.(kill);
    } finally {
      await child.kill();
      stderr += child.stderr;
    }
  }
}

/** Some kills come while the process starts, some soon after it is up, some after it has worked for a while. */
async function killAtRandom(child: Process, dice: Dice, life: number): Promise<Kill> {
  const bornAt = performance.now();
  const kind = dice.next();
  let isUp = false;
  const up = child.line().then((line) => (isUp = line === "up"));
  if (kind < 0.35) await sleep(dice.between(20, 400));
  else {
    await up;
    await sleep(kind < 0.75 ? dice.between(0, 300) : dice.between(300, 1800));
  }
  if (!child.isAlive) throw new Error(`life ${life} ended by itself before it could be killed:\n${child.stderr}`);
  const aliveMs = performance.now() - bornAt;
  const { signal } = await child.kill();
  if (signal !== "SIGKILL") throw new Error(`life ${life} ended by itself:\n${child.stderr}`);
  return { life, atStartUp: !isUp, aliveMs };
}
