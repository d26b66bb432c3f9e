/**
 * The engine with its HTTP interface, live push and security, as one thing to start.
 *
 * ```ts
 * import { loadConfig, Server } from "heddle/server";
 * import { storage } from "heddle/storage";
 *
 * const config = loadConfig({ environment: process.env });
 * const server = await Server.start(config, { store: await storage(config.storage), jobs });
 * ```
 */
export { serverConfig } from "./server/config/load-config.ts";
export { Server } from "./server/server.ts";
export type { ServerParts } from "./server/server.ts";
export { loadConfig } from "./server/config/load-config.ts";
export type { ConfigSources } from "./server/config/load-config.ts";
export type { ServerConfig } from "./server/config/server-config.ts";
