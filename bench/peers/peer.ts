/** A workflow engine or queue of somebody else's, set up as its makers advise, that does what our benchmarks do. */
export interface Peer {
  /** What was set, for the reader of the figures. */
  readonly setup: string;
  /** One one-step workflow, from its submission until its result is known; many may be under way at once. */
  run(): Promise<void>;
  /** One workflow of so many steps, one after the other. A queue has none. */
  runSteps?(steps: number): Promise<void>;
}

/** Sets it up with the server that it keeps its work in. */
export type StartPeer = (url: string) => Promise<Peer>;
