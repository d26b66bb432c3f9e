import { join } from "node:path";
import { findPrograms } from "./programs.ts";

/** The browser for the tests of the console: the program itself, which the tests start. */
export function findChromium(): string {
  const server = "chromium";
  return join(findPrograms({ server, package: server, folders: [], variable: "HEDDLE_TEST_CHROMIUM" }), server);
}
