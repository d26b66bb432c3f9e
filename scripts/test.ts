/**
 * `npm test`: types, lint, format, then every test, beside real servers of databases and NATS. Everything runs even if something before it failed, so that one run
 * tells all. `npm test -- src/kernel/retry.test.ts` runs only the tests that are named.
 */
import { run } from "./run.ts";
import { withTestServers } from "./servers/test-servers.ts";
import { allTests, runTests } from "./test-runner.ts";

const chosen = process.argv.slice(2);
const failed: string[] = [];

if (chosen.length === 0) {
  for (const check of ["typecheck", "lint", "format:check"]) {
    console.log(`── ${check}`);
    if (!run("npm", ["run", "--silent", check])) failed.push(check);
  }
  console.log("── tests");
}

if (!(await withTestServers(() => runTests(chosen.length > 0 ? chosen : allTests)))) failed.push("tests");

if (failed.length > 0) {
  console.error(`\nFailed: ${failed.join(", ")}.`);
  process.exitCode = 1;
}
