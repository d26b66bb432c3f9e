import type { EngineNamespace } from "../../engine/engine-namespace.ts";
import type { TaskLogs } from "../../telemetry/task-logs.ts";
import type { AuthorizationParts } from "./authorization.ts";
import type { ChangeFeed } from "./change-feed.ts";
import type { ConnectionLimits } from "./connection-limit.ts";
import type { SocketLimits } from "./socket-client.ts";
import type { WorkerNewsFeed } from "./worker-news.ts";

export interface PushNamespace {
  readonly feed: ChangeFeed;
  readonly workers: WorkerNewsFeed;
  readonly engine: Pick<EngineNamespace, "members" | "getWorkflowInstanceStatus" | "onMemberEvent">;
}

export interface PushParts extends AuthorizationParts {
  /** The feed and the engine in the namespace of a subscriber. */
  readonly inNamespace: (namespace: string) => PushNamespace;
  readonly logs: Pick<TaskLogs, "follow">;
  readonly socketLimits?: Partial<SocketLimits>;
  readonly connectionLimits?: Partial<ConnectionLimits>;
}
