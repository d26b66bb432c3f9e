import { join } from "node:path";

/** Where everything is kept: the database, and a folder of files for each run. */
export const dataFolder = process.env["HEDDLE_EXAMPLE_DIR"] ?? join(import.meta.dirname, "../../.heddle");

/** How many times faster than for people to watch; tests set it. */
export const speed = Number(process.env["HEDDLE_EXAMPLE_SPEED"] ?? 1);
