import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Store } from "../../stores/store.ts";
import type { TaskLogs } from "../../telemetry/task-logs.ts";
import type { Deadlines } from "../http/deadlines.ts";
import type { Audit } from "../security/audit.ts";
import type { Tokens } from "../security/tokens.ts";

/** What the operations work on. */
export interface RouteParts {
  readonly engine: Engine;
  readonly catalogue: Catalogue;
  readonly store: Store;
  readonly taskLogs: TaskLogs;
  readonly tokens: Tokens;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly logger: Logger;
  /** Where definitions live as files; a path of the server's disk, which is for admins. */
  readonly folder: string | undefined;
  /** Names of the workflows that are part of the program. */
  readonly ofProgram: ReadonlySet<string>;
  /** The server is about to stop: who waits for something is answered now. */
  readonly stopping: AbortSignal;
}

export const done = { done: true } as const;
