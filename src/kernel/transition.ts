import type { InstanceAddress } from "./address.ts";
import type { Command } from "./command.ts";
import type { Event } from "./event.ts";
import type { AttemptStarted, AttemptsWithdrawn } from "./input.ts";
import type { InstanceState } from "./instance-state.ts";
import type { MachineIdentity } from "./machine.ts";
import { isAwaited, isCurrent } from "./task-reports.ts";
import { Phase } from "./task-state.ts";
import type { Turn } from "./turn.ts";

/** One message on its way through an instance: what is decided about it goes through here, into the turn and the state. */
export class Transition<State extends InstanceState & { apply(event: Event, at: number): void }> {
  readonly identity: MachineIdentity;
  readonly state: State;
  readonly turn: Turn;

  constructor(identity: MachineIdentity, state: State, turn: Turn) {
    this.identity = identity;
    this.state = state;
    this.turn = turn;
  }

  get address(): InstanceAddress {
    const { id, key } = this.identity;
    return { id, key, generation: this.state.generation };
  }

  /** It happened: written down, and the state follows at once. */
  emit(event: Event): void {
    this.turn.events.push(event);
    this.state.apply(event, this.turn.at);
  }

  /** It is to be done, once what was emitted is durable. */
  command(command: Command): void {
    this.turn.command(command);
  }

  /** A report that comes too late, or twice. */
  drop(reports = 1): void {
    this.turn.dropped += reports;
  }

  /** An attempt is known to run. */
  noteStart(report: AttemptStarted): void {
    if (!isCurrent(this.state, report)) return this.drop();
    if (this.state.phase(report.task) === Phase.running) return;
    const { task, attempt, worker, startedAt } = report;
    this.emit({ type: "TaskStarted", task, attempt, worker, startedAt });
  }

  /** The dispatcher gave them back. */
  noteWithdrawal({ runs }: AttemptsWithdrawn): void {
    const current = runs.filter((run) => isAwaited(this.state, run));
    const tasks = [...new Set(current.map(({ task }) => task))];
    this.drop(runs.length - tasks.length);
    if (tasks.length > 0) this.emit({ type: "TasksWithdrawn", tasks });
  }
}
