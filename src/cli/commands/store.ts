import { Command } from "commander";
import type { RestoredStore } from "../../transfer/restored-store.ts";
import type { Doors } from "../doors.ts";
import { addressHelp, refuseMissing, withStore } from "../open-store.ts";
import { Output } from "../output.ts";

interface RestoredOptions {
  readonly json?: boolean;
  readonly dryRun?: boolean;
}

export function storeCommand(doors: Doors): Command {
  return new Command("store")
    .description("Maintain a store. Stop every server on it first.")
    .addCommand(restored(doors));
}

function restored(doors: Doors): Command {
  return new Command("restored")
    .description("Make it known that a store was restored from a backup.")
    .argument("<store>", addressHelp)
    .option("--dry-run", "say what it would do, and change nothing")
    .option("--json", "print one JSON document")
    .action(async (address: string, options: RestoredOptions) => {
      refuseMissing(address, "nothing was changed");
      const { markRestored } = await import("../../transfer/restored-store.ts");
      const { systemClock } = await import("../../engine/system-clock.ts");
      const isDryRun = options.dryRun ?? false;
      const result = await withStore(doors, address, (store) => {
        return markRestored(store, { clock: systemClock, isDryRun });
      });
      new Output(options).give({ ...result, incarnation: result.incarnation ?? null, isDryRun }, () =>
        describe(result),
      );
    });
}

function describe(result: RestoredStore): string {
  const { incarnation, incarnationBefore, members, shards, isHalfImported, rows } = result;
  const isDone = incarnation !== undefined;
  const lines = [
    isDone
      ? `The store has incarnation ${incarnation}; it was ${incarnationBefore}.`
      : `Dry run: nothing was changed. The store, now of incarnation ${incarnationBefore}, would get a new one.`,
    `${isDone ? "Removed" : "Would remove"} ${members.length} members that are gone${members.length > 0 ? `: ${members.join(", ")}` : ""}.`,
    `${isDone ? "Raised" : "Would raise"} the epochs of ${shards} shards, and the numbers of all messages; ${rows.messages} of them are under way.`,
  ];
  if (isHalfImported) lines.push("An import into the store was interrupted before the backup: repeat the import.");
  lines.push(
    `${rows.unfinished} unfinished instances continue from the time of the backup when a server starts: tasks that completed later run again.`,
    `${rows.finished} finished instances, ${rows.definitions} definitions, ${rows.jobs} jobs, ${rows.domains} domains, ${rows.documents} documents (saved workflows, tokens), ${rows.requests} request keys, ${rows.mails} calls in mailboxes and ${rows.logLines} lines of logs are as they were then: tokens that were revoked later are valid again.`,
  );
  return lines.join("\n");
}
