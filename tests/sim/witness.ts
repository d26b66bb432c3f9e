import type { LogFields, Logger } from "../../src/base/logger.ts";
import type { Batch, ShardClaim } from "../../src/stores/store.ts";
import { attemptName } from "../recovery/side-effects.ts";
import type { EventLog } from "./event-log.ts";
import type {
  ClaimRecord,
  ClientCall,
  ClockSetting,
  CommitRecord,
  HoldQuestion,
  JobRun,
  LifeRecord,
  LogLine,
  MembershipRecord,
  Moment,
  StoreTrouble,
  Vouch,
} from "./evidence.ts";

/** Whose doing it is. */
interface Doer {
  readonly number: number;
  readonly machine: string;
}

/** Writes everything down as it happens, for the checkers and for the log. */
export class Witness {
  readonly calls: ClientCall[] = [];
  readonly runs: JobRun[] = [];
  readonly lives: LifeRecord[] = [];
  readonly clockSettings: ClockSetting[] = [];
  readonly storeTroubles: StoreTrouble[] = [];
  readonly commits: CommitRecord[] = [];
  readonly claims: ClaimRecord[] = [];
  readonly memberships: MembershipRecord[] = [];
  readonly holdQuestions: HoldQuestion[] = [];
  readonly logLines: LogLine[] = [];
  readonly troubles: string[] = [];
  readonly #log: EventLog;
  readonly #now: () => number;
  #order = 0;

  constructor(log: EventLog, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  moment(): Moment {
    return { at: this.#now(), order: this.#order++ };
  }

  trouble(what: string): void {
    this.#log.note(`trouble: ${what}`);
    this.troubles.push(what);
  }

  fault(what: string): void {
    this.#log.note(`fault: ${what}`);
  }

  /** Gives back how to say that it is over; one that nobody says is over lasts to the end. */
  storeTrouble(machine: string): () => void {
    const trouble: StoreTrouble = { machine, from: this.#now(), to: Infinity };
    this.storeTroubles.push(trouble);
    return () => void (trouble.to = Math.min(trouble.to, this.#now()));
  }

  /** All faults are. */
  endStoreTroubles(): void {
    for (const trouble of this.storeTroubles) trouble.to = Math.min(trouble.to, this.#now());
  }

  birth(machine: string, role: LifeRecord["role"], rate: number): LifeRecord {
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
      vouches: [],
    };
    this.lives.push(record);
    this.#log.note(`${machine} begins life ${record.number}`);
    return record;
  }

  death(life: LifeRecord, how: "crashed" | "stopped" | "gave up", why: string): void {
    life.end = { ...this.moment(), how };
    this.#log.note(`${life.machine} ${how} in life ${life.number}: ${why}`);
  }

  clockSet(machine: string, wallOffsetMs: number): void {
    this.clockSettings.push({ ...this.moment(), machine, wallOffsetMs });
    this.#log.note(`${machine} has its clock ${wallOffsetMs.toFixed(0)} ms ahead`);
  }

  commit(life: Doer, batch: Batch): void {
    this.commits.push({ ...this.moment(), life: life.number, batch });
    const { fences, changes } = batch;
    const shown = fences.map(({ shard, epoch, number }) => `${shard}/${epoch}/${number}`).join(" ");
    const { definitions, ...rest } = changes;
    const named = definitions.map(({ name, version }) => `${name} ${version}`);
    this.#log.note(`${life.machine} committed ${shown}`, JSON.stringify([fences, named, rest]));
  }

  claim(life: Doer, shard: number, owner: string, claim: ShardClaim): void {
    this.claims.push({ ...this.moment(), life: life.number, shard, owner, claim });
    this.#log.note(`${life.machine} claimed ${shard} with epoch ${claim.epoch}`);
  }

  membership(life: Doer, what: MembershipRecord["what"], member: string): void {
    this.memberships.push({ ...this.moment(), life: life.number, what, member });
    this.#log.note(`${life.machine}: member ${member} ${what}`);
  }

  renewal(life: Doer, member: string, sentAt: number): void {
    this.lives[life.number - 1]?.renewals.push({ member, sentAt, knownAt: this.#now() });
  }

  vouched(life: Doer, vouch: Omit<Vouch, "knownAt">): void {
    this.lives[life.number - 1]?.vouches.push({ ...vouch, knownAt: this.#now() });
  }

  /** A member sends a text to another, over the bus or through the store. */
  sent(life: Doer, text: string): void {
    if (!text.includes('"type":"RenewAttempts"')) return;
    const { body } = JSON.parse(text) as { body?: { type?: string; attemptIds?: readonly string[] } };
    if (body?.type !== "RenewAttempts") return;
    this.holdQuestions.push({ life: life.number, at: this.#now(), attemptIds: body.attemptIds ?? [] });
  }

  /** The worker keeps the result of its last go at the attempt no longer. */
  acknowledged(life: Doer, attemptId: string): void {
    const run = this.runs.findLast((each) => each.attemptId === attemptId && each.life === life.number);
    if (run?.end !== undefined) run.acknowledged = this.moment();
  }

  run(life: Doer, job: string, params: JobRun["params"], context: JobRunContext): JobRun {
    const { attemptId, taskName, workflowName } = context;
    const run: JobRun = {
      attemptId,
      name: attemptName(attemptId),
      taskName,
      workflow: workflowName,
      job,
      params,
      life: life.number,
      start: this.moment(),
      abort: undefined,
      end: undefined,
      acknowledged: undefined,
    };
    this.runs.push(run);
    this.#log.note(`${life.machine} runs ${attemptId}, ${taskName}`);
    return run;
  }

  runAborted(run: JobRun): void {
    run.abort ??= this.moment();
    this.#log.note(`life ${run.life} aborts ${run.attemptId}`);
  }

  runEnded(run: JobRun, how: "done" | "failed" | "aborted"): void {
    run.end = { ...this.moment(), how };
    this.#log.note(`life ${run.life} has ${run.attemptId} ${how}`);
  }

  invoke(call: Omit<ClientCall, "number" | "invoked" | "answered" | "outcome" | "code" | "value">): ClientCall {
    const number = this.calls.length + 1;
    const invoked = this.moment();
    const pending = { answered: undefined, outcome: "pending", code: undefined, value: undefined } as const;
    const record: ClientCall = { ...call, number, invoked, ...pending };
    this.calls.push(record);
    const { operation, instanceId = "a new instance", life } = call;
    this.#log.note(`client asks life ${life}, ${number}: ${operation} ${instanceId}`);
    return record;
  }

  answer(call: ClientCall, answer: Pick<ClientCall, "outcome" | "code" | "value">): void {
    Object.assign(call, answer, { answered: this.moment() });
    this.#log.note(`client hears of ${call.number}: ${answer.outcome} ${answer.code ?? ""}`);
  }

  loggerOf(life: Doer): Logger {
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
}

function shown(fields: LogFields): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${value instanceof Error ? value.message : JSON.stringify(value)}`)
    .join(" ");
}
