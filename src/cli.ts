#!/usr/bin/env node
import nodeModule from "node:module";
import { setFlagsFromString } from "node:v8";

const oldestMajor = 24;
const [major] = process.versions.node.split(".");

// No import before this check: an older Node could not parse the modules.
if (Number(major) < oldestMajor) {
  process.stderr.write(
    `heddle: needs Node.js ${oldestMajor} or newer, this is ${process.versions.node}\n` +
      `Bring one into this project with: npm install -D node@${oldestMajor}\n`,
  );
  process.exitCode = 1;
} else {
  // While the program warms up, everything survives the first collections. V8 would then allocate such objects in the old
  // generation for good, where rows and messages of ended instances wait for a full collection (decision 0027).
  setFlagsFromString("--no-allocation-site-pretenuring");
  // Loading the program is most of a short command's time; the compile cache halves it from the second run on.
  nodeModule.enableCompileCache();
  const { main } = await import("./cli/program/main.ts");

  await main(process.argv, {
    storage: async (address) => (await import("./storage.ts")).storage(address),
    bus: async (address, options) => (await import("./nats.ts")).nats(address, options),
    pastEngine: async (options) => (await import("./testing.ts")).testEngine(options),
    transfer: () => import("./transfer.ts"),
  });
}
