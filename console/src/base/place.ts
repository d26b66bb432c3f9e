import { useSyncExternalStore } from "react";
import { defaultNamespace, isNamespace } from "../../../src/base/namespace.ts";

/** The place in the console: the address is the state, so that a reload, Back and a pasted link show the same. */
export interface Place {
  readonly namespace: string;
  /** The path within the namespace. */
  readonly path: string;
  readonly query: URLSearchParams;
}

const listeners = new Set<() => void>();
let current = readPlace();

/** `/n/acme/instances` is `/instances` in namespace acme; without a prefix it is in `default`. */
function readPlace(): Place {
  const [, namespace = "", path = ""] = /^\/n\/([^/]+)(\/.*)?$/.exec(location.pathname) ?? [];
  const query = new URLSearchParams(location.search);
  if (!isNamespace(namespace)) return { namespace: defaultNamespace, path: location.pathname, query };
  return { namespace, path: path === "" ? "/" : path, query };
}

function publish(): void {
  current = readPlace();
  for (const listener of listeners) listener();
}

window.addEventListener("popstate", publish);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function usePlace(): Place {
  return useSyncExternalStore(subscribe, () => current);
}

/** The namespace of the address, in which everything is asked. */
export function currentNamespace(): string {
  return current.namespace;
}

/** The address of a path in a namespace, by default the one that is shown. */
export function addressOf(path: string, namespace = current.namespace): string {
  return namespace === defaultNamespace ? path : `/n/${namespace}${path === "/" ? "" : path}`;
}

interface NavigateOptions {
  readonly replace?: boolean;
}

function go(address: string, { replace = false }: NavigateOptions): void {
  if (replace) history.replaceState(null, "", address);
  else {
    history.pushState(null, "", address);
    window.scrollTo(0, 0);
  }
  publish();
}

/** Goes to a path of the namespace that is shown. A replaced entry is for what moves often: the slider, the camera. */
export function navigate(to: string, options: NavigateOptions = {}): void {
  go(addressOf(to), options);
}

/** Goes to the same screen of another namespace: what is open in one does not exist in the other. */
export function enterNamespace(namespace: string, options: NavigateOptions = {}): void {
  go(addressOf(`/${current.path.split("/")[1] ?? ""}`, namespace), options);
}

/** Changes parameters of the current address; undefined removes one. */
export function changeQuery(change: Readonly<Record<string, string | undefined>>, options: NavigateOptions = {}): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  const to = `${location.pathname}${text === "" ? "" : `?${text}`}`;
  if (options.replace === true) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  publish();
}

export function instancePath(id: string, tab?: string): string {
  return `/instances/${encodeURIComponent(id)}${tab === undefined ? "" : `/${tab}`}`;
}

export function workflowPath(name: string, tab?: string): string {
  return `/workflows/${encodeURIComponent(name)}${tab === undefined ? "" : `/${tab}`}`;
}
