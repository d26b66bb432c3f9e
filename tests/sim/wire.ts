import { hasCode } from "../../src/base/error.ts";
import type { Link, LinkListener } from "../../src/dispatch/link.ts";
import type { SimRandom } from "./sim-random.ts";
import type { Life } from "./machine.ts";
import type { Network, Place } from "./network.ts";
import type { Scheduler } from "./scheduler.ts";

/** The mean delay of a late notification that a connection is gone. */
const lateMs = 5000;

export interface WireParts {
  readonly network: Network;
  readonly scheduler: Scheduler;
  readonly random: SimRandom;
  readonly worker: Life;
  readonly member: Life;
  /** The worker's listener for messages of the member. */
  readonly listener: LinkListener;
  /** Called with the member's link when the first text arrives. An error refuses the connection. */
  readonly accept: (link: Link) => LinkListener;
}

/**
 * A connection between a worker's process and a member's: two links, joined by the network. When one end closes, breaks
 * or loses its process, the other end is notified soon, late or never; texts in flight may arrive before or after that.
 */
export class Wire {
  /** The worker's link. */
  readonly link: Link;
  readonly #parts: WireParts;
  readonly #worker: End;
  readonly #member: End;
  #isBroken = false;

  constructor(parts: WireParts) {
    this.#parts = parts;
    const { worker, member } = parts;
    this.#worker = { machine: worker.machine, owner: worker, listener: parts.listener, isOpen: true };
    this.#member = { machine: member.machine, owner: member, listener: undefined, isOpen: true };
    this.link = this.#linkOf(this.#worker, this.#member);
    void member.died.then(() => this.#tell(this.#worker));
    void worker.died.then(() => this.#tell(this.#member));
  }

  /** Breaks the connection: nothing passes any more, including texts in flight. */
  break(): void {
    this.#isBroken = true;
    this.#tell(this.#worker);
    this.#tell(this.#member);
  }

  #linkOf(own: End, other: End): Link {
    return {
      send: (text) => {
        if (!own.isOpen || this.#isBroken) return;
        this.#parts.network.send(own, other, { name: other.machine, text }, () => this.#arrive(other, text));
      },
      close: () => {
        if (!own.isOpen) return;
        own.isOpen = false;
        this.#tell(other);
      },
    };
  }

  #arrive(at: End, text: string): void {
    if (this.#isBroken || !at.isOpen || !this.#isAccepted()) return;
    at.listener?.receive(text);
  }

  /** The first text opens the connection at the member. */
  #isAccepted(): boolean {
    try {
      this.#member.listener ??= this.#parts.accept(this.#linkOf(this.#member, this.#worker));
      return true;
    } catch (error) {
      if (!hasCode(error, "ENGINE_STATE")) throw error;
      // The member is not up any more: the connection is refused.
      this.#member.isOpen = false;
      this.#tell(this.#worker);
      return false;
    }
  }

  #tell(end: End): void {
    const { scheduler, random, network } = this.#parts;
    const when = random.weighted({ soon: 6, late: 2, never: 2 });
    if (when === "never") return;
    const ms = random.waitMs(when === "soon" ? network.conditions.delayMs : lateMs);
    scheduler.after(ms, end.owner, () => {
      if (!end.isOpen) return;
      end.isOpen = false;
      end.listener?.onClosed();
    });
  }
}

interface End extends Place {
  listener: LinkListener | undefined;
  isOpen: boolean;
}
