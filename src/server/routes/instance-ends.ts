import type { DataOf } from "../../api/routes.ts";
import { EngineError, hasCode } from "../../base/error.ts";
import { hasEnded } from "../../kernel/status.ts";
import type { RouteParts } from "./route-parts.ts";

type Result = DataOf<"getResult">;

/** Who waits for the ends of instances. However many wait for one, and give up again, the engine is asked once. */
export class InstanceEnds {
  readonly #parts: Pick<RouteParts, "engine" | "clock" | "stopping">;
  readonly #awaited = new Map<string, Promise<unknown>>();

  constructor(parts: Pick<RouteParts, "engine" | "clock" | "stopping">) {
    this.#parts = parts;
  }

  async result(
    instanceId: string,
    query: { readonly waitMs: number; readonly task?: string | undefined },
  ): Promise<Result> {
    const { engine } = this.#parts;
    const { waitMs, task } = query;
    const { status, reason } = await engine.getWorkflowInstanceStatus(instanceId);
    if (!hasEnded(status) && waitMs > 0) {
      await this.#waitForEnd(instanceId, waitMs);
      return await this.result(instanceId, { ...query, waitMs: 0 });
    }
    if (task !== undefined) {
      const output = await engine.getTaskOutput(instanceId, task);
      return { hasEnded: hasEnded(status), status, reason: reason ?? null, output };
    }
    if (!hasEnded(status)) return { hasEnded: false, status, reason: reason ?? null, output: null };
    try {
      return { hasEnded: true, status, reason: reason ?? null, output: await engine.awaitWorkflowInstance(instanceId) };
    } catch (error) {
      if (!hasCode(error, "WORKFLOW_FAILED") && !hasCode(error, "WORKFLOW_TERMINATED")) throw error;
      return { hasEnded: true, status, reason: reason ?? null, output: null };
    }
  }

  /** Or until the time is over, or the server stops. */
  async #waitForEnd(instanceId: string, waitMs: number): Promise<void> {
    const { clock, stopping } = this.#parts;
    if (stopping.aborted) return;
    const over = Promise.withResolvers<void>();
    const timer = clock.after(waitMs, over.resolve);
    const stop = (): void => over.resolve();
    stopping.addEventListener("abort", stop);
    try {
      await Promise.race([over.promise, this.#end(instanceId)]);
    } finally {
      timer.cancel();
      stopping.removeEventListener("abort", stop);
    }
  }

  #end(instanceId: string): Promise<unknown> {
    const known = this.#awaited.get(instanceId);
    if (known !== undefined) return known;
    const end = this.#parts.engine
      .awaitWorkflowInstance(instanceId)
      // How it ended is asked for afterwards.
      .catch((error: unknown) => (error instanceof EngineError ? undefined : Promise.reject(error)))
      .finally(() => this.#awaited.delete(instanceId));
    this.#awaited.set(instanceId, end);
    return end;
  }
}
