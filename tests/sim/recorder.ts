import type { RenewalQuestion } from "../../src/member/shard-renewals.ts";
import type { LogFields, Logger } from "../../src/base/logger.ts";
import type { Batch, ShardClaim } from "../../src/stores/store.ts";
import { attemptName } from "../recovery/side-effects.ts";
import type { EventLog } from "./event-log.ts";
import type {
  LeaseRenewal,
  ClaimRecord,
  ClientCall,
  ClockSetting,
  CommitRecord,
  RenewalRequest,
  JobRun,
  LifeRecord,
  LogLine,
  MembershipRecord,
  Moment,
  RestoreRecord,
  HeardChange,
  StoreOutage,
  Watch,
  WorkerRenewal,
} from "./evidence.ts";

/** The process that an entry is about. */
interface ProcessRef {
  readonly number: number;
  readonly machine: string;
}

type MemberMessage =
  | { readonly type: "RenewAttempts"; readonly attemptIds: readonly string[] }
  | Pick<RenewalQuestion, "type" | "renewals">
  | { readonly type: "OfferSlot"; readonly ticket: string }
  | { readonly type: "GrantAttempt"; readonly ticket: string; readonly descriptor: { readonly attemptId: string } };

/** Records everything that happens, as evidence for the checkers and for the log. */
export class Recorder {
  readonly calls: ClientCall[] = [];
  readonly runs: JobRun[] = [];
  readonly lives: LifeRecord[] = [];
  readonly clockSettings: ClockSetting[] = [];
  readonly storeOutages: StoreOutage[] = [];
  readonly restores: RestoreRecord[] = [];
  readonly commits: CommitRecord[] = [];
  readonly claims: ClaimRecord[] = [];
  readonly memberships: MembershipRecord[] = [];
  readonly renewalRequests: RenewalRequest[] = [];
  readonly logLines: LogLine[] = [];
  readonly watches: Watch[] = [];
  readonly problems: string[] = [];
  readonly #log: EventLog;
  readonly #now: () => number;
  /** The first messages that offered slots, by ticket. */
  readonly #offers = new Map<string, { readonly life: number; readonly at: number }>();
  #order = 0;

  constructor(log: EventLog, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  moment(): Moment {
    return { at: this.#now(), order: this.#order++ };
  }

  recordProblem(what: string): void {
    this.#log.note(`outage: ${what}`);
    this.problems.push(what);
  }

  /** Returns a record, whose last time is added when the store is made known as restored. */
  recordRestore(backedUp: Moment): RestoreRecord {
    const record: RestoreRecord = { backedUp, restored: this.moment(), known: undefined };
    this.restores.push(record);
    this.#log.note(`fault: the store goes back to ${backedUp.at.toFixed(0)}`);
    return record;
  }

  recordFault(what: string): void {
    this.#log.note(`fault: ${what}`);
  }

  /** Starts an outage of the store for a machine. Returns a function that ends it. */
  startStoreOutage(machine: string): () => void {
    const outage: StoreOutage = { machine, from: this.#now(), to: Infinity };
    this.storeOutages.push(outage);
    return () => void (outage.to = Math.min(outage.to, this.#now()));
  }

  /** Ends all outages of the store. */
  endStoreOutages(): void {
    for (const outage of this.storeOutages) outage.to = Math.min(outage.to, this.#now());
  }

  recordStart(machine: string, role: LifeRecord["role"], rate: number): LifeRecord {
    const record: LifeRecord = {
      number: this.lives.length + 1,
      machine,
      role,
      rate,
      born: this.moment(),
      up: undefined,
      stopping: undefined,
      end: undefined,
      freezes: [],
      renewals: [],
      workerRenewals: [],
    };
    this.lives.push(record);
    this.#log.note(`${machine} begins life ${record.number}`);
    return record;
  }

  recordEnd(life: LifeRecord, how: "crashed" | "stopped" | "gave up", why: string): void {
    life.end = { ...this.moment(), how };
    this.#log.note(`${life.machine} ${how} in life ${life.number}: ${why}`);
  }

  recordClockSetting(machine: string, wallOffsetMs: number): void {
    this.clockSettings.push({ ...this.moment(), machine, wallOffsetMs });
    this.#log.note(`${machine} has its clock ${wallOffsetMs.toFixed(0)} ms ahead`);
  }

  recordCommit(life: ProcessRef, batch: Batch, sent: Moment): void {
    this.commits.push({ ...this.moment(), life: life.number, sent, batch });
    const { fences, changes } = batch;
    const shown = fences.map(({ shard, epoch, number }) => `${shard}/${epoch}/${number}`).join(" ");
    const { definitions, ...rest } = changes;
    const named = definitions.map(({ name, version }) => `${name} ${version}`);
    this.#log.note(`${life.machine} committed ${shown}`, JSON.stringify([fences, named, rest]));
  }

  recordClaim(life: ProcessRef, shard: number, owner: string, claim: ShardClaim): void {
    this.claims.push({ ...this.moment(), life: life.number, shard, owner, claim });
    this.#log.note(`${life.machine} claimed ${shard} with epoch ${claim.epoch}`);
  }

  recordMembership(life: ProcessRef, what: MembershipRecord["what"], member: string): void {
    this.memberships.push({ ...this.moment(), life: life.number, what, member });
    this.#log.note(`${life.machine}: member ${member} ${what}`);
  }

  recordLeaseRenewal(life: ProcessRef, renewal: Omit<LeaseRenewal, "knownAt">): void {
    this.lives[life.number - 1]?.renewals.push({ ...renewal, knownAt: this.#now() });
  }

  recordWorkerRenewal(life: ProcessRef, renewal: Omit<WorkerRenewal, "knownAt">): void {
    this.lives[life.number - 1]?.workerRenewals.push({ ...renewal, knownAt: this.#now() });
  }

  /** Records a message of a member to another, over the bus or a mailbox. */
  recordMessage(life: ProcessRef, text: string): void {
    if (!/"type":"(RenewAttempts|RenewAttemptsByShard|OfferSlot|GrantAttempt)"/.test(text)) return;
    const { body } = JSON.parse(text) as { body?: MemberMessage };
    if (body?.type === "RenewAttempts") {
      this.renewalRequests.push({ life: life.number, at: this.#now(), attemptIds: body.attemptIds });
    } else if (body?.type === "RenewAttemptsByShard") {
      const attemptIds = body.renewals.flatMap(({ renewal }) => renewal.attemptIds);
      this.renewalRequests.push({ life: life.number, at: this.#now(), attemptIds });
    } else if (body?.type === "OfferSlot") {
      if (!this.#offers.has(body.ticket)) this.#offers.set(body.ticket, { life: life.number, at: this.#now() });
    } else if (body?.type === "GrantAttempt") {
      // The lease of an attempt on a slot of another member counts from the offer of the slot.
      const offer = this.#offers.get(body.ticket);
      if (offer !== undefined) this.renewalRequests.push({ ...offer, attemptIds: [body.descriptor.attemptId] });
    }
  }

  /** Records that the worker has forgotten the result of its last run of the attempt. */
  recordAcknowledgement(life: ProcessRef, attemptId: string): void {
    const run = this.runs.findLast((each) => each.attemptId === attemptId && each.life === life.number);
    if (run?.end !== undefined) run.acknowledged = this.moment();
  }

  recordRun(life: ProcessRef, job: string, params: JobRun["params"], context: JobRunContext): JobRun {
    const { attemptId, taskName, workflowName, heartbeatDetails: found } = context;
    const run: JobRun = {
      attemptId,
      name: attemptName(attemptId),
      taskName,
      workflow: workflowName,
      job,
      params,
      life: life.number,
      start: this.moment(),
      found,
      heartbeats: [],
      abort: undefined,
      end: undefined,
      acknowledged: undefined,
    };
    this.runs.push(run);
    this.#log.note(`${life.machine} runs ${attemptId}, ${taskName}`);
    return run;
  }

  recordHeartbeat(run: JobRun, details: unknown): void {
    run.heartbeats.push({ ...this.moment(), details });
    this.#log.note(`life ${run.life} sends a heartbeat of ${run.attemptId}: ${JSON.stringify(details)}`);
  }

  recordAbort(run: JobRun): void {
    run.abort ??= this.moment();
    this.#log.note(`life ${run.life} aborts ${run.attemptId}`);
  }

  recordRunEnd(run: JobRun, how: "done" | "failed" | "aborted"): void {
    run.end = { ...this.moment(), how };
    this.#log.note(`life ${run.life} has ${run.attemptId} ${how}`);
  }

  recordCall(call: Omit<ClientCall, "number" | "invoked" | "answered" | "outcome" | "code" | "value">): ClientCall {
    const number = this.calls.length + 1;
    const invoked = this.moment();
    const pending = { answered: undefined, outcome: "pending", code: undefined, value: undefined } as const;
    const record: ClientCall = { ...call, number, invoked, ...pending };
    this.calls.push(record);
    const { operation, instanceId = "a new instance", life } = call;
    this.#log.note(`client asks life ${life}, ${number}: ${operation} ${instanceId}`);
    return record;
  }

  recordAnswer(call: ClientCall, answer: Pick<ClientCall, "outcome" | "code" | "value">): void {
    Object.assign(call, answer, { answered: this.moment() });
    this.#log.note(`client hears of ${call.number}: ${answer.outcome} ${answer.code ?? ""}`);
  }

  recordWatch(life: ProcessRef, about: Pick<Watch, "namespace" | "instanceId">): Watch {
    const number = this.watches.length + 1;
    const open = { ready: undefined, ended: undefined, lastedUntil: undefined, heard: [] };
    const watch: Watch = { ...about, number, life: life.number, began: this.moment(), ...open };
    this.watches.push(watch);
    this.#log.note(`watch ${number} of ${about.instanceId ?? about.namespace} begins in life ${life.number}`);
    return watch;
  }

  recordHeard(watch: Watch, change: Omit<HeardChange, keyof Moment>): void {
    watch.heard.push({ ...this.moment(), ...change });
    this.#log.note(`watch ${watch.number} hears turn ${change.turn} of ${change.instanceId}`);
  }

  loggerOf(life: ProcessRef): Logger {
    const write = (level: LogLine["level"]) => (fields: LogFields, message: string) => {
      this.logLines.push({ ...this.moment(), life: life.number, level, fields, message });
      if (level === "warn" || level === "error")
        this.#log.note(`${life.machine} logs ${level}: ${message} ${shown(fields)}`);
    };
    return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  }
}

interface JobRunContext {
  readonly attemptId: string;
  readonly taskName: string;
  readonly workflowName: string;
  readonly heartbeatDetails: unknown;
}

function shown(fields: LogFields): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${value instanceof Error ? value.message : JSON.stringify(value)}`)
    .join(" ");
}
