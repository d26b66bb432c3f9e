import type { GetWorkItemsRequest } from "./worker-messages.ts";

/** Microsoft's protocol, Dapr's fork of it, or what both have in common, for a worker that does not tell. */
export type Dialect = "microsoft" | "dapr" | "common";

/** The dialect of a stream of work items, by its metadata and its request. */
export function dialectOf(
  header: (name: string) => string | undefined,
  request: Pick<
    GetWorkItemsRequest,
    | "maxConcurrentOrchestrations"
    | "maxConcurrentActivities"
    | "maxConcurrentEntities"
    | "daprCapabilities"
    | "capabilities"
    | "filters"
  >,
): Dialect {
  const agent = header("user-agent") ?? "";
  if (agent.startsWith("dapr-") || header("dapr-api-token") !== undefined || request.daprCapabilities.length > 0)
    return "dapr";
  const hasMicrosoftFields =
    request.maxConcurrentOrchestrations > 0 ||
    request.maxConcurrentActivities > 0 ||
    request.maxConcurrentEntities > 0 ||
    request.capabilities.length > 0 ||
    request.filters !== undefined;
  const hasMicrosoftHeader = ["taskhub", "x-user-agent", "workerid"].some((name) => header(name) !== undefined);
  return hasMicrosoftFields || hasMicrosoftHeader ? "microsoft" : "common";
}
