import type { DataOf } from "../../api/routes.ts";
import { EngineError, hasCode } from "../../base/error.ts";
import { hasEnded } from "../../kernel/status.ts";
import type { RouteParts } from "./route-parts.ts";

type Result = DataOf<"getResult">;

/** Waits for the ends of instances, with one wait in the engine per instance for all requests. */
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

  /** Waits for the end, the time limit, or the stop of the server. */
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
      // The outcome is read afterwards.
      .catch((error: unknown) => (error instanceof EngineError ? undefined : Promise.reject(error)))
      .finally(() => this.#awaited.delete(instanceId));
    this.#awaited.set(instanceId, end);
    return end;
  }
}
