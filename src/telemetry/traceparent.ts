import { type Context, ROOT_CONTEXT, trace, TraceFlags } from "@opentelemetry/api";

/** The W3C `traceparent` header: version, trace id, span id, flags. Later versions may append fields. */
const header = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The remote parent context of a `traceparent`. */
export function contextOf(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = header.exec(traceparent ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

export function traceIdOf(traceparent: string | undefined): string | undefined {
  return header.exec(traceparent ?? "")?.[1];
}
