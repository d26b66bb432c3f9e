import type { Handlers } from "../http/handler.ts";
import { bulkRoutes } from "./bulk-routes.ts";
import { checkRoutes } from "./check-routes.ts";
import { clusterRoutes } from "./cluster-routes.ts";
import { instanceRoutes } from "./instance-routes.ts";
import { monitorRoutes } from "./monitor-routes.ts";
import { namespaceRoutes } from "./namespace-routes.ts";
import { operationRoutes } from "./operation-routes.ts";
import type { RouteParts } from "./route-parts.ts";
import { scheduleRoutes } from "./schedule-routes.ts";
import { securityRoutes } from "./security-routes.ts";
import { statsRoutes } from "./stats-routes.ts";
import { workflowRoutes } from "./workflow-routes.ts";

/** The handlers of all operations; a missing one does not compile. */
export function handlersOf(parts: RouteParts): Handlers {
  return {
    ...workflowRoutes(parts),
    ...checkRoutes(parts),
    ...monitorRoutes(parts),
    ...statsRoutes(parts),
    ...instanceRoutes(parts),
    ...operationRoutes(parts),
    ...bulkRoutes(parts),
    ...clusterRoutes(parts),
    ...namespaceRoutes(parts),
    ...scheduleRoutes(parts),
    ...securityRoutes(parts),
  };
}
