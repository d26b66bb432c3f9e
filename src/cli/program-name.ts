import { relative } from "node:path";
import { addressHere, isDatabaseHere } from "./address-file.ts";

export const fallbackUrl = "http://127.0.0.1:7411";

/**
 * The server URL without `--url`: HEDDLE_URL, the address file of this folder, or the default port. None if this folder has a
 * database on which no server runs: the default port would be the server of another project.
 */
export function urlHere(): string | undefined {
  const given = process.env["HEDDLE_URL"] ?? "";
  if (given !== "") return given;
  return addressHere() ?? (isDatabaseHere() ? undefined : fallbackUrl);
}

/** The words that start this program, so that printed commands can be typed. In a clone they use the Node of its dependencies. */
export function programName(): string {
  const [, file = ""] = process.argv;
  return file.endsWith(".ts") ? `npx node ${relative(process.cwd(), file)}` : "npx heddle";
}

/** A command to type next, with `--url` unless the default reaches the same server. */
export function commandText(words: string, url: string): string {
  return `${programName()} ${words}${url === urlHere() ? "" : ` --url ${url}`}`;
}
