import type { HistoryPage, TurnAnswer, TurnQuestion } from "../kernel/code/turn-question.ts";

/** A code workflow in a version, by its name in the namespace of its worker. */
export interface HostedWorkflow {
  readonly name: string;
  readonly version: string;
}

/** A question as a host of code gets it. */
export interface AskedTurn {
  readonly question: TurnQuestion;
  /** The instance's key, by which the store has its history. */
  readonly key: number;
  /** Counts hosts that were lost while they had a question of this instance at this step. */
  readonly losses: number;
  /**
   * Reads the durable history from this event on, but not beyond the question. Undefined if the answer is not wanted any
   * more.
   */
  history(from: number): Promise<HistoryPage | undefined>;
  /** The first answer of any host counts; later ones, and those after a withdrawal, are dropped. */
  answer(answer: TurnAnswer, by?: CodeHost): void;
  /** Called by a host elsewhere about one question that it has. */
  giveBack(host: CodeHost, why: GivenBack): void;
}

/**
 * `lost`: the worker that had it was lost. `refused`: no worker there has the code. `stalled`: the worker that has it is out
 * of touch, and may answer nevertheless.
 */
export type GivenBack = "lost" | "refused" | "stalled";

/** A place where the code of workflows runs: a remote worker, a stream of another protocol, or another member. */
export interface CodeHost {
  /** For logs. */
  readonly address: string;
  /** True for another member, which puts questions to hosts of its own. */
  readonly isElsewhere?: boolean;
  /** True if it has the code. */
  canRun(workflow: string, version: string): boolean;
  /** The number of questions that it takes in addition to those it has; 0 while it cannot be reached, and when it drains. */
  readonly freeTurns: number;
  /** Repeats the question to the other end until it is answered or withdrawn. Never throws. */
  ask(turn: AskedTurn): void;
  /** The answer is not wanted any more: another host has given it, the instance has ended, or its shard has another owner. */
  withdraw(turn: AskedTurn): void;
}
