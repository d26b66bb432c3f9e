import {
  type Attributes,
  type Context,
  isSpanContextValid,
  type Span,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";

/** The span of one instance, and those of its attempts, timers and children, by a key that the events give too. */
export class InstanceTrace {
  readonly #tracer: Tracer;
  readonly #span: Span;
  /** The parent context of its spans. */
  readonly #context: Context;
  readonly #parts = new Map<string, Part>();
  readonly #children = new Map<string, Part>();

  constructor({ tracer, context, start }: { tracer: Tracer; context: Context; start: SpanStart }) {
    this.#tracer = tracer;
    this.#span = tracer.startSpan(start.name, start, context);
    this.#context = trace.setSpan(context, this.#span);
  }

  /** False without a tracing SDK. */
  get isTraced(): boolean {
    return isSpanContextValid(this.#span.spanContext());
  }

  get traceId(): string {
    return this.#span.spanContext().traceId;
  }

  /** The parent context of a child instance: the span of the task that waits for it, if there is one. */
  contextOf(childId: string): Context {
    const part = this.#children.get(childId);
    return part === undefined ? this.#context : trace.setSpan(this.#context, part.span);
  }

  setAttributes(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  /** Begins a span, and returns the context to run in. Idempotent, because a start is reported by the dispatcher and by the history. */
  begin(key: string, start: SpanStart, childId?: string): Context {
    let part = this.#parts.get(key);
    if (part === undefined) {
      part = { span: this.#tracer.startSpan(start.name, start, this.#context), childId, settledAt: undefined };
      this.#parts.set(key, part);
      if (childId !== undefined) this.#children.set(childId, part);
    }
    return trace.setSpan(this.#context, part.span);
  }

  /** Notes the end of the work. The span stays open until the outcome is durable. */
  settle(key: string, at: number): void {
    const part = this.#parts.get(key);
    if (part !== undefined) part.settledAt ??= at;
  }

  end(key: string, { at, problem }: SpanEnd): void {
    const part = this.#parts.get(key);
    if (part === undefined) return;
    this.#parts.delete(key);
    if (part.childId !== undefined) this.#children.delete(part.childId);
    endSpan(part.span, { at: part.settledAt ?? at, problem });
  }

  endParts(end: SpanEnd): void {
    for (const key of this.#parts.keys()) this.end(key, end);
  }

  endAll(end: SpanEnd): void {
    this.endParts({ at: end.at });
    endSpan(this.#span, end);
  }
}

export interface SpanStart {
  readonly name: string;
  readonly startTime: number;
  readonly attributes: Attributes;
}

export interface SpanEnd {
  readonly at: number;
  /** The error message of the span. */
  readonly problem?: string | undefined;
}

interface Part {
  readonly span: Span;
  readonly childId: string | undefined;
  settledAt: number | undefined;
}

export function endSpan(span: Span, { at, problem }: SpanEnd): void {
  if (problem !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: problem });
  span.end(at);
}
