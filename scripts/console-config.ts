import { join } from "node:path";
import react from "@vitejs/plugin-react";
import type { InlineConfig } from "vite";
import { root } from "./run.ts";

/** Vite's configuration for the web console. */
export const consoleConfig: InlineConfig = {
  configFile: false,
  root: join(root, "console"),
  logLevel: "warn",
  plugins: [react()],
  // The server puts a new nonce into each answer (src/server/console/console-routes.ts).
  html: { cspNonce: "__NONCE__" },
  build: {
    outDir: join(root, "dist/ui"),
    emptyOutDir: true,
    // No inline data: the content security policy names few places.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1200,
    modulePreload: { polyfill: false },
  },
};
