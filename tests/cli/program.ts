/** The real program, as a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

export const root = join(import.meta.dirname, "../..");
export const cliFile = join(root, "src/cli.ts");

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Surroundings {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** Its variables and no others of ours, nor those by which npm tells a program that it started it. */
function environment(env: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(?:HEDDLE_|npm_|NODE_OPTIONS$)/.test(name));
  return { ...Object.fromEntries(kept), NO_COLOR: "1", ...env };
}

function start(args: readonly string[], { cwd, env }: Surroundings): ChildProcess {
  return spawn(process.execPath, [cliFile, ...args], { cwd: cwd ?? tmpdir(), env: environment(env) });
}

/** Runs it to its end. */
export async function heddle(args: readonly string[], surroundings: Surroundings = {}): Promise<Ended> {
  const running = new Running(start(args, surroundings));
  running.child.stdin?.end(surroundings.input ?? "");
  return await running.ended;
}

/** Starts it; it is killed at the end of the test if it is still there. */
export function begin(t: TestContext, args: readonly string[], surroundings: Surroundings = {}): Running {
  const running = new Running(start(args, surroundings));
  t.after(async () => {
    if (running.child.exitCode !== null || running.child.signalCode !== null) return;
    running.child.kill("SIGKILL");
    await running.ended;
  });
  return running;
}

export class Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout = "";
  stderr = "";

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.ended = once(child, "close").then(([code]) => ({
      code: code as number | null,
      stdout: this.stdout,
      stderr: this.stderr,
    }));
  }

  /** Resolves with what was said once it matches. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    return await this.#hear("stdout", pattern);
  }

  /** The same of standard error. */
  async complains(pattern: RegExp): Promise<RegExpExecArray> {
    return await this.#hear("stderr", pattern);
  }

  async #hear(stream: "stdout" | "stderr", pattern: RegExp): Promise<RegExpExecArray> {
    let hasEnded = false;
    void this.ended.then(() => (hasEnded = true));
    for (;;) {
      const found = pattern.exec(this[stream]);
      if (found !== null) return found;
      if (hasEnded) throw new Error(`it ended without saying ${String(pattern)}:\n${this.stdout}\n${this.stderr}`);
      await Promise.race([once(this.child[stream]!, "data"), this.ended]);
    }
  }
}

export interface DevServer {
  readonly url: string;
  readonly running: Running;
}

/** `heddle dev` on a port of its own. */
export async function devServer(
  t: TestContext,
  folder: string,
  options: { args?: readonly string[]; env?: Readonly<Record<string, string>>; port?: number } = {},
): Promise<DevServer> {
  const args = ["dev", "--json", "--port", String(options.port ?? 0), ...(options.args ?? [])];
  const running = begin(t, args, { cwd: folder, ...(options.env && { env: options.env }) });
  const [text] = await running.says(/^\{[^]*?^\}/m);
  return { url: (JSON.parse(text) as { url: string }).url, running };
}
