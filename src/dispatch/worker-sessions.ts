import { EngineError, messageOf } from "../base/error.ts";
import { defaultNamespace, namespaceOf } from "../base/namespace.ts";
import type { AttemptDescriptor } from "./attempt-descriptor.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { defaultDomain } from "./domain-pools.ts";
import type { Link, LinkListener } from "./link.ts";
import { formatMessage, type WorkerMessage } from "./session-message.ts";
import { parseWorkerMessage } from "./session-schema.ts";
import type { OnWorkerEvent } from "./worker-event.ts";
import { type SessionEnd, type SessionParts, WorkerSession } from "./worker-session.ts";

export interface WorkerSessionsParts extends Omit<SessionParts, "onReport" | "onChanged" | "onOver"> {
  readonly dispatcher: Dispatcher;
  /** The worker's address as histories record it. */
  readonly addressOf: (worker: string) => string;
  /** True if the lease is valid: without it, workers are sent to other members. */
  readonly mayServe?: () => boolean;
  readonly onWorkerEvent?: OnWorkerEvent | undefined;
  /** Called when a worker has said what it runs, and again when that has changed. */
  readonly onWorkerChanged?: ((session: WorkerSession) => void) | undefined;
  /** Called when a worker has left or is lost, so that it runs nothing any more. */
  readonly onWorkerGone?: ((session: WorkerSession) => void) | undefined;
}

/** Whom a worker was authenticated as. */
export interface WorkerIdentity {
  /** Only workers of the same principal can take over its id, or bring along attempts that it ran. */
  readonly principal?: string;
  /** The namespace whose tasks it runs. Default `default`. */
  readonly namespace?: string;
}

interface WorkerOrigin {
  readonly namespace: string;
  readonly prefix: string;
}

/** The sessions of a member's remote workers: one per worker, through all its connections. */
export class WorkerSessions {
  readonly #parts: WorkerSessionsParts;
  readonly #byWorker = new Map<string, WorkerSession>();
  #refusedMessages = 0;

  constructor(parts: WorkerSessionsParts) {
    this.#parts = parts;
  }

  get all(): readonly WorkerSession[] {
    return [...this.#byWorker.values()];
  }

  /** The number of invalid messages; each has closed the link of a worker. */
  get refusedMessages(): number {
    return this.#refusedMessages;
  }

  /** Accepts a worker's connection. Returns the listener for its messages, which never throws. */
  accept(link: Link, { principal, namespace = defaultNamespace }: WorkerIdentity = {}): LinkListener {
    const origin: WorkerOrigin = { namespace, prefix: prefixOf(namespace, principal) };
    let session: WorkerSession | undefined;
    let isClosed = false;
    const close = (): void => {
      isClosed = true;
      session?.onLinkClosed(link);
    };
    return {
      receive: (text) => {
        if (isClosed) return;
        try {
          const message = parseWorkerMessage(text);
          refuseOtherWorker(message, origin, session);
          // A member without a valid lease renews none. It disconnects the worker as soon as it notices.
          if (session !== undefined && this.#parts.mayServe?.() === false) return;
          session ??= this.#attach(link, message, origin);
          session?.receive(link, message);
        } catch (error) {
          this.#refuse(link, session, error);
          close();
        }
      },
      onClosed: close,
    };
  }

  /** Closes the link. The worker may connect again and keeps its attempts meanwhile. */
  #refuse(link: Link, session: WorkerSession | undefined, error: unknown): void {
    const { logger } = this.#parts;
    const worker = session?.address;
    if (error instanceof EngineError) {
      this.#refusedMessages++;
      logger.warn(
        { worker, code: error.code, error: error.message },
        "a worker broke the protocol; its link is closed",
      );
      return link.close(error);
    }
    logger.error({ worker, error }, "a message of a worker could not be handled; its link is closed");
    link.close(new EngineError("WORKER_MESSAGE_INVALID", `the message could not be handled: ${messageOf(error)}`));
  }

  /** Attaches the link to the session of the worker that says hello. Ignores messages before the hello, which were reordered. */
  #attach(link: Link, message: WorkerMessage, { prefix, namespace }: WorkerOrigin): WorkerSession | undefined {
    if (message.type !== "Hello") return undefined;
    const { dispatcher, mayServe, addressOf } = this.#parts;
    if (dispatcher.isShutDown || mayServe?.() === false) {
      link.send(formatMessage({ type: "Goodbye" }));
      link.close();
      return undefined;
    }
    // Ids are scoped by namespace and principal: the same id under another of either is another worker.
    const id = `${prefix}${message.worker}`;
    let session = this.#byWorker.get(id);
    if (session === undefined) {
      session = new WorkerSession({ id, address: addressOf(id), namespace }, this.#sessionParts());
      this.#byWorker.set(id, session);
      this.#parts.logger.info({ worker: session.address, slots: message.slots }, "a worker has connected");
      this.#parts.onWorkerEvent?.("connected", session);
      // The dispatcher must know the worker before it can adopt the attempts that the worker announces.
      dispatcher.connect(session);
    }
    session.attach(link);
    return session;
  }

  #sessionParts(): SessionParts {
    return {
      ...this.#parts,
      onReport: (attemptId, report) => this.#parts.dispatcher.noteReport(attemptId, report),
      onChanged: (session) => {
        if (session.isOver) return;
        this.#parts.onWorkerChanged?.(session);
        this.#parts.dispatcher.connect(session);
      },
      onOver: (session, how) => this.#over(session, how),
    };
  }

  #over(session: WorkerSession, how: SessionEnd): void {
    this.#byWorker.delete(session.id);
    const worker = session.address;
    if (how === "lost") this.#parts.logger.warn({ worker }, "a worker sent no heartbeat for too long and is lost");
    else this.#parts.logger.info({ worker, how }, "a worker has disconnected");
    this.#parts.dispatcher.disconnect(session);
    this.#parts.onWorkerEvent?.(how === "lost" ? "lost" : "gone", session);
    if (how !== "closed") this.#parts.onWorkerGone?.(session);
  }
}

/** Refuses a hello of another worker than the first one over this link. WORKER_MESSAGE_INVALID. */
function refuseOtherWorker(message: WorkerMessage, origin: WorkerOrigin, session: WorkerSession | undefined): void {
  if (message.type !== "Hello") return;
  for (const { descriptor } of [...message.running, ...message.results]) refuseForeign(descriptor, origin.namespace);
  if (session === undefined || `${origin.prefix}${message.worker}` === session.id) return;
  throw new EngineError("WORKER_MESSAGE_INVALID", "the message is refused: Hello.worker changes over one connection");
}

/** Refuses an attempt of another namespace, which this worker was never granted. */
function refuseForeign({ instanceId, workflowName, job, domain }: AttemptDescriptor, namespace: string): void {
  const names = [
    instanceId,
    job,
    ...(workflowName === "" ? [] : [workflowName]),
    ...(domain === defaultDomain ? [] : [domain]),
  ];
  if (names.every((name) => namespaceOf(name) === namespace)) return;
  const message = "the message is refused: Hello announces an attempt that does not belong to the worker's namespace";
  throw new EngineError("WORKER_MESSAGE_INVALID", message);
}

/**
 * The first part of the worker's id. Outside `default` it begins with the namespace and a colon, which no encoded
 * principal contains.
 */
function prefixOf(namespace: string, principal: string | undefined): string {
  if (namespace !== defaultNamespace) return `${namespace}:${encodeURIComponent(principal ?? "")}/`;
  return principal === undefined ? "" : `${encodeURIComponent(principal)}/`;
}
