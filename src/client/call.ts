import { paths, type RouteName } from "../api/paths.ts";
import type { RequestOf, Routes } from "../api/routes.ts";
import { didYouMean } from "../base/closest-name.ts";
import { invalidOption } from "./option-names.ts";

/** A value type that `{}` satisfies, so that it may be omitted. */
type Nothing = Record<string, never>;

/** A part of a request, optional if nothing in it is required. */
type Part<Name extends string, Value> = Nothing extends Value
  ? { readonly [P in Name]?: Value }
  : { readonly [P in Name]: Value };

/** Options of every call. */
export interface CallOptions {
  /**
   * Idempotency key of a create: repeating a call with the same key creates nothing new. Default: a new key for each
   * call.
   */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

/** What a call of one operation of the HTTP interface takes: the `params` of its path, its `query` and its `body`, as far as it has them. */
export type Call<N extends RouteName> = Part<"params", RequestOf<N>["params"]> &
  Part<"query", RequestOf<N>["query"]> &
  Part<"body", RequestOf<N>["body"]> &
  CallOptions;

/** The argument of `call`, optional if nothing in it is required. */
export type CallArgument<N extends RouteName> = Nothing extends Call<N> ? [call?: Call<N>] : [call: Call<N>];

/** A call without the types of its parts. */
export interface AnyCall extends CallOptions {
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
}

type CreateName = { [N in RouteName]: Routes[N] extends { readonly isCreate: true } ? N : never }[RouteName];

/** The creates. The compiler checks that they are those of the contract. */
const creates: Readonly<Record<CreateName, true>> = {
  createWorkflow: true,
  triggerWorkflow: true,
  forkInstance: true,
  bulkInstances: true,
  runJob: true,
  createSchedule: true,
  triggerSchedule: true,
  createToken: true,
};

export function isCreate(name: RouteName): boolean {
  return Object.hasOwn(creates, name);
}

/** Method and URL of a call. */
export function addressOf(base: string, name: RouteName, call: AnyCall): { method: string; url: string } {
  if (!Object.hasOwn(paths, name)) {
    const hint = didYouMean(name, Object.keys(paths));
    throw invalidOption(`the client has no operation ${JSON.stringify(name)}${hint}`);
  }
  const [method = "", pattern = ""] = paths[name].split(" ");
  const params = (call.params ?? {}) as Record<string, string>;
  const path = pattern.replaceAll(/\{(\w+)\}/g, (_, part: string) => encodeURIComponent(paramOf(name, params, part)));
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(
    (call.query ?? {}) as Record<string, string | number | boolean | null | undefined>,
  )) {
    if (value !== undefined && value !== null) query.set(key, String(value));
  }
  return { method, url: `${base}${path}${query.size === 0 ? "" : `?${query.toString()}`}` };
}

/** Refuses an empty path parameter: the path would be that of another operation. */
function paramOf(name: RouteName, params: Readonly<Record<string, string | undefined>>, part: string): string {
  const value = params[part];
  if (value !== undefined && value !== "") return value;
  throw invalidOption(`call "${name}" needs params.${part}, got ${JSON.stringify(value)}`);
}
