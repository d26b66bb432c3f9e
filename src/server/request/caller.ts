import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Role } from "../../api/route.ts";

/** An authenticated caller. */
export interface Caller {
  readonly name: string;
  readonly role: Role;
  /** The namespace in which the request acts. */
  readonly namespace: string;
  /** True if the token is bound to that namespace: shared resources and other namespaces are not for it. */
  readonly isBound: boolean;
}

/** A token without a request. */
export interface TokenHolder {
  readonly name: string;
  readonly role: Role;
  /** The namespace that the token is bound to; undefined if it may choose. */
  readonly namespace: string | undefined;
}

const decorator = "caller";

/** Adds the decorator that holds the authenticated caller of a request. */
export function addCallerDecorator(app: FastifyInstance): void {
  app.decorateRequest(decorator, undefined);
}

export function setCaller(request: FastifyRequest, caller: Caller): void {
  request.setDecorator(decorator, caller);
}

/** Returns the authenticated caller of the request; undefined if there is none. */
export function findCaller(request: FastifyRequest): Caller | undefined {
  return request.getDecorator<Caller | undefined>(decorator);
}

/** Requires an authorized request. */
export function callerOf(request: FastifyRequest): Caller {
  return request.getDecorator<Caller>(decorator);
}

/** Role permissions. */
const allowed: Readonly<Record<Role, readonly Role[]>> = {
  viewer: ["viewer"],
  operator: ["viewer", "operator"],
  worker: ["worker"],
  admin: ["viewer", "operator", "worker", "admin"],
};

export function mayAct(as: Role, needed: Role): boolean {
  return allowed[as].includes(needed);
}
