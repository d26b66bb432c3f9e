import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { Engine } from "../../engine/engine.ts";
import type { EngineNamespace } from "../../engine/engine-namespace.ts";
import type { Store } from "../../stores/store.ts";
import type { TaskLogs } from "../../telemetry/task-logs.ts";
import type { Deadlines } from "../http/deadlines.ts";
import type { Audit } from "../security/audit.ts";
import type { Tokens } from "../security/tokens.ts";

/** The dependencies of the handlers. */
export interface RouteParts {
  readonly namespace: string;
  /** The engine in the namespace of the request. */
  readonly engine: EngineNamespace;
  /** The engine of the process: what all namespaces share. */
  readonly process: Engine;
  readonly catalogue: Catalogue;
  /** The namespaces that are configured or have saved workflows. */
  readonly listNamespaces: () => readonly string[];
  readonly store: Store;
  readonly taskLogs: TaskLogs;
  readonly tokens: Tokens;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly logger: Logger;
  /** Folder of definition files: a path of the server, shown to admins only. */
  readonly folder: string | undefined;
  /** Names of the workflows of the server's modules. */
  readonly ofProgram: ReadonlySet<string>;
  /** Aborts when the server stops: waiting requests are answered. */
  readonly stopping: AbortSignal;
}

export const done = { done: true } as const;
