import type { TestContext } from "node:test";
import type { Tasks } from "./orchestrations.rig.ts";

/**
 * The parts of the published SDKs that the tests use. Their own types do not hold without `skipLibCheck`, and are not the
 * same, so the packages are imported under names that the compiler does not follow. Two of them do not live in one process:
 * each replaces global tables of the others.
 */
export interface TaskHubClient {
  /** Options instead of an id are Microsoft's only. */
  scheduleNewOrchestration(name: string, input?: unknown, instanceId?: string | StartOptions): Promise<string>;
  getOrchestrationState(id: string, fetchPayloads?: boolean): Promise<SdkState | undefined>;
  waitForOrchestrationStart(
    id: string,
    fetchPayloads?: boolean,
    timeoutSeconds?: number,
  ): Promise<SdkState | undefined>;
  waitForOrchestrationCompletion(
    id: string,
    fetchPayloads?: boolean,
    timeoutSeconds?: number,
  ): Promise<SdkState | undefined>;
  raiseOrchestrationEvent(id: string, name: string, data?: unknown): Promise<void>;
  terminateOrchestration(id: string, output?: unknown): Promise<void>;
  suspendOrchestration(id: string): Promise<void>;
  resumeOrchestration(id: string): Promise<void>;
  purgeOrchestration(value: unknown): Promise<{ readonly deletedInstanceCount: number } | undefined>;
  /** Microsoft's only. */
  getAllInstances?(filter?: unknown): AsyncIterable<SdkState>;
  getOrchestrationHistory?(id: string): Promise<readonly SdkEvent[]>;
  listInstanceIds?(options: object): Promise<SdkPage>;
  restartOrchestration?(id: string, withNewId?: boolean): Promise<string>;
  rewindInstance?(id: string, reason: string): Promise<void>;
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly instanceId?: string;
  readonly version?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

export interface SdkEvent {
  readonly type: string;
  readonly eventId: number;
}

export interface SdkPage {
  readonly values: readonly string[];
  readonly hasMoreResults: boolean;
  readonly continuationToken?: string;
}

export interface SdkState {
  readonly instanceId: string;
  readonly name: string;
  readonly runtimeStatus: number;
  readonly serializedInput?: string;
  readonly serializedOutput?: string;
  readonly serializedCustomStatus?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly failureDetails?: { readonly message: string; readonly errorType: string; readonly stackTrace?: string };
}

/** Statuses of the protocol. */
export const status = { running: 0, completed: 1, failed: 3, terminated: 5, pending: 6, suspended: 7 } as const;

type Metadata = (call: { add(name: string, value: string): void }) => void;

interface Sdk {
  readonly TaskHubGrpcClient: new (...given: readonly unknown[]) => TaskHubClient;
  readonly TaskHubGrpcWorker: new (...given: readonly unknown[]) => TaskHubWorker;
}

interface Grpc {
  readonly Metadata: new () => { add(name: string, value: string): void };
}

async function load<T>(name: string): Promise<T> {
  const loaded = (await import(name)) as T & { readonly default?: T };
  return loaded.default ?? loaded;
}

/** A client of Microsoft's SDK. `metadata` is sent with each call. */
export async function microsoftClient(t: TestContext, port: number, metadata: Record<string, string> = {}) {
  const { TaskHubGrpcClient } = await load<Sdk>("@microsoft/durabletask-js");
  const { Metadata: MetadataOfGrpc } = await load<Grpc>("@grpc/grpc-js");
  const metadataGenerator = (): Promise<object> => {
    const sent = new MetadataOfGrpc();
    const add: Metadata = (to) => Object.entries(metadata).forEach(([name, value]) => to.add(name, value));
    add(sent);
    return Promise.resolve(sent);
  };
  return stopped(t, new TaskHubGrpcClient({ hostAddress: `127.0.0.1:${port}`, metadataGenerator, logger: quiet }));
}

/** A client of the SDK that Dapr forked from Microsoft's. */
export async function forkClient(t: TestContext, port: number) {
  const { TaskHubGrpcClient } = await load<Sdk>("@dapr/durabletask-js");
  return stopped(t, new TaskHubGrpcClient(`127.0.0.1:${port}`));
}

export interface TaskHubWorker {
  addNamedOrchestrator(name: string, orchestrator: unknown): string;
  addNamedActivity(name: string, activity: (context: unknown, input: never) => unknown): string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** The functions of a package that combine tasks. */
export async function tasksOf(name: string): Promise<Tasks> {
  return await load<Tasks>(name);
}

export type MakeWorker = (port: number) => Promise<TaskHubWorker>;

/** A worker of Microsoft's SDK. */
export const microsoftWorker: MakeWorker = async (port) => {
  const { TaskHubGrpcWorker } = await load<Sdk>("@microsoft/durabletask-js");
  return new TaskHubGrpcWorker({ hostAddress: `127.0.0.1:${port}`, logger: quiet });
};

/** A worker of the SDK that Dapr forked from Microsoft's. */
export const forkWorker: MakeWorker = async (port) => {
  const { TaskHubGrpcWorker } = await load<Sdk>("@dapr/durabletask-js");
  return new TaskHubGrpcWorker(`127.0.0.1:${port}`, undefined, undefined, undefined, undefined, quiet);
};

export interface DaprClient {
  scheduleNewWorkflow(name: string, input?: unknown, instanceId?: string, startAt?: Date): Promise<string>;
  getWorkflowState(id: string, withPayloads: boolean): Promise<DaprState | undefined>;
  waitForWorkflowStart(id: string, fetchPayloads?: boolean, seconds?: number): Promise<DaprState | undefined>;
  waitForWorkflowCompletion(id: string, fetchPayloads?: boolean, seconds?: number): Promise<DaprState | undefined>;
  raiseEvent(id: string, name: string, payload?: unknown): Promise<void>;
  terminateWorkflow(id: string, output: unknown): Promise<void>;
  suspendWorkflow(id: string): Promise<void>;
  resumeWorkflow(id: string): Promise<void>;
  purgeWorkflow(id: string): Promise<boolean>;
  stop(): Promise<void>;
}

export interface DaprState {
  readonly name: string;
  readonly runtimeStatus: number;
  readonly serializedInput?: string;
  readonly serializedOutput?: string;
  readonly customStatus?: string;
}

/** The workflow client of Dapr's SDK. */
export async function daprClient(t: TestContext, port: number, daprApiToken?: string): Promise<DaprClient> {
  const { DaprWorkflowClient } = await load<{ DaprWorkflowClient: new (options: object) => DaprClient }>("@dapr/dapr");
  const client = new DaprWorkflowClient({
    daprHost: "127.0.0.1",
    daprPort: String(port),
    ...(daprApiToken !== undefined && { daprApiToken }),
  });
  return stopped(t, client);
}

export interface DaprRuntime {
  registerWorkflowWithName(name: string, workflow: unknown): DaprRuntime;
  registerActivityWithName(name: string, activity: (context: unknown, input: never) => unknown): DaprRuntime;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** The workflow worker of Dapr's SDK. */
export async function daprRuntime(port: number): Promise<DaprRuntime> {
  const { WorkflowRuntime } = await load<{ WorkflowRuntime: new (options: object) => DaprRuntime }>("@dapr/dapr");
  return new WorkflowRuntime({ daprHost: "127.0.0.1", daprPort: String(port) });
}

export interface DaprHttpClient {
  readonly workflow: {
    start(name: string, input?: unknown, instanceId?: string): Promise<string>;
    get(id: string): Promise<DaprHttpState>;
    raise(id: string, event: string, data?: unknown): Promise<void>;
    pause(id: string): Promise<void>;
    resume(id: string): Promise<void>;
    terminate(id: string): Promise<void>;
    purge(id: string): Promise<void>;
  };
  stop(): Promise<void>;
}

export interface DaprHttpState {
  readonly workflowName: string;
  readonly runtimeStatus: string;
  readonly createdAt: Date;
  readonly properties: Record<string, string>;
}

/** Dapr's client over HTTP. */
export async function daprHttpClient(t: TestContext, url: string, daprApiToken: string): Promise<DaprHttpClient> {
  const { DaprClient } = await load<{ DaprClient: new (options: object) => DaprHttpClient }>("@dapr/dapr");
  const { hostname: daprHost, port: daprPort } = new URL(url);
  const logger = { level: "error" };
  return stopped(t, new DaprClient({ daprHost, daprPort, communicationProtocol: "http", daprApiToken, logger }));
}

const quiet = { error: () => undefined, warn: () => undefined, info: () => undefined, debug: () => undefined };

function stopped<T extends { stop(): Promise<void> }>(t: TestContext, client: T): T {
  t.after(() => client.stop());
  return client;
}
