import type { FastifyInstance } from "fastify";
import { findCaller } from "./request/caller.ts";
import type { ServerNamespaces } from "./namespaces.ts";

/**
 * Brings every authorized request into its namespace: a change creates the namespace, a read only visits it, until it is
 * answered or its connection ends.
 */
export function enterNamespaces(app: FastifyInstance, namespaces: Pick<ServerNamespaces, "get" | "visit">): void {
  app.addHook("preHandler", (request, reply, done) => {
    const caller = findCaller(request);
    const { isChange = false } = request.routeOptions.config as { isChange?: boolean };
    // Nobody is left to be answered, and no event would end the visit.
    if (reply.raw.closed && !isChange) {
      reply.hijack();
      return;
    }
    if (caller !== undefined && isChange) namespaces.get(caller.namespace);
    else if (caller !== undefined) reply.raw.once("close", namespaces.visit(caller.namespace));
    done();
  });
}
