import { relative } from "node:path";
import { addressHere } from "./address-file.ts";

/** The server URL without `--url`: HEDDLE_URL, the address file of this folder, or the default port. */
export function defaultUrl(): string {
  const given = process.env["HEDDLE_URL"] ?? "";
  return given === "" ? (addressHere() ?? "http://127.0.0.1:7411") : given;
}

/** The words that start this program, so that printed commands can be typed. In a clone they use the Node of its dependencies. */
export function programName(): string {
  const [, file = ""] = process.argv;
  return file.endsWith(".ts") ? `npx node ${relative(process.cwd(), file)}` : "npx heddle";
}

/** A command to type next, with `--url` unless the default reaches the same server. */
export function commandText(words: string, url: string): string {
  return `${programName()} ${words}${url === defaultUrl() ? "" : ` --url ${url}`}`;
}
