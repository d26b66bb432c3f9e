import type { Command } from "./command.ts";
import type { Event } from "./event.ts";

const none: readonly never[] = [];

/**
 * A turn of one instance: opened on the messages at hand, closed with its events and commands. Its time and its random
 * number are passed in: the kernel has neither of its own.
 */
export class Turn {
  /** max(now, the last turn's time): time never runs backwards inside an instance. */
  readonly at: number;
  /** A number in [0, 1). */
  readonly random: number;
  readonly events: Event[] = [];
  /** Created with the first command and with no spare capacity: most turns have at most one. */
  #commands: Command[] | undefined;
  /** Reports of an older attempt, an ended instance or an unknown task: they change nothing. */
  dropped = 0;

  constructor(at: number, random: number) {
    this.at = at;
    this.random = random;
  }

  get commands(): readonly Command[] {
    return this.#commands ?? none;
  }

  command(command: Command): void {
    if (this.#commands === undefined) this.#commands = [command];
    else this.#commands.push(command);
  }

  /** Takes the next command. */
  takeCommand(): Command | undefined {
    return this.#commands?.shift();
  }
}
