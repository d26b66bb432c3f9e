import fastifyWebsocket from "@fastify/websocket";
import type { FastifyInstance } from "fastify";

/** What a message may have, by path. A frame that announces more is refused before it is read. */
const messageBytesMax = 64 * 1024;
const workerMessageBytesMax = 16 * 1024 * 1024;

/** Pings of a client that has this much unread are not answered. */
const unreadBytesMax = 4 * 1024 * 1024;

const options = {
  maxPayload: messageBytesMax,
  // Pongs that nobody reads would be kept without limit.
  autoPong: false,
  // A client that was told why it is cut, and does not close, is left then.
  closeTimeout: 2000,
  // A token that came as a subprotocol is not said back.
  handleProtocols: (offered: ReadonlySet<string>): string | false => (offered.has("heddle") ? "heddle" : false),
};

/** Takes WebSockets; once for all routes that use them. */
export async function acceptWebSockets(app: FastifyInstance): Promise<void> {
  if (app.hasDecorator("websocketServer")) return;
  await app.register(fastifyWebsocket, {
    // What goes wrong on a socket ends it: it was told why by then.
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
