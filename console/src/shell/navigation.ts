import { useMay } from "../api/session-context.ts";
import type { IconName } from "../parts/icon.tsx";
import type { shellText } from "../text/shell-text.ts";

type Named = keyof typeof shellText.en;

export interface NavigationItem {
  readonly path: string;
  readonly name: Extract<Named, IconName>;
  /** The second key after `g`. */
  readonly key?: string;
  readonly role?: "admin";
}

/** The rail, in groups. */
const navigation: readonly (readonly NavigationItem[])[] = [
  [
    { path: "/", name: "overview", key: "o" },
    { path: "/workflows", name: "workflows", key: "w" },
    { path: "/instances", name: "instances", key: "i" },
    { path: "/schedules", name: "schedules", key: "s" },
  ],
  [
    { path: "/jobs", name: "jobs", key: "j" },
    { path: "/domains", name: "domains", key: "d" },
    { path: "/workers", name: "workers" },
    { path: "/cluster", name: "cluster", key: "c" },
  ],
  [
    { path: "/audit", name: "audit", key: "a", role: "admin" },
    { path: "/tokens", name: "tokens", role: "admin" },
    { path: "/settings", name: "settings" },
  ],
];

/** The rail without what the caller's role may not see. */
export function useNavigation(): readonly (readonly NavigationItem[])[] {
  const isAdmin = useMay("admin");
  return navigation.map((group) => group.filter(({ role }) => role === undefined || isAdmin));
}
