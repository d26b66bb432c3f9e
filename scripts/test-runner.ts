import { availableParallelism } from "node:os";

export const allTests = ["src/**/*.test.ts", "tests/**/*.test.ts"];

/** Node's arguments for running tests; `files` may be globs. */
export function testArguments(files: readonly string[], options: readonly string[] = []): string[] {
  return [
    "--test",
    // Test files wait for disks, timers and child processes as much as they compute.
    `--test-concurrency=${Math.max(2, availableParallelism())}`,
    // Nothing takes so long; a test that hangs is a failure with a name, not a silent build.
    "--test-timeout=300000",
    ...options,
    ...files,
  ];
}
