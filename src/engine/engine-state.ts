import { hostname } from "node:os";
import { EngineError, hasCode, messageOf } from "../base/error.ts";

export type Stage = "new" | "starting" | "up" | "stopping" | "stopped";

const startRefusals: Readonly<Record<Exclude<Stage, "new">, string>> = {
  starting: "it is already starting",
  up: "it is already started",
  stopping: "it is being stopped; make a new Engine on the same storage once it has stopped",
  stopped: "it was stopped; make a new Engine on the same storage to go on",
};

const stopRefusals: Readonly<Record<Exclude<Stage, "up">, string>> = {
  new: "it has not been started",
  starting: "it is still starting",
  stopping: "it is already being stopped",
  stopped: "it was stopped already",
};

/** The stage of an engine's life, and why it takes no work; refuses what is called at the wrong time. */
export class EngineState {
  /** The name of an engine alone: it owns its one shard, and its workers know it by this. */
  readonly ownAddress = `${hostname()}:${process.pid}`;
  stage: Stage = "new";
  /** The reason why the store takes no writes; undefined while it does. */
  problem: unknown;
  readonly #fenced = Promise.withResolvers<EngineError>();
  /** Another engine has taken over, or the store went back. This never changes back. */
  #fencedBy: EngineError | undefined;

  get isUp(): boolean {
    return this.stage === "up";
  }

  /** The reason why no new work is taken. */
  get whyDegraded(): unknown {
    return this.#fencedBy ?? this.problem;
  }

  /** True if this engine does not own its data any more. */
  get isFenced(): boolean {
    return this.#fencedBy !== undefined;
  }

  get fenced(): Promise<EngineError> {
    return this.#fenced.promise;
  }

  onFenced(cause: unknown): void {
    const message = `another engine has taken over the database, and this one never takes work again; end this process (${messageOf(cause)})`;
    this.#fencedBy = new EngineError("ENGINE_FENCED", message, { cause });
    this.#fenced.resolve(this.#fencedBy);
  }

  /** The error with which the engine stops if the store went back to an earlier state. */
  get rolledBackBy(): EngineError | undefined {
    return hasCode(this.#fencedBy, "STORE_ROLLED_BACK") ? this.#fencedBy : undefined;
  }

  onRolledBack(error: EngineError): void {
    this.#fencedBy = error;
    this.#fenced.resolve(error);
  }

  beginStart(): void {
    if (this.stage !== "new")
      throw new EngineError("ENGINE_STATE", `the engine cannot be started: ${startRefusals[this.stage]}`);
    this.stage = "starting";
  }

  beginStop(): void {
    if (this.stage !== "up")
      throw new EngineError("ENGINE_STATE", `the engine cannot be stopped: ${stopRefusals[this.stage]}`);
    this.stage = "stopping";
  }

  refuseUnlessStarted(): void {
    if (this.stage !== "new" && this.stage !== "starting") return;
    throw new EngineError("ENGINE_STATE", "the engine has not been started: await engine.start() first");
  }

  refuseUnlessUp(): void {
    if (this.isUp) return;
    this.refuseUnlessStarted();
    throw new EngineError(
      "ENGINE_STATE",
      `the engine is ${this.stage}; a new Engine on the same storage goes on with its work`,
    );
  }

  /** Refuses new work unless the engine is up. `ENGINE_STATE`, `ENGINE_FENCED`, `STORE_ROLLED_BACK`, `STORE_GONE`, `STORE_UNAVAILABLE`. */
  refuseUnlessReady(): void {
    this.refuseUnlessUp();
    if (this.#fencedBy !== undefined) throw this.#fencedBy;
    if (this.problem === undefined) return;
    const code = hasCode(this.problem, "STORE_GONE") ? "STORE_GONE" : "STORE_UNAVAILABLE";
    const message = `the store does not take writes, so no new work is taken: ${messageOf(this.problem)}`;
    throw new EngineError(code, message, { cause: this.problem });
  }
}
