import { addressOf, type InstanceAddress } from "./address.ts";
import type { Command } from "./command.ts";
import type { Event } from "./event.ts";
import type { AttemptStarted, AttemptsWithdrawn } from "./input.ts";
import type { InstanceBase } from "./instance-base.ts";
import type { MachineIdentity } from "./machine.ts";
import { isAwaited, isCurrent } from "./task-reports.ts";
import { Phase } from "./task-state.ts";
import type { Turn } from "./turn.ts";

/** A message on its way through an instance: every decision about it goes through here, into the turn and the state. */
export class Transition<State extends InstanceBase> {
  readonly identity: MachineIdentity;
  readonly state: State;
  readonly turn: Turn;

  constructor(identity: MachineIdentity, state: State, turn: Turn) {
    this.identity = identity;
    this.state = state;
    this.turn = turn;
  }

  get address(): InstanceAddress {
    return addressOf(this.identity, this.state);
  }

  /** Records an event in the turn and applies it to the state. */
  emit(event: Event): void {
    this.turn.events.push(event);
    this.state.apply(event, this.turn.at);
  }

  /** Adds a command, which is carried out when the events of the turn are durable. */
  command(command: Command): void {
    this.turn.command(command);
  }

  /** Counts reports that came too late, or twice. */
  drop(reports = 1): void {
    this.turn.dropped += reports;
  }

  /** Records that an attempt has started. */
  noteStart(report: AttemptStarted): void {
    if (!isCurrent(this.state, report)) return this.drop();
    if (this.state.phase(report.task) === Phase.running) return;
    const { task, attempt, worker, startedAt } = report;
    this.emit({ type: "TaskStarted", task, attempt, worker, startedAt });
  }

  /** Records which attempts the dispatcher gave back before they started. */
  noteWithdrawal({ runs }: AttemptsWithdrawn): void {
    const current = runs.filter((run) => isAwaited(this.state, run));
    const tasks = [...new Set(current.map(({ task }) => task))];
    this.drop(runs.length - tasks.length);
    if (tasks.length === 0) return;
    const sent = current.filter(({ heartbeat }) => heartbeat !== undefined);
    const heartbeats = Object.fromEntries(sent.map(({ task, heartbeat }) => [task, heartbeat as string]));
    this.emit({ type: "TasksWithdrawn", tasks, ...(sent.length > 0 && { heartbeats }) });
  }
}
