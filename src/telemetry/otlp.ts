import { diag, DiagLogLevel } from "@opentelemetry/api";
import { EngineError, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";

const packages = ["@opentelemetry/sdk-trace-node", "@opentelemetry/exporter-trace-otlp-http"];

export interface OtlpOptions {
  /** URL of the collector: `http://127.0.0.1:4318`. The default path is `/v1/traces`. */
  readonly url: string;
  /** Service name of the spans. */
  readonly serviceName: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Logs spans that cannot be exported. Without it, stopping throws the last export error. */
  readonly logger?: Logger;
}

/**
 * Exports all spans of this process to a collector. The user installs the SDK's packages. Returns a function that flushes
 * the last spans and stops. `OPTION_INVALID`.
 */
export async function exportTraces({ url, serviceName, headers, logger }: OtlpOptions): Promise<() => Promise<void>> {
  const [sdk, otlp] = await load();
  const attributes = { "service.name": serviceName };
  const resource = {
    attributes,
    merge: () => resource,
    getRawAttributes: (): [string, string][] => Object.entries(attributes),
  };
  const exporter = new otlp.OTLPTraceExporter({
    url: endpointOf(url),
    ...(headers !== undefined && { headers: { ...headers } }),
  });
  const provider = new sdk.NodeTracerProvider({ resource, spanProcessors: [new sdk.BatchSpanProcessor(exporter)] });
  provider.register();
  if (logger === undefined) return () => provider.shutdown();
  const tell = (problem: string): void => logger.warn({ problem }, "spans could not be sent to the collector");
  listen(tell);
  return async () => {
    await provider.shutdown().catch((error: unknown) => tell(messageOf(error)));
    diag.disable();
  };
}

function endpointOf(url: string): string {
  const endpoint = new URL(url);
  if (endpoint.pathname === "/") endpoint.pathname = "/v1/traces";
  return endpoint.href;
}

const ignore = (): void => undefined;

/** Listens to the SDK's diagnostics, the only place where it reports spans that it drops. */
function listen(tell: (problem: string) => void): void {
  const levels = { error: tell, warn: tell, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(levels, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

async function load() {
  try {
    return await Promise.all([
      import("@opentelemetry/sdk-trace-node"),
      import("@opentelemetry/exporter-trace-otlp-http"),
    ]);
  } catch (error) {
    throw new EngineError(
      "OPTION_INVALID",
      `traces cannot be sent to a collector, because the packages for it are not installed: npm install ${packages.join(" ")}`,
      { cause: error },
    );
  }
}
