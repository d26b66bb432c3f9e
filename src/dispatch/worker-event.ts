/** A change of a remote worker: plain data, for programs and people that watch the cluster. */
export interface WorkerEvent {
  /**
   * `connected`: it has connected to the member. `drained`: the member sends it nothing more, and what ran there for the member
   * has ended. `gone`: it has left, or the member stops serving it and it connects to another. `lost`: it sent no heartbeat for
   * too long, and its tasks run elsewhere.
   */
  readonly type: "connected" | "drained" | "gone" | "lost";
  /** Its address, as lists and histories name it: another one at each member. */
  readonly worker: string;
  /** The member that it is or was connected to. */
  readonly member: string;
  /** Epoch ms, by the clock of that member. */
  readonly at: number;
}

/** Called when something happens to a remote worker of this process. */
export type OnWorkerEvent = (
  type: WorkerEvent["type"],
  worker: { readonly address: string; readonly namespace: string },
) => void;
