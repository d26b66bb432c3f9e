import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Account } from "./account.ts";

const startMs = 60_000;
const stopMs = 30_000;

/** How to start one kind of server, and to see whether it serves. */
export interface ServerKind {
  readonly name: string;
  readonly program: string;
  /** Servers refuse to run as root. */
  readonly account: Account;
  readonly args: (place: Place) => string[];
  /** The signal that ends it in good order, without waiting for its clients. */
  readonly stopSignal: NodeJS.Signals;
  /** Throws while it does not serve yet. */
  readonly probe: (place: Place) => Promise<void>;
}

export interface Place {
  /** Of the server's own: data, socket and log. */
  readonly folder: string;
  readonly port: number;
}

/** A server with its own port and its own temporary folder, which go with it. It can be killed, frozen and started again. */
export class ServerProcess {
  readonly place: Place;
  readonly #kind: ServerKind;
  #child: ChildProcess | undefined;

  constructor(kind: ServerKind, place: Place) {
    this.#kind = kind;
    this.place = place;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`${this.#kind.name} is not running`);
    return pid;
  }

  async start(): Promise<void> {
    const { name, program, account, args, probe } = this.#kind;
    const log = openSync(this.#log, "a");
    const child = spawn(program, args(this.place), { ...account, cwd: this.place.folder, stdio: ["ignore", log, log] });
    closeSync(log);
    this.#child = child;
    let failure: unknown;
    child.once("error", (error) => (failure = error));
    for (const end = performance.now() + startMs; performance.now() < end;) {
      if (failure !== undefined || child.exitCode !== null || child.signalCode !== null) break;
      try {
        return await probe(this.place);
      } catch (error) {
        failure = child.exitCode === null ? undefined : error;
        await new Promise<void>((resolve) => setTimeout(resolve, 50));
      }
    }
    await this.kill();
    throw new Error(`${name} does not start:\n${readFileSync(this.#log, "utf8").slice(-4000)}`, { cause: failure });
  }

  /** In good order; killed if that takes long. */
  async stop(): Promise<void> {
    const kill = setTimeout(() => this.#signal("SIGKILL"), stopMs);
    this.#signal("SIGCONT");
    await this.#end(this.#kind.stopSignal);
    clearTimeout(kill);
  }

  /** As if the machine had lost its process. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  remove(): void {
    rmSync(this.place.folder, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  #signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  get #log(): string {
    return join(this.place.folder, "server.log");
  }
}

export async function newPlace(name: string, account: Account): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), `heddle-${name}-`));
  if (account.uid !== undefined && account.gid !== undefined) chownSync(folder, account.uid, account.gid);
  return { folder, port: await freePort() };
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return address.port;
}
