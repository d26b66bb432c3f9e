import type { FastifyInstance } from "fastify";
import { ConnectionLimit } from "./connection-limit.ts";
import type { PushParts } from "./push-parts.ts";
import { socketRoutes } from "./socket-routes.ts";
import { streamRoutes } from "./stream-routes.ts";

/** The push endpoints: `/ws`, `/api/events`, and the log stream of an instance. They authenticate callers themselves. */
export async function pushRoutes(app: FastifyInstance, parts: PushParts): Promise<void> {
  const connections = new ConnectionLimit(parts.connectionLimits);
  await socketRoutes(app, parts, connections);
  streamRoutes(app, parts, connections);
}
