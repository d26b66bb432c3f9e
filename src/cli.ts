#!/usr/bin/env node
import nodeModule from "node:module";

const oldestMajor = 24;
const [major] = process.versions.node.split(".");

// No import before this check: an older Node could not parse the modules.
if (Number(major) < oldestMajor) {
  process.stderr.write(`heddle: needs Node.js ${oldestMajor} or newer, this is ${process.versions.node}\n`);
  process.exitCode = 1;
} else {
  // Loading the program is most of a short command's time; the compile cache halves it from the second run on.
  nodeModule.enableCompileCache();
  const { main } = await import("./cli/program/main.ts");

  await main(process.argv, {
    storage: async (address) => (await import("./storage.ts")).storage(address),
    transfer: () => import("./transfer.ts"),
  });
}
