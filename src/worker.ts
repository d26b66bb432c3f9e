export { Worker } from "./remote-worker/worker.ts";
export type { WorkerOptions } from "./remote-worker/worker-options.ts";
