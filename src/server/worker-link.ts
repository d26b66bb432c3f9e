import type { FastifyInstance, FastifyRequest } from "fastify";
import { EngineError } from "../base/error.ts";
import type { Engine } from "../engine/engine.ts";
import { HttpError } from "./request/http-error.ts";
import { acceptWebSockets } from "./push/web-sockets.ts";
import type { Audit } from "./security/audit.ts";
import { auditEntryOf } from "./security/audit-entry.ts";
import { callerOf, letIn } from "./request/caller.ts";
import type { Guard } from "./security/guard.ts";

export interface WorkerRouteParts {
  readonly engine: Pick<Engine, "acceptWorker">;
  readonly guard: Pick<Guard, "admit">;
  readonly audit: Pick<Audit, "append">;
}

/** The engine takes no workers, and the client need not try again here soon. */
const notServed = 4003;
/** The worker broke the protocol. */
const invalidMessage = 1007;
/** Its token was deleted, or has expired. */
const notLetIn = 4001;
const beatMs = 30_000;
const tokenCheckMs = 5000;
/** What the protocol allows for a close's reason. */
const reasonBytesMax = 123;

type WorkerRequest = Parameters<Guard["admit"]>[0];

/**
 * `/ws/worker`: where `heddle worker` connects. Workers see what tasks are given and decide what comes of them, so they have
 * a role of their own. A worker's id belongs to the token that it came with.
 */
export async function workerRoutes(app: FastifyInstance, parts: WorkerRouteParts): Promise<void> {
  const { engine, guard, audit } = parts;
  await acceptWebSockets(app);
  const onRequest = async (request: FastifyRequest): Promise<void> => {
    refuseBrowsers(request.headers);
    letIn(request, guard.admit(request, "worker"));
  };
  app.get("/ws/worker", { websocket: true, onRequest }, (socket, request) => {
    let isAlive = true;
    const send = (text: string): void => {
      if (socket.readyState === socket.OPEN) socket.send(text);
    };
    let listener: ReturnType<typeof engine.acceptWorker>;
    try {
      const close = (error?: EngineError): void => {
        if (error === undefined) socket.close();
        else socket.close(invalidMessage, closeReason(error));
      };
      const { name: principal } = callerOf(request);
      listener = engine.acceptWorker({ send, close }, { principal });
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      void audit.append(auditEntryOf(request, { status: 503, code: error.code }));
      return socket.close(notServed, closeReason(error));
    }
    void audit.append(auditEntryOf(request, { status: 101 }));
    // A cable that was pulled says nothing.
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

/** A token that asks too often is still one. */
function mayStay(request: WorkerRequest, guard: WorkerRouteParts["guard"]): boolean {
  try {
    guard.admit(request, "worker");
    return true;
  } catch (error) {
    return error instanceof HttpError && error.code === "RATE_LIMITED";
  }
}

/** A page in a browser can open a WebSocket to any address, with the rights of its visitor's machine. No worker is a page. */
function refuseBrowsers({ origin }: { readonly origin?: string | undefined }): void {
  if (origin !== undefined) throw new HttpError("FORBIDDEN", "workers send no Origin header, and pages are no workers");
}

function closeReason({ code, message }: EngineError): string {
  const bytes = Buffer.from(`${code}: ${message}`).subarray(0, reasonBytesMax);
  // The cut may have gone through a character.
  return bytes.toString().replace(/\uFFFD$/, "");
}
