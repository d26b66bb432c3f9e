/** A child of a `SeedProcess` for its tests: seed 1 loops, seed 2 stalls, seed 3 exits; any other succeeds. */
import type { SeedMessage, SeedRequest } from "./seed-process.ts";

process.on("message", (request) => run(request as SeedRequest));

function run({ seed }: SeedRequest): void {
  process.send?.({ heartbeat: 5 } satisfies SeedMessage);
  if (seed === 1) spin();
  if (seed === 2) return;
  if (seed === 3) process.exit(3);
  const report = { seed, hash: "h", violations: [], about: "well", events: 1, virtualMs: 1, tail: [] };
  process.send?.({ report } satisfies SeedMessage);
}

function spin(): void {
  const until = performance.now() + 3_600_000;
  while (performance.now() < until);
}
