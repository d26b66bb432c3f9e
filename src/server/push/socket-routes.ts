import fastifyWebsocket from "@fastify/websocket";
import type { FastifyInstance } from "fastify";
import { admitSocket, mayStay } from "./admission.ts";
import type { PushParts } from "./push-parts.ts";
import { closeCodes, type Coverage, SocketClient } from "./socket-client.ts";
import { SocketClients } from "./socket-clients.ts";
import { webSocketOptions } from "./web-socket-options.ts";

const socketsMax = 10_000;

/** `/ws`: every change, to whoever subscribes. */
export async function socketRoutes(app: FastifyInstance, parts: PushParts): Promise<void> {
  const clients = new SocketClients();
  // Before the plugin adds its own, which closes sockets without a word.
  app.addHook("preClose", async () => clients.stop());
  if (!app.hasDecorator("websocketServer")) await app.register(fastifyWebsocket, { options: webSocketOptions });

  app.get("/ws", { websocket: true, onRequest: async (request) => admitSocket(request, parts) }, (socket, request) => {
    const client = new SocketClient(socket, { feed: parts.feed, coverage: () => coverageOf(parts) });
    if (clients.size >= socketsMax) return client.close(closeCodes.full, `the server holds ${socketsMax} sockets`);
    clients.add(client, () => mayStay(request, parts));
    socket.on("close", () => clients.delete(client));
  });
}

/** Each member hears of its own instances alone. */
function coverageOf({ engine }: PushParts): Coverage | undefined {
  const members = engine.members();
  if (members.length < 2) return undefined;
  const ids = (isSelf: boolean): string[] => members.filter((each) => each.isSelf === isSelf).map(({ id }) => id);
  return { heard: ids(true), unheard: ids(false) };
}
