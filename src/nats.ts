import type { Bus } from "./cluster/bus.ts";
import { NatsBus } from "./cluster/nats/nats-bus.ts";
import { type NatsOptions, parseNatsAddress } from "./cluster/nats/nats-address.ts";
import { loadNatsClient } from "./cluster/nats/nats-client.ts";

export type { NatsOptions } from "./cluster/nats/nats-address.ts";

/**
 * Carries messages between the members of a cluster over a NATS server (2.9 or newer). It needs the package
 * `@nats-io/transport-node`: `npm install @nats-io/transport-node`.
 *
 * ```ts
 * import { Engine } from "heddle";
 * import { nats } from "heddle/nats";
 * import { postgres } from "heddle/postgres";
 *
 * const engine = new Engine({
 *   storage: postgres("postgres://user:password@localhost:5432/app"),
 *   cluster: { bus: nats("nats://localhost:4222") },
 * });
 * await engine.start();
 * ```
 *
 * The address is `nats://host:4222`, or `tls://host:4222` for a server that must use TLS; it may have a user and a password,
 * or a token, and several are separated by commas. A server that is away makes the cluster slower, and never wrong.
 * `OPTION_INVALID`.
 */
export function nats(url: string, options: NatsOptions = {}): Bus {
  return new NatsBus(parseNatsAddress(url, options), loadNatsClient);
}
