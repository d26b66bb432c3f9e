import type { Outcome } from "../kernel/input.ts";
import type { AttemptDescriptor } from "./attempt-descriptor.ts";
import type { TaskLogLine } from "./task-log.ts";
import type { TaskInputs } from "./task-run.ts";

/**
 * The texts between a worker and the member it is connected to: JSON, one message each, checked by both ends
 * (`session-schema.ts`). The rules that make them safe to lose, double and reorder:
 *
 * - M1 A member numbers its grants, from 1 on each connection. A number is taken up once: a worker ignores one that it has
 *   seen, and with every sign of life closes the numbers up to the highest it has seen (`lastGrant`), so that a grant which is
 *   later than that is void. A member repeats a grant above the lastGrant and takes back one below it that is not listed.
 * - M2 What is said of an attempt names its grant too, so that nothing meant for an earlier go at it hits a later one.
 *   Attempts that a worker brings along from an earlier connection have grant 0.
 * - M3 Signs of life are numbered (`beat`), through all connections of a worker. A member looks at none that is older than
 *   one it has seen; a worker that is vouched for counts from before it sent the beat that is answered.
 * - M4 A result is sent until it is acknowledged. Whatever a member does not know, it acknowledges or does not want.
 * - M5 An order to stop is answered with a refusal, also for what does not run: its grant is void from then on. It is
 *   repeated until the worker has answered, or has closed the grant and does not list the attempt.
 */
export type WorkerMessage = Hello | Heartbeat | Result | Refusal | Leaving | Logged;

export type MemberMessage = Welcome | Grant | AbortOrder | Acknowledged | Renewed | Goodbye;

/** One go at an attempt. */
export interface GrantKey {
  readonly attemptId: string;
  readonly grant: number;
}

/** The first thing that is said, and again when the worker's jobs change. Repeated until there is an answer. */
export interface Hello {
  readonly type: "Hello";
  /** New each time the worker's process starts: whoever has the same id has also the same running attempts. */
  readonly worker: string;
  readonly sequence: number;
  readonly lastGrant: number;
  readonly jobs: readonly string[];
  readonly slots: number;
  /** Whose welcome it had last, if any: nobody else has had a say in what it runs since. */
  readonly lastWelcome?: string;
  readonly running: readonly RunningAttempt[];
  readonly results: readonly FinishedAttempt[];
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
  /** Their results are not acknowledged yet. */
  readonly finished: readonly GrantKey[];
}

export interface Result extends GrantKey {
  readonly type: "Result";
  readonly outcome: Outcome;
  /** As the grant said. */
  readonly startedAt: number;
}

/** The attempt was not taken, or was taken and stopped in good order. It may run elsewhere. */
export interface Refusal extends GrantKey {
  readonly type: "Refused";
  readonly why: string;
}

/** The worker stops. It runs nothing any more. */
export interface Leaving {
  readonly type: "Leaving";
}

/** What jobs have said. Nothing depends on it, so it is sent once, and may be lost. */
export interface Logged {
  readonly type: "Logged";
  readonly lines: readonly LoggedLine[];
}

/** Of which task of which instance it is, the member knows. */
export type LoggedLine = Pick<TaskLogLine, "attemptId" | "at" | "level" | "message" | "fields">;

/** What a member says to a sign of life. What ran at that beat and is listed nowhere is vouched for. */
export interface LeaseRenewal {
  readonly sequence: number;
  /** To be stopped. */
  readonly unwanted: readonly GrantKey[];
  /** Whether these are wanted is not known yet. */
  readonly undecided: readonly GrantKey[];
  /** Renewed for by others, and that so many milliseconds ago. */
  readonly renewalAges: readonly RenewalAge[];
}

export interface RenewalAge extends GrantKey {
  readonly ageMs: number;
}

/** The answer to a hello. */
export interface Welcome extends LeaseRenewal {
  readonly type: "Welcome";
  /** The worker's address with this member. No other member calls it so. */
  readonly welcome: string;
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
  /** Absent for tasks that belong to no shard. */
  readonly fence?: GrantFence;
}

/** A grant of a shard's earlier owner is refused once a later one is known. */
export interface GrantFence {
  readonly shard: number;
  readonly epoch: number;
}

export interface AbortOrder extends GrantKey {
  readonly type: "Abort";
  readonly reason: { readonly name: string; readonly message: string };
}

export interface Acknowledged extends GrantKey {
  readonly type: "Acknowledged";
}

/** This member cannot serve the worker any more: it is to connect to another. */
export interface Goodbye {
  readonly type: "Goodbye";
}

export function formatMessage(message: WorkerMessage | MemberMessage): string {
  return JSON.stringify(message);
}
