import type { AttemptClass } from "../dispatch/attempt-class.ts";
import type { ClassDemand } from "../dispatch/slot-exchange.ts";
import type { TaskRun } from "../dispatch/task-run.ts";

export interface ReservationListener {
  /** Resolves when the slot is granted to an attempt. */
  confirmStart(): Promise<void>;
  /** Called when the reservation has a slot of that worker. */
  onReserved(worker: string): void;
  /** Called when the dispatcher has taken the reservation out of its queue or its slot. */
  onLapsed(): void;
}

/** The run of a reservation: it waits among the attempts of this member, in the order of the attempts that it stands for. */
export function reservationRun(ticket: string, want: ClassDemand, listener: ReservationListener): TaskRun {
  const { job, placement, domain } = want.class;
  return {
    attemptId: ticket,
    instanceId: "",
    workflowName: "",
    taskName: "a task of another member",
    task: 0,
    attempt: 0,
    generation: 0,
    job,
    domain,
    placement,
    params: "",
    rank: want.rank,
    successors: want.successors,
    timeoutMs: Infinity,
    ...careFields(want.class),
    awaitsGrant: true,
    // Its owner decides what happens to an attempt that a worker does not take.
    isHandedOver: true,
    confirmStart: () => listener.confirmStart(),
    inputs: () => ({ context: {}, outputs: {} }),
    completionToken: undefined,
    listener: {
      onStarted: (_run, { worker }) => listener.onReserved(worker),
      onEnded: () => listener.onLapsed(),
      onWithdrawn: () => listener.onLapsed(),
    },
  };
}

/** The fields of a run from which its care follows (`Attempt.care`). */
function careFields({ care }: AttemptClass): Pick<TaskRun, "interruptions" | "isLastTry" | "isCautious"> {
  return {
    interruptions: care === "suspect" || care === "last" ? 2 : 0,
    isLastTry: care === "last",
    isCautious: care !== "plain",
  };
}
