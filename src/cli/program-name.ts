import { relative } from "node:path";

export const defaultUrl = "http://127.0.0.1:7411";

/** How it was started, so that what is printed can be typed. From a clone, with the Node that came with it. */
export function programName(): string {
  const [, file = ""] = process.argv;
  return file.endsWith(".ts") ? `npx node ${relative(process.cwd(), file)}` : "npx heddle";
}

/** A command that can be typed next: to the same server, which is named unless the command would reach it anyway. */
export function commandText(words: string, url: string): string {
  const given = process.env["HEDDLE_URL"] ?? "";
  const isDefault = url === (given === "" ? defaultUrl : given);
  return `${programName()} ${words}${isDefault ? "" : ` --url ${url}`}`;
}
