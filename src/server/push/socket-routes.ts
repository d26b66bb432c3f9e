import type { FastifyInstance, FastifyRequest } from "fastify";
import { messageOf } from "../../base/error.ts";
import { callerOf, setCaller } from "../request/caller.ts";
import { authorizeSocket, mayStay } from "./authorization.ts";
import type { ConnectionLimit } from "./connection-limit.ts";
import { followMembers } from "./member-news.ts";
import type { PushNamespace, PushParts } from "./push-parts.ts";
import { closeCodes, type Coverage, SocketClient } from "./socket-client.ts";
import { SocketClients } from "./socket-clients.ts";
import { acceptWebSockets } from "./web-sockets.ts";

/** `/ws`: subscriptions over a WebSocket. */
export async function socketRoutes(
  app: FastifyInstance,
  parts: PushParts,
  connections: ConnectionLimit,
): Promise<void> {
  const clients = new SocketClients();
  // Added before the plugin's own hook, which closes sockets without a reason.
  app.addHook("preClose", async () => clients.stop());
  await acceptWebSockets(app);

  const onRequest = async (request: FastifyRequest): Promise<void> =>
    setCaller(request, authorizeSocket(request, parts));
  app.get("/ws", { websocket: true, onRequest }, (socket, request) => {
    const { socketLimits: limits } = parts;
    const { name, namespace } = callerOf(request);
    const space = parts.inNamespace(namespace);
    const client = new SocketClient(socket, {
      feed: space.feed,
      coverage: () => coverageOf(space),
      followMembers: (listener) => followMembers(space, listener),
      limits,
    });
    try {
      socket.on("close", connections.open(name));
    } catch (error) {
      return client.close(closeCodes.full, messageOf(error));
    }
    clients.add(client, () => mayStay(request, parts));
    socket.on("close", () => clients.delete(client));
  });
}

/** Members that do not answer are unheard: what they did until they do comes from the store then. */
function coverageOf({ engine, feed }: PushNamespace): Coverage | undefined {
  const members = engine.members();
  if (members.length < 2) return undefined;
  const unheard = new Set(feed.unheard);
  const ids = members.map(({ id }) => id);
  return { heard: ids.filter((id) => !unheard.has(id)), unheard: ids.filter((id) => unheard.has(id)) };
}
