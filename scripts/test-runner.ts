import { availableParallelism } from "node:os";
import { run } from "./run.ts";

export const allTests = ["src/**/*.test.ts", "tests/**/*.test.ts"];

/** Runs tests under Node's runner; `files` may be globs. True if all passed. */
export function runTests(files: readonly string[], options: readonly string[] = []): boolean {
  const args = [
    "--test",
    // Test files wait for disks, timers and child processes as much as they compute.
    `--test-concurrency=${Math.max(2, availableParallelism())}`,
    // A test that waits for ever is a failure with a name, not a silent build.
    "--test-timeout=300000",
    ...options,
    ...files,
  ];
  // One that spins for ever never looks at its own time limit; the runner, told to stop, says which file it was.
  return run(process.execPath, args, { timeoutMs: 3_600_000 });
}
