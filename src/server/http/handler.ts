import type { RouteName } from "../../api/paths.ts";
import type { CheckedRequest, DataOf } from "../../api/routes.ts";
import type { Caller } from "../request/caller.ts";

/** A checked request, and who sent it. */
export interface Asked<N extends RouteName> extends CheckedRequest<N> {
  readonly caller: Caller;
  /** Of a create: the same key again makes nothing new. */
  readonly key: string | undefined;
  /** A request of that key was begun before, and nobody knows how it ended. */
  readonly isRepeat: boolean;
  /** W3C trace context of the caller. */
  readonly traceparent: string | undefined;
}

export type Handler<N extends RouteName> = (asked: Asked<N>) => DataOf<N> | Promise<DataOf<N>>;

/** One for each operation of the contract. */
export type Handlers = { readonly [N in RouteName]: Handler<N> };
