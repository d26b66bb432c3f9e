/**
 * First path segments of the console's pages. The server answers each of them, and everything below, with the console's
 * document, which then shows the page of that address.
 */
export const consolePages = [
  "workflows",
  "instances",
  "schedules",
  "jobs",
  "domains",
  "workers",
  "cluster",
  "audit",
  "tokens",
  "settings",
  // `/n/{namespace}`, and the page in that namespace below it.
  "n",
] as const;
