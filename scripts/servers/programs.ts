import { spawnSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { join } from "node:path";

/** Programs of one server, and where they come from. */
export interface Programs {
  readonly server: string;
  /** Debian's package. */
  readonly package: string;
  /** Folders to look in, besides those of PATH; the last that has it is taken, so the newest version. */
  readonly folders: readonly string[];
  /** Its address, if a running server is to be used instead. */
  readonly variable: string;
}

/** The folder of the server's program. Installs it where that is possible; otherwise says what to do. */
export function findPrograms(programs: Programs): string {
  const found = folderOf(programs) ?? (install(programs) ? folderOf(programs) : undefined);
  if (found !== undefined) return found;
  throw new Error(
    `The tests need the program "${programs.server}", which is not on this machine. Install it (on Debian: ` +
      `apt-get install ${programs.package}), or give the address of a running server in ${programs.variable}.`,
  );
}

function folderOf({ server, folders }: Programs): string | undefined {
  const path = (process.env["PATH"] ?? "").split(":");
  const known = folders.flatMap((folder) => globSync(folder)).toSorted((a, b) => compare(b, a));
  return [...known, ...path].find((folder) => existsSync(join(folder, server)));
}

/** Folders are named by versions: 9 comes before 15. */
function compare(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

/** Only root may, and only Debian and its kin have the package. */
function install({ package: name }: Programs): boolean {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return false;
  console.error(`Installing ${name} …`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (...args: string[]): boolean => {
    return spawnSync("apt-get", ["-qq", ...args], { env, stdio: ["ignore", "ignore", "inherit"] }).status === 0;
  };
  return apt("update") && apt("install", "--yes", "--no-install-recommends", name);
}
