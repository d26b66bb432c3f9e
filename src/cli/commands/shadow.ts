import { Command } from "commander";
import type { Doors } from "../doors.ts";
import type { ShadowOptions } from "../run-shadow.ts";

export function shadowCommand(doors: Doors): Command {
  return new Command("shadow")
    .description(
      "Compare with PowerJob: repeat its finished workflow runs without their effects, and say where they would differ.",
    )
    .argument("<database>", "the database of PowerJob: mysql://… or postgresql://…")
    .option("--app <name>", "runs of this app alone")
    .option("--follow", "go on with runs that finish from now on, until stopped")
    .option("--json", "print one JSON document per run")
    .action(async (url: string, options: ShadowOptions) => {
      const { runShadow } = await import("../run-shadow.ts");
      await runShadow(doors, url, options);
    });
}
