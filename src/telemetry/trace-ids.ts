import { createHash } from "node:crypto";
import type { LogFields, Logger } from "../base/logger.ts";
import { defaultNamespace, qualify } from "../base/namespace.ts";
import { traceIdOf } from "./traceparent.ts";

const rememberedMax = 10_000;

/**
 * The trace id of every instance, by its qualified id. Without a tracing SDK it is the one of the `traceparent` that the instance was started
 * with, or else derived from the instance's id, so that all members and all restarts write the same one.
 */
export class TraceIds {
  readonly #remembered = new Map<string, string>();

  of(instanceId: string): string {
    const known = this.#remembered.get(instanceId);
    if (known !== undefined) return known;
    const traceId = deriveTraceId(instanceId);
    this.remember(instanceId, traceId);
    return traceId;
  }

  /** Trace ids from `traceparent`s of instances without a span in this process. */

  observe(change: { namespace: string; instanceId: string; traceparent?: string | undefined }): void {
    const { traceparent } = change;
    const instanceId = qualify(change.namespace, change.instanceId);
    if (traceparent === undefined || this.#remembered.has(instanceId)) return;
    const given = traceIdOf(traceparent);
    if (given !== undefined) this.remember(instanceId, given);
  }

  /** Wraps a logger: adds the trace id to every line with an instance id and no trace id. */
  addTo(logger: Logger): Logger {
    const complete = (fields: LogFields): LogFields => {
      const { instanceId, namespace = defaultNamespace } = fields;
      if (typeof instanceId !== "string" || typeof namespace !== "string" || fields["traceId"] !== undefined)
        return fields;
      return { ...fields, traceId: this.of(qualify(namespace, instanceId)) };
    };
    return {
      debug: (fields, message) => logger.debug(complete(fields), message),
      info: (fields, message) => logger.info(complete(fields), message),
      warn: (fields, message) => logger.warn(complete(fields), message),
      error: (fields, message) => logger.error(complete(fields), message),
    };
  }

  remember(instanceId: string, traceId: string): void {
    if (this.#remembered.size >= rememberedMax) {
      const [oldest] = this.#remembered.keys();
      if (oldest !== undefined) this.#remembered.delete(oldest);
    }
    this.#remembered.set(instanceId, traceId);
  }
}

function deriveTraceId(instanceId: string): string {
  return createHash("sha256").update(instanceId).digest("hex").slice(0, 32);
}
