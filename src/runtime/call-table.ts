import type { Clock } from "../base/clock.ts";
import type { JobRegistry } from "../authoring/job-registry.ts";
import { EngineError, type ErrorCode } from "../base/error.ts";
import { parseStored } from "../base/stored-json.ts";
import type { AllocatorClaim, Allocators } from "../cluster/allocators.ts";
import type { Delivery } from "../cluster/call-router.ts";
import type { DispatcherStatus } from "../dispatch/dispatcher-status.ts";
import type { RequestRow, Store } from "../stores/store.ts";
import type { CallOf, CallType, InputCallType, ResultOf } from "./call.ts";
import type { Definitions } from "./definitions.ts";
import { inputOf } from "./input-of.ts";
import {
  listItems,
  type LiveAttempts,
  queryCode,
  readBreakpoint,
  readEnd,
  readIdentity,
  readStatus,
  readTask,
} from "./instance-query.ts";
import type { Region } from "./region.ts";
import type { Shard } from "./shard.ts";

/** The owner answers a call that waits for an instance after this long, even if nothing has happened: the caller asks again. */
const holdMs = 10_000;

/** The parts of the owner that handlers use. */
export interface CallTableParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly definitions: Definitions;
  /** The jobs of the namespace that an instance belongs to. */
  readonly registryOf: (instanceId: string) => JobRegistry;
  readonly dispatcher: { readonly status: Pick<DispatcherStatus, "waitOf" | "progressOf"> };
  readonly region: Pick<Region, "find">;
  /** Undefined where one member owns every shard. */
  readonly allocators: Pick<Allocators, "report" | "resize"> | undefined;
}

export interface CallContext extends Delivery {
  readonly shard: Shard;
  readonly parts: CallTableParts;
}

interface CallEntry<T extends CallType> {
  /** `user`: made for a user, who gets the error that the outcome is unknown if the member that sent it is lost. */
  readonly sender: "user" | "member";
  readonly effect: "read" | "write";
  /**
   * Precondition of the result. `commit`: outstanding turns of the instance, or the commit that the call leads to.
   * `instance`: something that the instance may do at any time or never, so the call has no timeout at the caller, and the
   * owner answers other members "not yet" after a while.
   */
  readonly waitsFor: "nothing" | "commit" | "instance";
  /**
   * `recorded`: the key is written in the commit that the call leads to, or with its refusal, and a repetition is
   * recognised by it. `harmless`: carrying the call out twice does the same as once.
   */
  readonly repetition: "recorded" | "harmless";
  readonly carryOut: (call: CallOf<T>, context: CallContext) => Promise<ResultOf<T>>;
}

const inputCall = {
  sender: "user",
  effect: "write",
  waitsFor: "commit",
  repetition: "recorded",
  carryOut: once(tellInstance),
} as const;

const query = { sender: "user", effect: "read", waitsFor: "commit", repetition: "harmless" } as const;
const wait = { sender: "user", effect: "read", waitsFor: "instance", repetition: "harmless" } as const;

/** Every call, and how the owner of the shard deals with it. */
export const callTable: { readonly [T in CallType]: CallEntry<T> } = {
  StartInstance: { ...inputCall, carryOut: startInstance },
  PauseInstance: inputCall,
  ResumeInstance: { ...inputCall, carryOut: once(resumeInstance) },
  TerminateInstance: inputCall,
  CancelInstance: inputCall,
  RetryInstance: inputCall,
  RerunInstance: inputCall,
  RaiseEvent: inputCall,
  RequestUpdate: inputCall,
  SucceedTask: inputCall,
  SkipTask: inputCall,
  StopTask: inputCall,
  CompleteTask: inputCall,
  UpdateContext: inputCall,
  UpdateParams: inputCall,
  AddSubTask: inputCall,
  AddItems: {
    sender: "member",
    effect: "write",
    waitsFor: "commit",
    repetition: "harmless",
    carryOut: (call, { shard, parts }) =>
      shard.instances.tell(call.id, (machine) => inputOf(call, machine, parts.registryOf(call.id))),
  },
  GetStatus: {
    ...query,
    carryOut: ({ id }, { shard, parts }) =>
      shard.instances.ask(id, (_, actor) => readStatus(actor, liveAttempts(shard, parts)), { withCode: true }),
  },
  GetBreakpoint: {
    ...query,
    carryOut: ({ id }, { shard, parts }) =>
      shard.instances.ask(id, (_, actor) => readBreakpoint(actor, parts.clock.now())),
  },
  GetIdentity: {
    ...query,
    carryOut: ({ id }, { shard }) => shard.instances.ask(id, (_, actor) => readIdentity(actor)),
  },
  GetEnd: { ...query, carryOut: ({ id }, { shard }) => shard.instances.ask(id, (_, actor) => readEnd(actor)) },
  GetTask: {
    ...query,
    carryOut: ({ id, task }, { shard, parts }) =>
      shard.instances.ask(id, (_, actor) => readTask(actor, task, liveAttempts(shard, parts))),
  },
  GetItems: {
    ...query,
    carryOut: ({ id, task, ...filter }, { shard }) =>
      shard.instances.askMaps(id, (instance) => listItems(instance, task, filter)),
  },
  QueryCode: {
    ...query,
    carryOut: (call, { shard }) =>
      shard.instances.ask(call.id, (_, actor) => queryCode(actor, call.query, call.input), {
        ofCode: { name: call.query, ...(call.input !== undefined && { input: call.input }) },
      }),
  },
  AwaitEnd: { ...wait, carryOut: awaitEnd },
  AwaitUpdate: {
    ...wait,
    carryOut: ({ id, update }, { shard, parts }) => hold(shard.ends.awaitAnswer(id, update), parts.clock),
  },
  PurgeInstances: {
    sender: "user",
    effect: "write",
    waitsFor: "commit",
    repetition: "harmless",
    carryOut: ({ instances }, { shard }) => shard.purge(instances),
  },
  ReportAttempt: {
    sender: "member",
    effect: "write",
    waitsFor: "commit",
    repetition: "harmless",
    carryOut: (call, { shard }) => shard.attempts.end(call),
  },
  RenewAttempts: {
    sender: "member",
    effect: "write",
    waitsFor: "commit",
    repetition: "harmless",
    carryOut: (call, { shard }) => shard.attempts.renew(call),
  },
  ReportSlots: {
    sender: "member",
    effect: "write",
    waitsFor: "nothing",
    repetition: "harmless",
    carryOut: async ({ report }, { shard, parts }) => await allocatorsOf(parts).report(claimOf(shard), report),
  },
  ResizeDomain: {
    sender: "user",
    effect: "write",
    waitsFor: "commit",
    repetition: "recorded",
    carryOut: once(resizeDomain),
  },
};

/** The progress of an attempt that another member hosts is what that member has told of it. */
function liveAttempts({ delegatedAttempts }: Shard, { dispatcher: { status } }: CallTableParts): LiveAttempts {
  return {
    waitOf: (attemptId) => status.waitOf(attemptId),
    progressOf: (attemptId) => status.progressOf(attemptId) ?? delegatedAttempts.progressOf(attemptId),
  };
}

type CarryOut<T extends CallType> = (call: CallOf<T>, context: CallContext) => Promise<void>;

/**
 * A call may be repeated long after it was carried out, through another mailbox or by another owner. The work itself
 * records that it was done; that it was refused is recorded here, or a copy could be carried out after all. There are no
 * copies of a call that never left this member: it is carried out in order with those before and after it.
 */
function once<T extends CallType>(carryOut: CarryOut<T>): CarryOut<T> {
  return (call, context) => {
    const { key, isFirst } = context;
    return key === undefined || isFirst
      ? carryOut(call, context)
      : unlessRecorded(key, context, () => carryOut(call, context));
  };
}

async function unlessRecorded(key: string, context: CallContext, work: () => Promise<void>): Promise<void> {
  const { shard, parts } = context;
  const before = await parts.store.findRequest(shard.number, key);
  if (before?.refusal === null) return;
  if (before !== undefined) throw rebuildRefusal(before.refusal);
  try {
    await work();
  } catch (error) {
    if (error instanceof EngineError && !error.retryable) {
      const { code, message } = error;
      await shard.commit({ requests: [requestRow(context, key, JSON.stringify({ code, message }))] });
    }
    throw error;
  }
}

function rebuildRefusal(refusal: string): EngineError {
  const { code, message } = parseStored(refusal, "the answer to a request") as { code: ErrorCode; message: string };
  return new EngineError(code, message);
}

function requestRow({ shard, parts }: CallContext, idempotencyKey: string, refusal: string | null): RequestRow {
  return { shard: shard.number, idempotencyKey, at: parts.clock.now(), refusal };
}

async function startInstance(call: CallOf<"StartInstance">, context: CallContext): Promise<void> {
  const { key, isFirst, shard } = context;
  if (call.isGivenId) return await startWithGivenId(call, context);
  if (key === undefined || isFirst) return await startNew(call, context);
  // A generated id is as good as a key, until the instance is purged.
  await unlessRecorded(key, context, async () => {
    if (!(await shard.instances.has(call.id))) return await startNew(call, context, key);
    await shard.commit({ requests: [requestRow(context, key, null)] });
  });
}

const startWithGivenId = once<"StartInstance">((call, context) => startNew(call, context, context.key));

async function startNew(call: CallOf<"StartInstance">, { shard, parts }: CallContext, key?: string): Promise<void> {
  const { id, isGivenId, reuse, workflow, version, input, event } = call;
  const definition = await parts.definitions.load(workflow, version);
  // The member that asks has saved them, but perhaps in a store that has gone back since.
  const definitions = await parts.definitions.withNested(definition);
  const request = { id, isGivenId, reuse, definition, definitions, input, ...(event && { event }) };
  await shard.starter.start(key === undefined ? request : { ...request, requestKey: key });
}

function tellInstance(call: CallOf<InputCallType>, { shard, parts, key }: CallContext): Promise<void> {
  return shard.instances.tell(call.id, (machine) => inputOf(call, machine, parts.registryOf(call.id)), key);
}

function resumeInstance(call: CallOf<"ResumeInstance">, context: CallContext): Promise<void> {
  const { shard } = context;
  return shard.quarantine.has(call.id) ? shard.quarantine.release(call.id) : tellInstance(call, context);
}

/** A caller on this member waits for as long as it takes. */
function awaitEnd({ id }: CallOf<"AwaitEnd">, context: CallContext): Promise<ResultOf<"AwaitEnd">> {
  const { shard, parts, isFirst } = context;
  return isFirst ? shard.ends.awaitEnd(id, readEnd) : hold(shard.ends.sharedEnd(id), parts.clock);
}

/** Undefined if it takes longer: the caller asks again. */
async function hold<T>(awaited: Promise<T>, clock: Clock): Promise<T | undefined> {
  const { promise: notYet, resolve } = Promise.withResolvers<undefined>();
  const timer = clock.after(holdMs, () => resolve(undefined));
  awaited.catch(() => undefined);
  try {
    return await Promise.race([awaited, notYet]);
  } finally {
    timer.cancel();
  }
}

async function resizeDomain({ domain }: CallOf<"ResizeDomain">, context: CallContext): Promise<void> {
  const { shard, parts, key } = context;
  const requests = key === undefined ? [] : [requestRow(context, key, null)];
  await shard.commit({ domains: [domain], requests });
  await parts.allocators?.resize(claimOf(shard), domain);
}

function claimOf({ token: { epoch }, claimedAt }: Shard): AllocatorClaim {
  return { epoch, claimedAt };
}

function allocatorsOf({ allocators }: CallTableParts): NonNullable<CallTableParts["allocators"]> {
  if (allocators === undefined) throw new EngineError("ENGINE_STATE", "this engine shares no domains");
  return allocators;
}
