import { type CodeWorkflow, isCodeWorkflow } from "../../src/authoring/code-workflow.ts";
import { TaskBuilder } from "../../src/authoring/task-builder.ts";
import { UpdateFailed } from "../../src/engine/update-failed.ts";
import type { InstanceView } from "../../src/views/instance-view.ts";
import type { EngineNamespace } from "../../src/engine/engine-namespace.ts";
import { hasEnded } from "../../src/kernel/status.ts";
import type { SimRandom } from "./sim-random.ts";
import type { About, Client, Act as ClientAct } from "./client.ts";
import { lastNote, type Note } from "./code-workflows.ts";
import type { ClientCall } from "./evidence.ts";
import { clientScripts } from "./client-scripts.ts";
import type { Act, AnyScenario, Resize } from "./workload.ts";

/** Plays one scenario from the first submit to the last answer, with retries. */
export class Driver {
  readonly #client: Client;
  readonly random: SimRandom;
  readonly #scenario: AnyScenario;
  /** A client wants it to be paused: it must not be resumed yet. */
  #pauses = 0;
  #marks = 0;
  /**
   * The outcome of a try to start it is unknown. Such a try may still be in a mailbox. While the instance is known, it
   * is refused because the id is taken; once all traces of the id are purged, it rightly starts a new instance.
   */
  #hasUnansweredStart = false;

  constructor(scenario: AnyScenario, client: Client, random: SimRandom) {
    this.#scenario = scenario;
    this.#client = client;
    this.random = random;
  }

  async play(): Promise<void> {
    const { submitAt, afterlife } = this.#scenario;
    await this.#client.sleep(submitAt);
    const [id] = await Promise.all([this.#submit(), this.#double()]);
    await this.#follow(id);
    if (afterlife === "purged") return this.#hasUnansweredStart ? undefined : await this.#purgeFamily(id);
    if (afterlife === "contested") return this.#hasUnansweredStart ? undefined : await this.#contest(id);
    if (afterlife === "reused") await this.#submitAs(id, true);
    if (afterlife === "rerun") await this.#rerun(id);
    if (afterlife === "forked") return await this.#fork(id);
    if (afterlife !== "none") await this.#follow(id);
  }

  /** The id makes all tries idempotent. */
  async #fork(id: string): Promise<void> {
    const fork = `${id}-fork`;
    const { tasks } = await this.untilEnded(id);
    const fromTask = this.random.whole(0, tasks.length - 1);
    const about = { instanceId: fork, marker: this.marker() };
    await this.#client.insist(
      "fork",
      () => about,
      () => async (engine) => (await engine.forkWorkflowInstance(id, { fromTask, instanceId: fork })).instanceId,
    );
    await this.#follow(fork);
  }

  /** One client purges the instance while another reopens it. One of them is too late, or the purge finds it ended again. */
  async #contest(id: string): Promise<void> {
    const meanMs = this.random.pick([0, 3, 30]);
    const purge = this.sleep(meanMs).then(() => this.#purge(id));
    await this.sleep(meanMs);
    await Promise.all([purge, isCodeWorkflow(this.#scenario.workflow) ? this.retry(id) : this.#rerun(id)]);
    for (let view = await this.#lookIfThere(id); view !== "gone"; view = await this.#lookIfThere(id)) {
      if (view !== undefined && hasEnded(view.status)) return;
      if (view !== undefined) await this.#help(id, view);
      await this.sleep(3000);
    }
  }

  async #rerun(id: string): Promise<void> {
    const { workflow } = this.#scenario;
    const [first] = isCodeWorkflow(workflow) ? [] : workflow.tasks.values();
    await this.#client.insist(
      "rerun",
      () => ({ instanceId: id, marker: this.marker() }),
      () => (engine) => engine.rerunWorkflowInstance(id, first?.name ?? ""),
    );
  }

  /** Purges the instance and its children, once they have ended. */
  async #purgeFamily(id: string): Promise<void> {
    while ((await this.#purge(id, { recursive: true })).code === "INSTANCE_STATE") await this.sleep(1000);
  }

  async #purge(id: string, options: { recursive?: boolean } = {}): Promise<ClientCall> {
    return await this.#client.insist(
      "purge",
      () => ({ instanceId: id, given: options }),
      () => (engine) => engine.purgeWorkflowInstances({ instanceId: id, ...options }),
    );
  }

  async #follow(id: string): Promise<void> {
    const acts = this.#scenario.acts.map((act) => this.#act(id, act));
    await this.#run(id);
    await this.#untilHeard(id, Promise.all(acts));
  }

  /** A late signal starts another instance under the same id, and a waiting client may wait for its end. */
  async #untilHeard(id: string, heard: Promise<unknown>): Promise<void> {
    if (this.#scenario.isSignaled !== true) return void (await heard);
    const done = heard.then(() => "heard" as const);
    while ((await Promise.race([done, this.sleep(3000)])) !== "heard") await this.untilEnded(id);
  }

  async #run(id: string): Promise<void> {
    const { script } = this.#scenario;
    if (script !== undefined) await clientScripts[script](this, id);
    // One client waits for the end, another polls: the instance may be paused by a request whose answer was lost.
    const end = this.awaitEnd(id);
    await this.untilEnded(id);
    await this.#untilHeard(id, end);
  }

  /** Submits the workflow and returns its id. */
  async #submit(): Promise<string> {
    const { instanceId, isSignaled } = this.#scenario;
    if (instanceId !== undefined && isSignaled) return await this.#signal(instanceId);
    if (instanceId !== undefined) return await this.#submitAs(instanceId, false);
    const call = await this.#insistOnStart(
      () => ({ marker: this.marker() }),
      (about) => (engine) => this.#start(engine, about, {}),
    );
    call.instanceId = String(call.value);
    return call.instanceId;
  }

  /** Each try has an event of its own; the first to arrive starts the instance. */
  async #signal(instanceId: string): Promise<string> {
    for (let number = 0; ; number++) {
      const note: Note = { sender: "sender start", number };
      const about = { instanceId, marker: this.marker(), given: { name: "note", ...note } };
      const { outcome, code } = await this.#client.call("signal", about, (engine) =>
        this.#sendFirst(engine, about, note),
      );
      if (outcome === "ok" || (outcome === "refused" && code !== "WORKFLOW_UNKNOWN")) return instanceId;
      await this.sleep(500);
    }
  }

  async #sendFirst(
    engine: EngineNamespace,
    about: { instanceId: string; marker: string },
    note: Note,
  ): Promise<string> {
    const { workflow, params } = this.#scenario;
    if (!isCodeWorkflow(workflow)) throw new TypeError("only code can be signaled");
    const { instanceId, marker } = about;
    const event = { name: "note", data: { ...note, marker } };
    return (
      await engine.signalWithStart(knownTo(engine, workflow), { instanceId, input: { ...params, marker }, event })
    ).instanceId;
  }

  /** The id makes all tries idempotent, unless a finished instance may be followed by another: then each try counts. */
  async #submitAs(instanceId: string, reuse: boolean): Promise<string> {
    const first = this.marker();
    await this.#insistOnStart(
      () => ({ instanceId, marker: reuse ? this.marker() : first, given: { reuse } }),
      (about) => (engine) => this.#start(engine, about, { instanceId, reuse }),
    );
    return instanceId;
  }

  /** A member that lacks the code cannot answer; retries at another. */
  async #insistOnStart(about: () => About, act: (about: About) => ClientAct): Promise<ClientCall> {
    for (;;) {
      let tries = 0;
      const nextTry = (): About => {
        if (tries++ > 0) this.#hasUnansweredStart = true;
        return about();
      };
      const call = await this.#client.insist("submit", nextTry, act);
      if (call.code !== "WORKFLOW_UNKNOWN") return call;
      await this.sleep(1000);
    }
  }

  /** A second client submits the same id: one of the two is refused. */
  async #double(): Promise<void> {
    const { instanceId, isSignaled, acts } = this.#scenario;
    if (isSignaled) return;
    const act = acts.find(({ what }) => what === "double");
    if (act === undefined || instanceId === undefined) return;
    await this.#client.sleep(act.afterMs);
    await this.#submitAs(instanceId, false);
  }

  async #start(
    engine: EngineNamespace,
    { marker }: About,
    options: { instanceId?: string; reuse?: boolean },
  ): Promise<string> {
    const { workflow, params, maxConcurrentTasks } = this.#scenario;
    if (isCodeWorkflow(workflow)) {
      return (await engine.startWorkflow(knownTo(engine, workflow), { ...params, marker }, options)).instanceId;
    }
    const run = await engine.submitWorkflow(workflow, {
      ...options,
      params: { ...params, marker },
      ...(maxConcurrentTasks !== undefined && { maxConcurrentTasks }),
    });
    return run.instanceId;
  }

  async #act(id: string, act: Act): Promise<void> {
    await this.#client.sleep(act.afterMs);
    switch (act.what) {
      case "look":
        return void (await this.look(id));
      case "list":
        return void (await this.#client.call("list", {}, (engine) => listIds(engine)));
      case "history":
        return void (await this.#client.call("history", { instanceId: id }, (engine) => historyOf(engine, id)));
      case "breakpoint":
        return void (await this.breakpoint(id));
      case "await":
        return void (await this.awaitEnd(id));
      case "patch":
        return void (await this.patch(id));
      case "pause":
        return await this.#pause(id, act.forMs);
      case "raise":
        return void (await this.raise(id, "stray"));
      case "cancel":
        return void (await this.cancel(id));
      case "terminate":
        return await this.#terminate(id);
      case "double":
    }
  }

  async #pause(id: string, forMs: number): Promise<void> {
    this.#pauses++;
    const about = { instanceId: id, marker: this.marker() };
    const call = await this.#client.call("pause", about, (engine) => engine.pauseWorkflowInstance(id));
    if (call.outcome !== "refused") {
      await this.#client.sleep(forMs);
      await this.#resume(id);
    }
    this.#pauses--;
  }

  async #resume(id: string): Promise<void> {
    await this.#client.insist(
      "resume",
      () => ({ instanceId: id, marker: this.marker() }),
      () => (engine) => engine.resumeWorkflowInstance(id),
    );
  }

  async #terminate(id: string): Promise<void> {
    const marker = this.marker();
    const about = { instanceId: id, marker };
    await this.#client.call("terminate", about, (engine) => engine.terminateWorkflowInstance(id, marker));
  }

  // Operations for client scripts

  /** Returns a new marker with every call. */
  marker(): string {
    return `s${this.#scenario.number}-${this.#marks++}`;
  }

  async sleep(meanMs: number): Promise<void> {
    await this.#client.sleep(this.random.waitMs(meanMs));
  }

  async awaitEnd(id: string): Promise<ClientCall> {
    return await this.#client.insist(
      "await",
      () => ({ instanceId: id }),
      () => (engine) => engine.awaitWorkflowInstance(id),
    );
  }

  async look(id: string): Promise<InstanceView | undefined> {
    const view = await this.#lookIfThere(id);
    return view === "gone" ? undefined : view;
  }

  async #lookIfThere(id: string): Promise<InstanceView | "gone" | undefined> {
    const call = await this.#client.call("status", { instanceId: id }, (engine) =>
      engine.getWorkflowInstanceStatus(id),
    );
    if (call.code === "INSTANCE_UNKNOWN") return "gone";
    return call.outcome === "ok" ? (call.value as InstanceView) : undefined;
  }

  async breakpoint(id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const call = await this.#client.call("breakpoint", { instanceId: id }, async (engine) => {
      const { status, context } = await engine.getWorkflowInstanceBreakpoint(id);
      return { status, context };
    });
    return call.outcome === "ok" ? (call.value as { context: Record<string, unknown> }).context : undefined;
  }

  async untilEnded(id: string): Promise<InstanceView> {
    for (;;) {
      const view = await this.look(id);
      if (view !== undefined && hasEnded(view.status)) return view;
      if (view !== undefined) await this.#help(id, view);
      await this.sleep(3000);
    }
  }

  /** Does what an instance may wait for that has not ended. */
  async #help(id: string, view: InstanceView): Promise<void> {
    if ((view.status === "Paused" || view.pausing) && this.#pauses === 0) await this.#resume(id);
    // Its code was missing, and may be there by now.
    else if (view.attention !== undefined) await this.#resume(id);
    // A late signal has started another instance, to which no client writes any more.
    else if (this.#scenario.isSignaled === true) await this.raise(id, "note", lastNote);
  }

  async patch(id: string, more: Readonly<Record<string, unknown>> = {}): Promise<ClientCall> {
    return await this.#client.insist(
      "patch",
      () => ({ instanceId: id, marker: this.marker() }),
      ({ marker = "" }) =>
        (engine) =>
          engine.updateContext(id, { [marker]: 1, ...more }),
    );
  }

  async retry(id: string): Promise<void> {
    const about = { instanceId: id, marker: this.marker() };
    await this.#client.call("retry", about, (engine) => engine.retryWorkflowInstance(id));
  }

  async mend(id: string): Promise<void> {
    const about = { instanceId: id, marker: this.marker() };
    await this.#client.call("mend", about, (engine) => engine.succeedTask(id, "bad", { sum: 70 }));
  }

  /** Makes one try: a second event would count as another. */
  async raise(id: string, name: string, data: Readonly<Record<string, unknown>> = {}): Promise<ClientCall> {
    const about = { instanceId: id, marker: this.marker(), given: { name, ...data } };
    const { marker } = about;
    return await this.#client.call("raise", about, (engine) => engine.raiseEvent(id, name, { ...data, marker }));
  }

  async cancel(id: string): Promise<ClientCall> {
    const marker = this.marker();
    const about = { instanceId: id, marker };
    return await this.#client.call("cancel", about, (engine) => engine.cancelWorkflowInstance(id, marker));
  }

  async query(id: string, name: string): Promise<ClientCall> {
    const about = { instanceId: id, given: { name } };
    return await this.#client.call("query", about, (engine) => engine.queryWorkflowInstance(id, name));
  }

  /** The update id makes all tries one update. */
  async update(id: string, name: string, data: Readonly<Record<string, unknown>>): Promise<ClientCall> {
    const marker = this.marker();
    const about = { instanceId: id, marker, given: { name, ...data } };
    return await this.#client.insist(
      "update",
      () => about,
      () => (engine) => updated(engine, id, { name, data: { ...data, marker }, marker }),
    );
  }

  async add(id: string): Promise<void> {
    const about = { instanceId: id, marker: this.marker() };
    const extra = new TaskBuilder("extra").withJobFunction("step", { ms: 5, value: 1 }).withTimeout(3600).build();
    await this.#client.call("add", about, (engine) => engine.addSubTask(id, extra, "wait"));
  }
}

/** Resizes domains as the workload says. A single engine forgets the size when its process ends. */
export async function playResizes(resizes: readonly Resize[], client: Client): Promise<void> {
  await Promise.all(
    resizes.map(async ({ at, domain, size }) => {
      await client.sleep(at);
      await client.call("resize", { given: { domain, size } }, (engine) =>
        engine.executor.setDomainPoolSize(domain, size),
      );
    }),
  );
}

async function listIds(engine: EngineNamespace): Promise<string[]> {
  const found = await engine.listWorkflowInstances({ limit: 1000 });
  return found.map(({ id }) => id);
}

async function historyOf(engine: EngineNamespace, id: string): Promise<number[]> {
  const turns = await engine.getWorkflowInstanceHistory(id);
  return turns.map(({ turn }) => turn);
}

/** An accepted update that failed has an answer too. */
async function updated(
  engine: EngineNamespace,
  id: string,
  { name, data, marker }: { name: string; data: unknown; marker: string },
): Promise<unknown> {
  try {
    return await engine.updateWorkflowInstance(id, name, data, { updateId: marker });
  } catch (error) {
    if (error instanceof UpdateFailed) return { failed: error.failure.message };
    throw error;
  }
}

/** The workflow as a process starts it that has its code, or knows it from workers. */
function knownTo(engine: EngineNamespace, workflow: CodeWorkflow): CodeWorkflow {
  const known = engine.findWorkflow(workflow.name);
  return known !== undefined && isCodeWorkflow(known) && known.version === workflow.version ? known : workflow;
}
