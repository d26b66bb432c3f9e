/** Workers: jobs in processes of their own, for a server. */

export { Worker } from "./remote-worker/worker.ts";
export type { WorkerOptions } from "./remote-worker/worker-options.ts";
