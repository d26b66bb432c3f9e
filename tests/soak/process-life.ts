import { type ChildProcess, fork } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "../../src/engine/engine.ts";
import type { Proxy } from "../databases/proxy.ts";
import { Life, type LifeParts, Machine } from "../sim/machine.ts";
import type { MemberOptions } from "./member-options.ts";
import { type NumberOf, remoteEngine } from "./remote-engine.ts";
import { errorOf, type Reply } from "./wire-format.ts";

/** A place for a member's processes, one after the other, with a network of its own to the database server. */
export class Host extends Machine<ProcessLife> {
  readonly proxy: Proxy;

  constructor(name: string, proxy: Proxy) {
    super(name);
    this.proxy = proxy;
  }
}

export interface ProcessLifeParts extends Omit<LifeParts, "role" | "machine"> {
  readonly machine: Host;
  /** Where its journal and what it says on standard error are kept. */
  readonly folder: string;
  readonly options: Omit<MemberOptions, "life" | "machine" | "journalFile" | "url">;
  readonly numberOf: NumberOf;
}

interface Waiter {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A member in a process of its own, as the process that drives it sees it. */
export class ProcessLife extends Life {
  readonly engine: Engine;
  readonly journalFile: string;
  readonly #parts: ProcessLifeParts;
  readonly #waiters = new Map<Reply["about"], Waiter>();
  readonly #exited: Promise<void>;
  readonly #exit: () => void;
  #child: ChildProcess | undefined;
  #questions = 0;

  constructor(parts: ProcessLifeParts) {
    super({ ...parts, role: "member" });
    this.#parts = parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#exited = promise;
    this.#exit = resolve;
    this.journalFile = join(parts.folder, `life-${this.number}.jsonl`);
    this.engine = remoteEngine((method, ...args) => this.#ask(method, args), parts.numberOf);
  }

  override async start(): Promise<void> {
    const { machine, folder, options } = this.#parts;
    const told: MemberOptions = {
      ...options,
      url: machine.proxy.url,
      journalFile: this.journalFile,
      life: this.number,
      machine: machine.name,
    };
    const stderr = openSync(join(folder, `life-${this.number}.stderr`), "a");
    const program = join(import.meta.dirname, "member.ts");
    const child = fork(program, [JSON.stringify(told)], {
      execArgv: ["--disable-warning=ExperimentalWarning"],
      serialization: "advanced",
      stdio: ["ignore", stderr, stderr, "ipc"],
    });
    closeSync(stderr);
    this.#child = child;
    child.on("message", (reply) => this.#hear(reply as Reply));
    child.once("exit", (code, signal) => this.#onExit(code ?? signal ?? "nothing"));
    await this.#wait("start");
  }

  /** Nothing may keep it from ending once its engine has stopped. */
  override async stop(): Promise<void> {
    await this.#ask("stop", []);
    this.#child?.disconnect();
    await this.#exited;
  }

  override crash(why: string): void {
    this.#child?.kill("SIGKILL");
    super.crash(why);
  }

  /** A process that has nothing more to say goes by itself; one that could not start, or hangs, is ended. */
  override finish(how: "stopped" | "gave up", why: string): void {
    if (how === "gave up") this.#child?.kill("SIGKILL");
    super.finish(how, why);
  }

  override freeze(): void {
    this.#child?.kill("SIGSTOP");
    super.freeze("stopped");
  }

  override thaw(): void {
    super.thaw();
    this.#child?.kill("SIGCONT");
  }

  #ask(method: string, args: readonly unknown[]): Promise<unknown> {
    const id = ++this.#questions;
    // Nobody answers for the dead; whoever asks hears of the death.
    this.#child?.send({ id, method, args }, () => undefined);
    return this.#wait(id);
  }

  #wait(about: Reply["about"]): Promise<unknown> {
    return new Promise((resolve, reject) => this.#waiters.set(about, { resolve, reject }));
  }

  #hear(reply: Reply): void {
    const waiter = this.#waiters.get(reply.about);
    this.#waiters.delete(reply.about);
    if (reply.problem !== undefined) waiter?.reject(errorOf(reply.problem));
    else waiter?.resolve("value" in reply ? reply.value : undefined);
  }

  #onExit(how: number | string): void {
    this.#exit();
    if (this.isDead || (how === 0 && this.record.stopping !== undefined)) return;
    this.#parts.recorder.recordProblem(`the process of ${this.machine} ended by itself in life ${this.number}: ${how}`);
    this.crash("by itself");
  }
}
