import type { FastifyInstance } from "fastify";
import type { PushParts } from "./push-parts.ts";
import { socketRoutes } from "./socket-routes.ts";
import { streamRoutes } from "./stream-routes.ts";

/** What the server tells by itself: `/ws`, `/api/events`, and the logs of an instance as they come. They let callers in themselves. */
export async function pushRoutes(app: FastifyInstance, parts: PushParts): Promise<void> {
  await socketRoutes(app, parts);
  streamRoutes(app, parts);
}
