import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";

type Values<Options extends ParseArgsOptionsConfig> = ReturnType<typeof parseArgs<{ options: Options }>>["values"];

/**
 * Reads the flags of a script. The comment at the top of the script is its help: `--help` prints it and ends the
 * process, and so does a flag that the script does not know, with exit code 2.
 */
export function readFlags<Options extends ParseArgsOptionsConfig>(script: string, options: Options): Values<Options> {
  if (process.argv.includes("--help")) {
    console.log(helpOf(script));
    process.exit(0);
  }
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${helpOf(script)}`);
    return process.exit(2);
  }
}

/** The text of the first comment of a file, without its asterisks. */
export function helpOf(script: string): string {
  const [, comment = ""] = /\/\*\*\n?(.*?)\*\//s.exec(readFileSync(fileURLToPath(script), "utf8")) ?? [];
  return comment.replaceAll(/^ *\* ?/gm, "").trim();
}
