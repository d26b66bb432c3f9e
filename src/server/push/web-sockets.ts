import fastifyWebsocket from "@fastify/websocket";
import type { FastifyInstance } from "fastify";

/** Size limits of messages by path. A larger frame is refused before it is read. */
const messageBytesMax = 64 * 1024;
const workerMessageBytesMax = 16 * 1024 * 1024;

/** Pings of a client with this many unread bytes are not answered. */
const unreadBytesMax = 4 * 1024 * 1024;

const options = {
  maxPayload: messageBytesMax,
  // Unread pongs would be buffered without limit.
  autoPong: false,
  // A client that does not answer the close frame is disconnected after this time.
  closeTimeout: 2000,
  // A token that was passed as a subprotocol is not echoed.
  handleProtocols: (offered: ReadonlySet<string>): string | false => (offered.has("heddle") ? "heddle" : false),
};

/** Enables WebSockets, once for all routes. */
export async function acceptWebSockets(app: FastifyInstance): Promise<void> {
  if (app.hasDecorator("websocketServer")) return;
  await app.register(fastifyWebsocket, {
    // An error of a socket ends it; the client has received the reason.
    errorHandler: () => undefined,
    options,
  });
  const { websocketServer } = app;
  // Emitted right before the limit is handed to the new socket.
  websocketServer.on("headers", (_headers, { url = "" }) => {
    websocketServer.options.maxPayload = url.startsWith("/ws/worker") ? workerMessageBytesMax : messageBytesMax;
  });
  websocketServer.on("connection", (socket) => {
    socket.on("ping", (data) => {
      if (socket.readyState === socket.OPEN && socket.bufferedAmount <= unreadBytesMax) socket.pong(data);
    });
  });
}
