import { useSyncExternalStore } from "react";

/** Preferences of a person: kept in the browser, and none of them secret. */
export interface Preferences {
  readonly language: "en" | "zh";
  readonly theme: "light" | "dark" | "system";
  readonly zone: "local" | "utc";
  readonly palette: "standard" | "classic";
}

const storageKey = "heddle-preferences";

const defaults: Preferences = {
  language: navigator.language.startsWith("zh") ? "zh" : "en",
  theme: "system",
  zone: "local",
  palette: "standard",
};

const listeners = new Set<() => void>();
let current = read();

function read(): Preferences {
  try {
    return { ...defaults, ...(JSON.parse(localStorage.getItem(storageKey) ?? "{}") as Partial<Preferences>) };
  } catch {
    // Storage may be switched off, or hold what another version wrote.
    return defaults;
  }
}

export function setPreferences(change: Partial<Preferences>): void {
  current = { ...current, ...change };
  try {
    localStorage.setItem(storageKey, JSON.stringify(current));
  } catch {
    // Without storage the choice holds until the page is left.
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(subscribe, () => current);
}
