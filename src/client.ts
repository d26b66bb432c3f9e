/** A typed client of a server: every operation of the HTTP interface, results, logs and live changes. It runs in Node.js and in browsers. */

export type { Call, CallOptions } from "./client/call.ts";
export { HeddleClient } from "./client/client.ts";
export type { HeddleClientOptions, InstanceResult, LogLine, LogsOptions } from "./client/client.ts";
export { HeddleClientError } from "./client/client-error.ts";
export type { RequestProblem } from "./client/client-error.ts";
export type { WatchedChange, WatchedNode, WatchOptions, WatchTarget } from "./client/watch.ts";
