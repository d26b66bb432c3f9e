import type { Bus } from "../../src/cluster/bus.ts";
import type { Meter } from "./meter.ts";
import type { Owner, VirtualTime } from "./virtual-time.ts";

const wayMs = 0.3;

/** The bus of all members. It loses nothing. */
export class MeteredBus {
  readonly #time: VirtualTime;
  readonly #listeners = new Map<string, { readonly owner: Owner; readonly listen: (text: string) => void }>();

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  busOf(owner: Owner, meter: Meter): Bus {
    return {
      kind: "metered",
      connect: (address, listen) => {
        const listener = { owner, listen };
        this.#listeners.set(address, listener);
        return {
          isConnected: true,
          send: (to, text) => {
            meter.add("bus", typeOf(text), { rows: 0, bytes: text.length });
            const target = this.#listeners.get(to);
            if (target !== undefined) this.#time.after(wayMs, target.owner, () => target.listen(text));
            return true;
          },
          close: async () => {
            if (this.#listeners.get(address) === listener) this.#listeners.delete(address);
          },
        };
      },
    };
  }
}

/** The kind of an envelope, and what it carries, without parsing all of it. */
function typeOf(text: string): string {
  const kind = /"kind":"(\w+)"/.exec(text)?.[1] ?? "?";
  return kind === "answer" ? kind : `${kind} ${/"type":"([\w-]+)"/.exec(text)?.[1] ?? ""}`;
}
