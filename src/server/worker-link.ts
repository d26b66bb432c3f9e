import type { FastifyInstance, FastifyRequest } from "fastify";
import { EngineError } from "../base/error.ts";
import type { Link, LinkListener } from "../dispatch/link.ts";
import type { Engine } from "../engine/engine.ts";
import { HttpError } from "./request/http-error.ts";
import { acceptWebSockets } from "./push/web-sockets.ts";
import type { Audit } from "./security/audit.ts";
import { auditEntryOf } from "./security/audit-entry.ts";
import { callerOf, setCaller } from "./request/caller.ts";
import type { Guard } from "./security/guard.ts";

export interface WorkerRouteParts {
  readonly engine: Pick<Engine, "viewNamespace">;
  readonly guard: Pick<Guard, "authorize">;
  readonly audit: Pick<Audit, "append">;
}

/** Close code: the engine accepts no workers. */
const notServed = 4003;
/** Close code: the worker violated the protocol. */
const invalidMessage = 1007;
/** Close code: the token was deleted or has expired. */
const notLetIn = 4001;
const beatMs = 30_000;
const tokenCheckMs = 5000;
/** Length limit of a WebSocket close reason. */
const reasonBytesMax = 123;

type WorkerRequest = Parameters<Guard["authorize"]>[0];

/**
 * `/ws/worker`: the endpoint of `heddle worker`. Workers see the inputs of tasks and report their results, so they have
 * a role of their own. A worker's id is scoped to its token.
 */
export async function workerRoutes(app: FastifyInstance, parts: WorkerRouteParts): Promise<void> {
  const { engine, guard, audit } = parts;
  await acceptWebSockets(app);
  const onRequest = async (request: FastifyRequest): Promise<void> => {
    refuseBrowsers(request.headers);
    setCaller(request, guard.authorize(request, "worker"));
  };
  app.get("/ws/worker", { websocket: true, onRequest }, (socket, request) => {
    let isAlive = true;
    const send = (text: string): void => {
      if (socket.readyState === socket.OPEN) socket.send(text);
    };
    let listener: LinkListener;
    try {
      const close = (error?: EngineError): void => {
        if (error === undefined) socket.close();
        else socket.close(invalidMessage, closeReason(error));
      };
      const { name: principal, namespace } = callerOf(request);
      const link: Link = {
        send,
        close,
        get bufferedBytes() {
          return socket.bufferedAmount;
        },
      };
      listener = engine.viewNamespace(namespace).acceptWorker(link, { principal });
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      void audit.append(auditEntryOf(request, { status: 503, code: error.code }));
      return socket.close(notServed, closeReason(error));
    }
    void audit.append(auditEntryOf(request, { status: 101 }));
    // Heartbeat: a broken connection may not be reported.
    const beat = setInterval(() => {
      if (!isAlive) return socket.terminate();
      isAlive = false;
      socket.ping();
    }, beatMs);
    const tokenCheck = setInterval(() => {
      if (!mayStay(request, guard)) socket.close(notLetIn, "UNAUTHORIZED: the token is no longer valid");
    }, tokenCheckMs);
    socket.on("pong", () => (isAlive = true));
    socket.on("message", (data: Buffer) => listener.receive(data.toString()));
    socket.on("close", () => {
      clearInterval(beat);
      clearInterval(tokenCheck);
      listener.onClosed();
    });
  });
}

/** True if the token is still valid; exceeding the rate limit does not disconnect a worker. */
function mayStay(request: WorkerRequest, guard: WorkerRouteParts["guard"]): boolean {
  try {
    guard.authorize(request, "worker");
    return true;
  } catch (error) {
    return error instanceof HttpError && error.code === "RATE_LIMITED";
  }
}

/** Refuses browsers: a web page can open a WebSocket to any address from its visitor's machine, and workers are not pages. */
function refuseBrowsers({ origin }: { readonly origin?: string | undefined }): void {
  if (origin !== undefined) throw new HttpError("FORBIDDEN", "workers send no Origin header, and pages are no workers");
}

function closeReason({ code, message }: EngineError): string {
  const bytes = Buffer.from(`${code}: ${message}`).subarray(0, reasonBytesMax);
  // The cut may have split a character.
  return bytes.toString().replace(/\uFFFD$/, "");
}
