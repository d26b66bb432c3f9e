import { relative } from "node:path";
import { addressHere } from "./address-file.ts";

/** Where a command goes that is told no address. */
export function defaultUrl(): string {
  const given = process.env["HEDDLE_URL"] ?? "";
  return given === "" ? (addressHere() ?? "http://127.0.0.1:7411") : given;
}

/** How it was started, so that what is printed can be typed. From a clone, with the Node that came with it. */
export function programName(): string {
  const [, file = ""] = process.argv;
  return file.endsWith(".ts") ? `npx node ${relative(process.cwd(), file)}` : "npx heddle";
}

/** A command that can be typed next: to the same server, which is named unless the command would reach it anyway. */
export function commandText(words: string, url: string): string {
  return `${programName()} ${words}${url === defaultUrl() ? "" : ` --url ${url}`}`;
}
