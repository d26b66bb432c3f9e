#!/usr/bin/env node
import nodeModule from "node:module";

const oldestMajor = 24;
const [major] = process.versions.node.split(".");

// Nothing else is imported before this: an older Node could not even parse it.
if (Number(major) < oldestMajor) {
  process.stderr.write(`heddle: needs Node.js ${oldestMajor} or newer, this is ${process.versions.node}\n`);
  process.exitCode = 1;
} else {
  // Most of a short command's time is spent on reading the program itself; the second time it is read in half of that.
  nodeModule.enableCompileCache();
  const { main } = await import("./cli/program/main.ts");

  await main(process.argv, {
    storage: async (address) => (await import("./storage.ts")).storage(address),
    transfer: () => import("./transfer.ts"),
  });
}
