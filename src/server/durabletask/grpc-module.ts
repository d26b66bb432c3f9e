import type { IncomingHttpHeaders } from "node:http";
import { EngineError, hasCode } from "../../base/error.ts";

/**
 * The part of the package `@grpc/grpc-js`, an optional dependency, that is used. Its own types do not hold without
 * `skipLibCheck`, which is how this package is compiled.
 */
export interface GrpcModule {
  readonly Server: new (options: Readonly<Record<string, number>>) => GrpcServer;
  readonly ServerCredentials: {
    createInsecure(): GrpcCredentials;
    createSsl(
      rootCertificates: null,
      keyPairs: readonly { readonly private_key: Buffer; readonly cert_chain: Buffer }[],
    ): GrpcCredentials;
  };
}

/** Opaque. */
export type GrpcCredentials = object;

export interface GrpcServer {
  addService(definition: Readonly<Record<string, GrpcMethod>>, handlers: Readonly<Record<string, GrpcHandler>>): void;
  bindAsync(address: string, credentials: GrpcCredentials, onBound: (error: Error | null, port: number) => void): void;
  tryShutdown(onClosed: (error?: Error) => void): void;
  forceShutdown(): void;
}

export interface GrpcMethod {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly requestSerialize: (bytes: Buffer) => Buffer;
  readonly requestDeserialize: (bytes: Buffer) => Buffer;
  readonly responseSerialize: (bytes: Buffer) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Buffer;
}

/** A unary call has an answer; a call with a stream of answers is written to. */
export type GrpcHandler = (call: GrpcCall, answer: GrpcAnswer) => void;

export type GrpcAnswer = (error: GrpcRefusal | null, value?: Buffer) => void;

export interface GrpcRefusal {
  readonly code: number;
  readonly details: string;
}

export interface GrpcCall {
  readonly request: Buffer;
  readonly metadata: { get(name: string): readonly (string | Buffer)[] };
  getPeer(): string;
  on(event: "cancelled", listener: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Of a call with a stream of answers. */
  write(bytes: Buffer): boolean;
  end(): void;
  emit(event: "error", refusal: GrpcRefusal): boolean;
}

/** A name that the compiler does not follow to the types of the package. */
const packageName: string = "@grpc/grpc-js";

/** `OPTION_INVALID` if the package is not installed. */
export async function loadGrpc(): Promise<GrpcModule> {
  try {
    return (await import(packageName)) as GrpcModule;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
    throw new EngineError(
      "OPTION_INVALID",
      `grpcPort needs the package ${packageName}, which is not installed; run npm install ${packageName}, or leave grpcPort out`,
      { cause: error },
    );
  }
}

/** True if the package is installed. */
export async function hasGrpc(): Promise<boolean> {
  try {
    await loadGrpc();
    return true;
  } catch (error) {
    if (hasCode(error, "OPTION_INVALID")) return false;
    throw error;
  }
}

const namespaceHeader = "x-heddle-namespace";

/** The metadata that authorize a call, as headers. Dapr's SDKs send their token in a header of its own. */
export function headersOf({ metadata }: Pick<GrpcCall, "metadata">): IncomingHttpHeaders {
  const authorization = textOf(metadata, "authorization") ?? bearer(textOf(metadata, "dapr-api-token"));
  const namespace = textOf(metadata, namespaceHeader);
  return {
    ...(authorization !== undefined && { authorization }),
    ...(namespace !== undefined && { [namespaceHeader]: namespace }),
  };
}

/** The header for a token that is given without a scheme. */
export function bearer(token: string | undefined): string | undefined {
  return token === undefined || token === "" ? undefined : `Bearer ${token}`;
}

export function textOf(metadata: GrpcCall["metadata"], name: string): string | undefined {
  const [value] = metadata.get(name);
  return typeof value === "string" ? value : undefined;
}
