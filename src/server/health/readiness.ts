import type { Engine } from "../../engine/engine.ts";
import type { Health } from "../../engine/health.ts";
import type { StoreHealth } from "./store-health.ts";

export interface ReadinessView {
  readonly isReady: boolean;
  /** The reason why the server is not ready. */
  readonly reason: string | null;
}

const reasons: Readonly<Record<Exclude<Health["status"], "up">, string>> = {
  new: "the engine has not started yet",
  degraded: "the store does not accept writes",
  draining: "the server is draining: it finishes running tasks and starts no new ones",
  stopped: "the engine was stopped",
};

/** The server's readiness for new work. */
export class Readiness {
  readonly #engine: Pick<Engine, "health">;
  readonly #store: Pick<StoreHealth, "problem">;
  #stage: "starting" | "up" | "stopping" = "starting";

  constructor(engine: Pick<Engine, "health">, store: Pick<StoreHealth, "problem">) {
    this.#engine = engine;
    this.#store = store;
  }

  /** True until the server has started: its tokens may not be read yet, so nobody can be recognised. */
  get isStarting(): boolean {
    return this.#stage === "starting";
  }

  becomeUp(): void {
    this.#stage = "up";
  }

  becomeStopping(): void {
    this.#stage = "stopping";
  }

  view(): ReadinessView {
    const reason = this.#reason();
    return { isReady: reason === null, reason };
  }

  #reason(): string | null {
    if (this.#stage === "starting") return "the server is starting";
    if (this.#stage === "stopping") return "the server is stopping";
    const { status, problem } = this.#engine.health;
    if (status !== "up") return problem ?? reasons[status];
    return this.#store.problem ?? null;
  }
}
