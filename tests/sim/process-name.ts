import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { redefine } from "./redefine.ts";

/**
 * Gives this process the name that it has in every run of a seed. An engine alone is known by host name and process id, and
 * writes them into its histories: their length decides where a small history is kept. Returns a function that restores them.
 */
export function nameProcess(): () => void {
  const restoreHost = redefine(os, "hostname", { value: () => "here" });
  const restorePid = redefine(process, "pid", { value: 1 });
  syncBuiltinESMExports();
  return () => {
    restoreHost();
    restorePid();
    syncBuiltinESMExports();
  };
}
