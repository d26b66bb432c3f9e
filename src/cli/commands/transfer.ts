import { Command } from "commander";
import { createReadStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { EngineError } from "../../base/error.ts";
import type { Doors } from "../doors.ts";
import { countGiven } from "../given-value.ts";
import { clientCommand } from "../client-command.ts";
import { UsageError } from "../exit-code.ts";
import { type ImportFromOptions, withImportFromOptions } from "../import-from-options.ts";
import { addressHelp, refuseMissing, withStore } from "../open-store.ts";
import { Output } from "../output.ts";

interface TransferOptions {
  readonly json?: boolean;
  readonly shards?: string;
}

export function exportCommand(doors: Doors): Command {
  return new Command("export")
    .description("Export a store to a file. Stop every server on it first.")
    .argument("<store>", addressHelp)
    .argument("[file]", "default: standard output")
    .option("--json", "print one JSON document")
    .action(async (address: string, file: string | undefined, options: TransferOptions) => {
      refuseMissing(address, "nothing was exported");
      const { exportInstances } = await doors.transfer();
      let lines = 0;
      await withStore(doors, address, async (store) => {
        const counted = async function* (): AsyncGenerator<string> {
          for await (const line of exportInstances(store)) {
            lines++;
            yield line;
          }
        };
        if (file === undefined) await pipeline(Readable.from(counted()), process.stdout, { end: false });
        else await writeFile(file, counted());
      });
      const output = new Output(options);
      if (file !== undefined) output.give({ file, lines }, () => `Wrote ${lines} lines to ${file}.`);
    });
}

export function importCommand(doors: Doors): Command {
  return withImportFromOptions(
    clientCommand(
      "import",
      "Import an export into an empty store, or with --from the workflows of PowerJob or TIS into a server or a folder.",
    ),
  )
    .argument("<source>", `the empty store: ${addressHelp}; with --from the database of PowerJob, or the folder of TIS`)
    .argument("[file]", "the export; default: standard input")
    .option("--shards <count>", "shards of a new store; must equal cluster.shards of its servers")
    .action(async (address: string, file: string | undefined, options: TransferOptions & ImportFromOptions) => {
      if (options.from !== undefined) {
        if (file !== undefined) throw new UsageError("--from takes one source");
        const { importFrom } = await import("../import-from.ts");
        await importFrom(address, options.from, options);
        return;
      }
      const { importInstances } = await doors.transfer();
      const shards = options.shards === undefined ? {} : { shards: countGiven("--shards", options.shards, 8192) };
      const input = file === undefined ? process.stdin : createReadStream(file);
      const imported = await withStore(doors, address, async (store) => {
        // readline does not report errors of the file.
        const { promise: broken, reject } = Promise.withResolvers<never>();
        input.once("error", reject);
        const lines = createInterface({ input, crlfDelay: Infinity });
        return await Promise.race([importInstances(store, lines, shards), broken]);
      });
      new Output(options).give(imported, () => {
        const { unfinished, finished } = imported;
        return `Imported ${unfinished} unfinished instances, which continue when a server starts on this store, and ${finished} finished ones.`;
      });
    });
}

/** Writes the lines to a new file, and removes it if the export fails. */
async function writeFile(path: string, lines: AsyncIterable<string>): Promise<void> {
  const file = await newFile(path);
  try {
    await pipeline(Readable.from(lines), file);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

/** Creates the file, readable by its owner alone: an export holds all data of the store. */
async function newFile(path: string): Promise<Writable> {
  try {
    return (await open(path, "wx", 0o600)).createWriteStream();
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    throw new EngineError("OPTION_INVALID", `${path} exists already; remove it first, or name another file`);
  }
}
