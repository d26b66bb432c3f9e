import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import type { Random } from "../base/random.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Expressions } from "../expressions/expression.ts";
import type { MachineLimits } from "../kernel/machine.ts";
import type { TaskDefinition } from "../kernel/task-definition.ts";
import type { OutboxRow, Store } from "../stores/store.ts";
import type { CodeRuntime } from "./code-runtime.ts";
import type { CompletionTokens } from "./completion-tokens.ts";
import type { Definitions } from "./definitions.ts";
import type { EligibleWorkers } from "./broadcast-watch.ts";
import type { EndedMaps } from "./ended-maps.ts";
import type { IdleActors } from "./idle-actors.ts";
import type { CommittedTurn } from "./message.ts";
import type { AttemptHosting } from "./delegated-attempts.ts";
import type { WorkflowGates } from "./workflow-gate.ts";

/** Parts shared by a member's shards. */
export interface ShardParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly dispatcher: Dispatcher;
  readonly definitions: Definitions;
  readonly expressions: Expressions;
  readonly code: CodeRuntime;
  readonly idle: IdleActors;
  readonly gates: WorkflowGates;
  readonly endedMaps: EndedMaps;
  readonly shardCount: number;
  /** Instances of one workflow may live on other members, so its gate is asked by message. */
  readonly sharesInstances: boolean;
  readonly limits: MachineLimits;
  readonly completionTokens: Pick<CompletionTokens, "issue">;
  /** Other members, which may run attempts of this member's instances. */
  readonly hosting: AttemptHosting;
  readonly workers: EligibleWorkers;
  resolveJob(instanceId: string, definition: TaskDefinition, params: string | undefined): string;
  /** The shard of the instance with that id. */
  shardOf(instanceId: string): number;
  post(row: OutboxRow): void;
  readonly hasSubscribers: boolean;
  /** Notifies subscribers of a turn that is durable. */
  publish(turn: CommittedTurn): void;
  /** Another owner has the shard now, or nothing can be written any more. */
  onLost(shard: { readonly number: number }, error: unknown): void;
}
