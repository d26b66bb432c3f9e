import type { FastifyInstance } from "fastify";
import { ConnectionLimit } from "./connection-limit.ts";
import type { PushParts } from "./push-parts.ts";
import { socketRoutes } from "./socket-routes.ts";
import { streamRoutes } from "./stream-routes.ts";

/** What the server tells by itself: `/ws`, `/api/events`, and the logs of an instance as they come. They let callers in themselves. */
export async function pushRoutes(app: FastifyInstance, parts: PushParts): Promise<void> {
  const connections = new ConnectionLimit(parts.connectionLimits);
  await socketRoutes(app, parts, connections);
  streamRoutes(app, parts, connections);
}
