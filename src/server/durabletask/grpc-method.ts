import type { Role } from "../../api/route.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Given, Message } from "../../durabletask/message.ts";
import type { Caller } from "../request/caller.ts";
import type { TaskHub } from "./task-hub.ts";

/** An authorized call. */
export interface HubCall {
  readonly hub: TaskHub;
  readonly caller: Caller;
  /** Aborted when the client gives up, and when the server stops. */
  readonly signal: AbortSignal;
}

/** A call with one answer. */
export interface UnaryMethod {
  /** Reads have no entry in the audit log. Waits have no deadline but the client's. */
  readonly kind: "read" | "change" | "wait";
  readonly role: Role;
  /** `target` is the id of the instance that the request is about, for the audit log. */
  readonly handle: (
    bytes: Buffer,
    call: HubCall,
  ) => Promise<{ readonly answer: Buffer; readonly target: string | null }>;
}

export interface UnaryOptions<Request, Response> {
  readonly kind: UnaryMethod["kind"];
  readonly role: Role;
  readonly request: Message<Request>;
  readonly response: Message<Response>;
  readonly run: (request: Request, call: HubCall) => Promise<Given<Response>>;
}

/** A method by the tables of its messages. */
export function unary<Request extends object, Response>(options: UnaryOptions<Request, Response>): UnaryMethod {
  const { kind, role, request, response, run } = options;
  return {
    kind,
    role,
    handle: async (bytes, call) => {
      const asked = request.decode(bytes);
      const answer = await run(asked, call);
      return { answer: response.encode(answer), target: targetOf(asked) ?? targetOf(answer) };
    },
  };
}

function targetOf(message: unknown): string | null {
  const { instanceId } = message as { readonly instanceId?: unknown };
  return typeof instanceId === "string" && instanceId !== "" ? instanceId : null;
}

/** A call with a stream of answers. */
export interface StreamMethod {
  readonly role: Role;
  /** Reads have no entry in the audit log. */
  readonly isChange: boolean;
  /** Opens the stream, which sends until it is closed. */
  readonly open: (bytes: Buffer, call: StreamCall) => { close(): void };
}

export interface StreamCall {
  readonly hub: TaskHub;
  readonly caller: Caller;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Metadata of the call. */
  readonly header: (name: string) => string | undefined;
  readonly send: (bytes: Buffer) => void;
  /** Ends the stream from this side. */
  readonly end: () => void;
  /** Ends the stream with the status of an error. */
  readonly fail: (error: unknown) => void;
}
