import type { RouteName } from "../../api/paths.ts";
import type { CheckedRequest, DataOf } from "../../api/routes.ts";
import type { Caller } from "../request/caller.ts";

/** A validated request with its caller. */
export interface AuthorizedRequest<N extends RouteName> extends CheckedRequest<N> {
  readonly caller: Caller;
  /** Idempotency key of a create. */
  readonly key: string | undefined;
  /** An earlier request with this key has an unknown outcome. */
  readonly isRepeat: boolean;
  /** W3C trace context of the caller. */
  readonly traceparent: string | undefined;
  readonly notes: AnswerNotes;
}

/** Metadata of an answer beside its data, filled in by handlers: next page, members that did not answer. */
export interface AnswerNotes {
  /** The cursor of the next page of a plain list, for the header `Link`. */
  next?: string | undefined;
  /** Addresses of members whose part is missing. */
  unanswered?: readonly string[];
}

export type Handler<N extends RouteName> = (asked: AuthorizedRequest<N>) => DataOf<N> | Promise<DataOf<N>>;

/** The handlers of all operations of the contract. */
export type Handlers = { readonly [N in RouteName]: Handler<N> };
