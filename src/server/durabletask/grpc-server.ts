import { randomUUID } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { EngineError, messageOf } from "../../base/error.ts";
import type { Logger } from "../../base/logger.ts";
import { empty, healthResponse } from "../../durabletask/client-messages.ts";
import type { Readiness } from "../health/readiness.ts";
import type { StoreHealth } from "../health/store-health.ts";
import type { Deadlines } from "../http/deadlines.ts";
import { HttpError } from "../request/http-error.ts";
import type { Caller } from "../request/caller.ts";
import type { Audit } from "../security/audit.ts";
import type { AuditEntry } from "../security/audit-entry.ts";
import type { Guard } from "../security/guard.ts";
import type { TlsFiles } from "../security/tls-files.ts";
import { clientMethods, clientStreams } from "./client-methods.ts";
import type { StreamMethod, UnaryMethod } from "./grpc-method.ts";
import {
  type GrpcCall,
  type GrpcHandler,
  type GrpcMethod,
  type GrpcModule,
  type GrpcRefusal,
  type GrpcServer as ServerOfModule,
  headersOf,
  textOf,
} from "./grpc-module.ts";
import { refusedOf } from "./grpc-status.ts";
import type { TaskHub } from "./task-hub.ts";
import { streamMethods, workerMethods } from "./worker-methods.ts";

export interface GrpcServerParts {
  readonly grpc: GrpcModule;
  readonly guard: Pick<Guard, "authorize">;
  readonly audit: Pick<Audit, "append" | "appendRefusal">;
  /** Enters a namespace until `leave` is called; a change creates it. */
  readonly enter: (namespace: string, isChange: boolean) => { readonly hub: TaskHub; readonly leave: () => void };
  readonly readiness: Pick<Readiness, "isStarting">;
  readonly storeHealth: Pick<StoreHealth, "problem">;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly logger: Logger;
  readonly tls: TlsFiles | undefined;
  /** Limit of a message of a client. */
  readonly bodyLimitBytes: number;
  /** Deadline of every answer but those of waits. */
  readonly answerMs: number;
  /** Aborts when the server stops: waiting calls are answered. */
  readonly stopping: AbortSignal;
}

const servicePath = "/TaskHubSidecarService";
const healthPath = "/grpc.health.v1.Health";

/** `SERVING`. */
const serving = 1;

/** Pings of idle connections, by which a broken one is noticed. */
const pingMs = 30_000;

/** Interval at which the token of an open stream is checked. */
const tokenCheckMs = 5000;

const pass = (bytes: Buffer): Buffer => bytes;

/** The Durable Task protocol over gRPC, on a port of its own. Tokens, roles, namespaces and limits are those of HTTP. */
export class GrpcServer {
  readonly #parts: GrpcServerParts;
  readonly #server: ServerOfModule;

  constructor(parts: GrpcServerParts) {
    this.#parts = parts;
    this.#server = new parts.grpc.Server({
      "grpc.max_receive_message_length": parts.bodyLimitBytes,
      "grpc.keepalive_time_ms": pingMs,
      "grpc.keepalive_timeout_ms": pingMs,
    });
    const streams = Object.fromEntries(
      Object.entries({ ...clientStreams, ...streamMethods }).map(([name, method]) => [
        name,
        this.#streamHandler(name, method),
      ]),
    );
    this.#addService(servicePath, { Hello: this.#open(empty.encode({})), ...this.#unaryHandlers() }, streams);
    this.#addService(healthPath, { Check: this.#open(healthResponse.encode({ status: serving })) });
  }

  /** Listens and returns the port. `OPTION_INVALID`. */
  async listen(host: string, port: number): Promise<number> {
    const { grpc, tls } = this.#parts;
    const credentials =
      tls === undefined
        ? grpc.ServerCredentials.createInsecure()
        : grpc.ServerCredentials.createSsl(null, [{ private_key: tls.key, cert_chain: tls.cert }]);
    const address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
    return await new Promise((resolve, reject) => {
      this.#server.bindAsync(address, credentials, (error, bound) => {
        if (error === null) return resolve(bound);
        const message = `cannot listen on ${host}, grpcPort ${port}: ${messageOf(error)}`;
        reject(new EngineError("OPTION_INVALID", message, { cause: error }));
      });
    });
  }

  /** Answers the calls under way, at most for the given time. */
  async close(graceMs: number): Promise<void> {
    const closed = Promise.withResolvers<void>();
    this.#server.tryShutdown(() => closed.resolve());
    const late = setTimeout(() => this.#server.forceShutdown(), graceMs);
    await closed.promise;
    clearTimeout(late);
  }

  #addService(
    path: string,
    unary: Readonly<Record<string, GrpcHandler>>,
    streams: Readonly<Record<string, GrpcHandler>> = {},
  ): void {
    const handlers = { ...unary, ...streams };
    const methods = Object.keys(handlers).map((name): [string, GrpcMethod] => [
      name,
      {
        path: `${path}/${name}`,
        requestStream: false,
        responseStream: Object.hasOwn(streams, name),
        requestSerialize: pass,
        requestDeserialize: pass,
        responseSerialize: pass,
        responseDeserialize: pass,
      },
    ]);
    this.#server.addService(Object.fromEntries(methods), handlers);
  }

  /** A method for everybody, which tells nothing but that the server answers. */
  #open(answer: Buffer): GrpcHandler {
    return (_call, reply) => {
      const { readiness, logger } = this.#parts;
      if (readiness.isStarting) reply(refusedOf(starting(), logger).refusal);
      else reply(null, answer);
    };
  }

  #unaryHandlers(): Record<string, GrpcHandler> {
    const methods = Object.entries({ ...clientMethods, ...workerMethods });
    return Object.fromEntries(methods.map(([name, method]) => [name, this.#handler(name, method)]));
  }

  #handler(name: string, method: UnaryMethod): GrpcHandler {
    return (call, reply) => {
      this.#answer(name, method, call).then(
        (answer) => reply(null, answer),
        (error: unknown) => reply(refusedOf(error, this.#parts.logger).refusal),
      );
    };
  }

  #streamHandler(name: string, method: StreamMethod): GrpcHandler {
    return (call) => {
      const { audit, logger } = this.#parts;
      const entry = { what: name, address: addressOf(call), requestId: randomUUID() };
      let caller: Caller | undefined;
      try {
        caller = this.#authorize(method, call);
        this.#openStream(method, call, caller);
        if (method.isChange) void audit.append(entryOf(entry, caller, { status: 200, target: null }));
      } catch (error) {
        const { refusal, answer } = refusedOf(error, logger);
        const refused = error instanceof HttpError ? (error.caller ?? caller) : caller;
        const { status } = answer;
        void audit.appendRefusal(entryOf(entry, refused, { status, code: answer.refusal.code, target: null }));
        call.emit("error", refusal);
      }
    };
  }

  #openStream(method: StreamMethod, call: GrpcCall, caller: Caller): void {
    const { enter, stopping, clock, logger } = this.#parts;
    const { hub, leave } = enter(caller.namespace, method.isChange);
    let isOpen = true;
    const close = (): void => {
      if (!isOpen) return;
      isOpen = false;
      stream?.close();
      clearInterval(tokenCheck);
      stopping.removeEventListener("abort", end);
      leave();
    };
    const end = (): void => {
      if (!isOpen) return;
      close();
      call.end();
    };
    const refuse = (refusal: GrpcRefusal): void => {
      if (!isOpen) return;
      close();
      call.emit("error", refusal);
    };
    const fail = (error: unknown): void => refuse(refusedOf(error, logger).refusal);
    const tokenCheck = setInterval(() => {
      const refusal = this.#refusalNow(method, call);
      if (refusal !== undefined) refuse(refusal);
    }, tokenCheckMs);
    stopping.addEventListener("abort", end);
    call.on("cancelled", close);
    call.on("error", close);
    let stream: { close(): void } | undefined;
    try {
      const header = (name: string): string | undefined => textOf(call.metadata, name);
      const send = (bytes: Buffer): void => void (isOpen && call.write(bytes));
      stream = method.open(call.request, { hub, caller, clock, logger, header, send, end, fail });
    } catch (error) {
      close();
      throw error;
    }
  }

  /** Why the stream may not stay open: the token was deleted or has expired. A rate limit ends no stream. */
  #refusalNow(method: StreamMethod, call: GrpcCall): GrpcRefusal | undefined {
    try {
      this.#authorize(method, call);
      return undefined;
    } catch (error) {
      if (error instanceof HttpError && error.code === "RATE_LIMITED") return undefined;
      return refusedOf(error, this.#parts.logger).refusal;
    }
  }

  async #answer(name: string, method: UnaryMethod, call: GrpcCall): Promise<Buffer> {
    const { audit, logger } = this.#parts;
    let caller: Caller | undefined;
    const entry = { what: name, address: addressOf(call), requestId: randomUUID() };
    try {
      caller = this.#authorize(method, call);
      const { answer, target } = await this.#carryOut(method, call, caller);
      if (method.kind === "change") await this.#note(audit.append(entryOf(entry, caller, { status: 200, target })));
      return answer;
    } catch (error) {
      const { status, refusal } = refusedOf(error, logger).answer;
      const refused = error instanceof HttpError ? (error.caller ?? caller) : caller;
      if (method.kind === "change" || status === 401 || status === 403 || status === 429) {
        await this.#note(audit.appendRefusal(entryOf(entry, refused, { status, code: refusal.code, target: null })));
      }
      throw error;
    }
  }

  #authorize({ role }: Pick<UnaryMethod, "role">, call: GrpcCall): Caller {
    const { guard, readiness } = this.#parts;
    if (readiness.isStarting) throw starting();
    return guard.authorize({ headers: headersOf(call), method: "POST", ip: addressOf(call) }, role);
  }

  async #carryOut(
    { kind, handle }: UnaryMethod,
    call: GrpcCall,
    caller: Caller,
  ): Promise<{ readonly answer: Buffer; readonly target: string | null }> {
    const { enter, storeHealth, deadlines, answerMs, stopping } = this.#parts;
    if (kind === "change" && storeHealth.problem !== undefined) {
      throw new EngineError("STORE_UNAVAILABLE", `nothing can be changed for now, try again: ${storeHealth.problem}`);
    }
    const given = new AbortController();
    call.on("cancelled", () => given.abort());
    const signal = AbortSignal.any([given.signal, stopping]);
    const { hub, leave } = enter(caller.namespace, kind === "change");
    try {
      const answered = handle(call.request, { hub, caller, signal });
      if (kind === "wait") return await answered;
      return await (kind === "change" ? deadlines.change(answered, answerMs) : deadlines.query(answered, answerMs));
    } finally {
      leave();
    }
  }

  /** An answer waits for its audit entry, unless the store is unavailable. */
  async #note(noted: Promise<void>): Promise<void> {
    if (this.#parts.storeHealth.problem === undefined) await noted;
  }
}

function starting(): EngineError {
  return new EngineError("ENGINE_STATE", "the server is starting; try again in a moment");
}

/** The address without its port. */
function addressOf(call: GrpcCall): string {
  return call.getPeer().replace(/:\d+$/, "");
}

function entryOf(
  given: Pick<AuditEntry, "what" | "address" | "requestId">,
  caller: Caller | undefined,
  outcome: Pick<AuditEntry, "status" | "target" | "code">,
): AuditEntry {
  const { name: who = "anonymous", role = null, namespace } = caller ?? {};
  return { who, role, ...(namespace !== undefined && { namespace }), ...given, ...outcome };
}
