import type { Engine } from "../../engine/engine.ts";
import type { TaskLogs } from "../../telemetry/task-logs.ts";
import type { AuthorizationParts } from "./authorization.ts";
import type { ChangeFeed } from "./change-feed.ts";
import type { ConnectionLimits } from "./connection-limit.ts";
import type { SocketLimits } from "./socket-client.ts";

export interface PushParts extends AuthorizationParts {
  readonly feed: ChangeFeed;
  readonly engine: Pick<Engine, "members" | "getWorkflowInstanceStatus" | "onMemberEvent">;
  readonly logs: Pick<TaskLogs, "follow">;
  readonly socketLimits?: Partial<SocketLimits>;
  readonly connectionLimits?: Partial<ConnectionLimits>;
}
