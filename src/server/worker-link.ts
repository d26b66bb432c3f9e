import type { FastifyInstance } from "fastify";
import { EngineError, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Engine } from "../engine/engine.ts";
import { acceptWebSockets } from "./push/web-sockets.ts";
import type { Guard } from "./security/guard.ts";

export interface WorkerRouteParts {
  readonly engine: Pick<Engine, "acceptWorker">;
  readonly guard: Pick<Guard, "admit">;
  readonly logger: Logger;
}

/** The engine takes no workers, and the client need not try again here soon. */
const notServed = 4003;
/** The worker is of another version, or not a worker. */
const notUnderstood = 1007;
const beatMs = 30_000;
/** What the protocol allows for a close's reason. */
const reasonBytesMax = 123;

/** `/ws/worker`: where `heddle worker` connects. Whoever runs jobs sees what they are given, so it needs an operator. */
export async function workerRoutes(app: FastifyInstance, parts: WorkerRouteParts): Promise<void> {
  const { engine, guard, logger } = parts;
  await acceptWebSockets(app);
  const onRequest = async (request: Parameters<Guard["admit"]>[0]): Promise<void> => {
    guard.admit(request, "operator");
  };
  app.get("/ws/worker", { websocket: true, onRequest }, (socket) => {
    let isAlive = true;
    const send = (text: string): void => {
      if (socket.readyState === socket.OPEN) socket.send(text);
    };
    let listener: ReturnType<typeof engine.acceptWorker>;
    try {
      listener = engine.acceptWorker({ send, close: () => socket.close() });
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      return socket.close(notServed, error.message.slice(0, reasonBytesMax));
    }
    // A cable that was pulled says nothing.
    const beat = setInterval(() => {
      if (!isAlive) return socket.terminate();
      isAlive = false;
      socket.ping();
    }, beatMs);
    socket.on("pong", () => (isAlive = true));
    socket.on("message", (data: Buffer) => {
      try {
        listener.receive(data.toString());
      } catch (error) {
        logger.warn({ error: messageOf(error) }, "a worker said something that makes no sense; it is cut off");
        socket.close(notUnderstood, "that message makes no sense");
      }
    });
    socket.on("close", () => {
      clearInterval(beat);
      listener.closed();
    });
  });
}
