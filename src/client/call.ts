import { paths, type RouteName } from "../api/paths.ts";
import type { RequestOf, Routes } from "../api/routes.ts";
import { didYouMean } from "../base/closest-name.ts";
import { invalidOption } from "./option-names.ts";

/** What may be left out: an empty object fits, or anything at all. */
type Nothing = Record<string, never>;

/** A part of a request may be left out where nothing in it is needed. */
type Part<Name extends string, Value> = Nothing extends Value
  ? { readonly [P in Name]?: Value }
  : { readonly [P in Name]: Value };

export interface CallOptions {
  /** For what makes something: the same key again makes nothing new. Default: a new one for each call. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

export type Call<N extends RouteName> = Part<"params", RequestOf<N>["params"]> &
  Part<"query", RequestOf<N>["query"]> &
  Part<"body", RequestOf<N>["body"]> &
  CallOptions;

/** Left out where nothing in it is needed. */
export type CallArgument<N extends RouteName> = Nothing extends Call<N> ? [call?: Call<N>] : [call: Call<N>];

/** The same, without the types of its parts. */
export interface AnyCall extends CallOptions {
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
}

type CreateName = { [N in RouteName]: Routes[N] extends { readonly isCreate: true } ? N : never }[RouteName];

/** Those that make something. The compiler sees that they are the contract's. */
const creates: Readonly<Record<CreateName, true>> = {
  createWorkflow: true,
  triggerWorkflow: true,
  forkInstance: true,
  runJob: true,
  createSchedule: true,
  triggerSchedule: true,
  createToken: true,
};

export function isCreate(name: RouteName): boolean {
  return Object.hasOwn(creates, name);
}

/** Where a call goes. */
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

/** An empty place in the path would be another operation. */
function paramOf(name: RouteName, params: Readonly<Record<string, string | undefined>>, part: string): string {
  const value = params[part];
  if (value !== undefined && value !== "") return value;
  throw invalidOption(`call "${name}" needs params.${part}, got ${JSON.stringify(value)}`);
}
