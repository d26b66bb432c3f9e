import type { HistoryPage, TurnAnswer, TurnQuestion } from "../kernel/code/turn-question.ts";
import type { Outcome } from "../kernel/input.ts";
import type { AttemptDescriptor } from "./attempt-descriptor.ts";
import type { NumberedAnswer, NumberedQuestion } from "./attempt-question.ts";
import type { AttemptReport } from "./attempt-report.ts";
import type { GrantFence } from "./grant-fence.ts";
import type { TaskLogLine } from "./task-log.ts";
import type { TaskInputs } from "./task-run.ts";

/**
 * The protocol between a worker and the member it is connected to: JSON texts, one message each, validated by both ends
 * (`session-schema.ts`). Messages may be lost, duplicated and reordered; these rules make that safe:
 *
 * - M1 A member numbers its grants, from 1 on each connection. A worker accepts each number once, and with every heartbeat
 *   closes the numbers up to the highest it has seen (`lastGrant`), so that a grant which arrives after that is void. A
 *   member repeats a grant above `lastGrant` and settles one below it that is not listed as missing.
 * - M2 A message about an attempt names its grant too, so that it cannot apply to a later grant of the same attempt.
 *   Attempts from an earlier connection have grant 0.
 * - M3 Hellos and heartbeats are numbered (`sequence`) through all connections of a worker. A member ignores one that is not
 *   newer than the last it has seen; a renewed lease counts from before the worker sent the heartbeat that is answered.
 * - M4 A result is sent until it is acknowledged. A member acknowledges, or aborts, an attempt that it does not know.
 * - M5 An abort is answered with `Refused`, even if the attempt does not run: its grant is void from then on. It is repeated
 *   until the worker has answered, or has closed the grant and does not list the attempt.
 * - M6 A question about code has a number, and is repeated unchanged until it is answered; an answer names the number and
 *   the prefix of the history that it is about. Any other is dropped.
 * - M7 A question of a running job has a number, which its worker uses once, and is repeated unchanged until it is answered
 *   or its attempt has ended. Whatever it changes is changed once.
 */
export type WorkerMessage =
  | Hello
  | Heartbeat
  | Result
  | GrantRefusal
  | Leaving
  | Logged
  | Reported
  | TurnAnswered
  | HistoryAsked
  | QuestionAsked;

export type MemberMessage =
  | Welcome
  | Grant
  | AbortOrder
  | Acknowledged
  | Renewed
  | Goodbye
  | TurnAsked
  | TurnWithdrawn
  | History
  | QuestionAnswered;

/** A running job asks its instance. */
export interface QuestionAsked extends NumberedQuestion {
  readonly type: "QuestionAsked";
}

export interface QuestionAnswered extends NumberedAnswer {
  readonly type: "QuestionAnswered";
}

/** Identifies one grant of an attempt. */
export interface GrantKey {
  readonly attemptId: string;
  readonly grant: number;
}

/** Opens a session; sent again when the worker's jobs change. Repeated until it is answered. */
export interface Hello {
  readonly type: "Hello";
  /** New each time the worker's process starts, so the same id means the same running attempts. */
  readonly worker: string;
  readonly sequence: number;
  readonly lastGrant: number;
  readonly jobs: readonly string[];
  /** What the server keeps of jobs, so that workflows can use jobs that the server does not have. */
  readonly jobDetails?: readonly JobDetails[];
  /** The code workflows that it runs, in all versions. */
  readonly workflows?: readonly WorkflowDetails[];
  /** Maximum of questions about code at a time. */
  readonly turns?: number;
  readonly slots: number;
  /** Tasks may require a worker with certain tags. */
  readonly tags?: readonly string[];
  /** The `welcome` that the worker received last, if any: no other member has decided about its attempts since. */
  readonly lastWelcome?: string;
  readonly running: readonly RunningAttempt[];
  readonly results: readonly FinishedAttempt[];
}

/** A job that the worker has. */
export interface JobDetails {
  /** `name@signature`. Jobs with the same id take the same parameters. */
  readonly id: string;
  /** JSON text: the JSON Schema of the input, with defaults in it, or else a text about the parameters. */
  readonly parameters: string;
  readonly description?: string;
  /** Changes with the code. */
  readonly sourceHash?: string;
}

/** A code workflow in one version that the worker has. */
export interface WorkflowDetails {
  readonly name: string;
  readonly version: string;
  /** JSON text: the JSON Schema of the input. */
  readonly input?: string;
  readonly timeoutSeconds?: number;
  readonly maxConcurrentActivities?: number;
  readonly maxInstances?: { readonly max: number; readonly policy?: "queue" | "skip" | "fail" };
}

/** A question about the code of an instance. */
export interface TurnAsked {
  readonly type: "TurnAsked";
  readonly turn: number;
  readonly question: TurnQuestion;
}

/** The answer is not wanted any more. */
export interface TurnWithdrawn {
  readonly type: "TurnWithdrawn";
  readonly turn: number;
}

/** Asks for the history of a question, from an event on. Repeated until it is answered. */
export interface HistoryAsked {
  readonly type: "HistoryAsked";
  readonly turn: number;
  readonly from: number;
}

export interface History {
  readonly type: "History";
  readonly turn: number;
  readonly from: number;
  readonly page: HistoryPage;
}

/** Generation, events and steps are those of the question. */
export interface TurnAnswered {
  readonly type: "TurnAnswered";
  readonly turn: number;
  readonly generation: number;
  readonly events: number;
  readonly steps: number;
  readonly answer: TurnAnswer;
}

export interface RunningAttempt {
  readonly grant: number;
  readonly descriptor: AttemptDescriptor;
}

export interface FinishedAttempt extends RunningAttempt {
  readonly outcome: Outcome;
}

export interface Heartbeat {
  readonly type: "Heartbeat";
  readonly sequence: number;
  readonly lastGrant: number;
  readonly running: readonly GrantKey[];
  /** Attempts whose results are not acknowledged yet. */
  readonly finished: readonly GrantKey[];
  /** Questions about code that it has not answered. */
  readonly turns?: readonly number[];
}

export interface Result extends GrantKey {
  readonly type: "Result";
  readonly outcome: Outcome;
  /** `startedAt` of the grant's descriptor. */
  readonly startedAt: number;
}

/** The worker did not start the attempt, or has stopped it. It may run elsewhere. */
export interface GrantRefusal extends GrantKey {
  readonly type: "Refused";
  readonly why: string;
}

/** The worker has stopped and runs nothing any more. */
export interface Leaving {
  readonly type: "Leaving";
}

/** Log lines of jobs. They are sent once and may be lost. */
export interface Logged {
  readonly type: "Logged";
  readonly lines: readonly LoggedLine[];
}

/** The last reports of running jobs about their attempts. They are sent at most a few times a second, and may be lost. */
export interface Reported {
  readonly type: "Reported";
  readonly reports: readonly ReportOfAttempt[];
}

export interface ReportOfAttempt extends AttemptReport {
  readonly attemptId: string;
}

/** A log line without the task and instance, which the member knows from the attempt. */
export type LoggedLine = Pick<TaskLogLine, "attemptId" | "at" | "level" | "message" | "fields">;

/** Answers a hello or heartbeat. The lease of every attempt that ran at that heartbeat and is not listed here is renewed. */
export interface LeaseRenewal {
  readonly sequence: number;
  /** Attempts that the worker is to stop. */
  readonly unwanted: readonly GrantKey[];
  /** Attempts whose owner has not answered yet: their lease is neither renewed nor ended. */
  readonly undecided: readonly GrantKey[];
  /** Attempts of other members, whose owner renewed the lease that many milliseconds ago. */
  readonly renewalAges: readonly RenewalAge[];
}

export interface RenewalAge extends GrantKey {
  readonly ageMs: number;
}

/** The answer to a hello. */
export interface Welcome extends LeaseRenewal {
  readonly type: "Welcome";
  /** The worker's address with this member, different for every member. */
  readonly welcome: string;
  /** The interval at which the worker sends heartbeats. */
  readonly beatMs: number;
  /** The time without a message after which this member declares the worker lost. */
  readonly lostMs: number;
}

/** The answer to a heartbeat. */
export interface Renewed extends LeaseRenewal {
  readonly type: "Renewed";
}

export interface Grant {
  readonly type: "Grant";
  readonly grant: number;
  readonly descriptor: AttemptDescriptor;
  /** JSON text. */
  readonly params: string;
  readonly inputs: TaskInputs;
  /** The token by which the attempt can be completed from outside, after an outcome `awaits`. Absent for tasks of no instance. */
  readonly completionToken?: string | undefined;
  /** Absent for tasks of no shard. */
  readonly fence?: GrantFence;
}

export interface AbortOrder extends GrantKey {
  readonly type: "Abort";
  readonly reason: { readonly name: string; readonly message: string };
}

export interface Acknowledged extends GrantKey {
  readonly type: "Acknowledged";
}

/** Disconnects the worker, which is to connect to another member. */
export interface Goodbye {
  readonly type: "Goodbye";
}

export function formatMessage(message: WorkerMessage | MemberMessage): string {
  return JSON.stringify(message);
}
