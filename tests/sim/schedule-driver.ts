import type { EngineNamespace } from "../../src/engine/engine-namespace.ts";
import type { InstanceView } from "../../src/views/instance-view.ts";
import type { ListedSchedule } from "../../src/engine/schedules.ts";
import type { ScheduleSpec } from "../../src/schedules/schedule-spec.ts";
import type { SimRandom } from "./sim-random.ts";
import type { Act as ClientAct, Client } from "./client.ts";
import type { ClientCall } from "./evidence.ts";
import type { ScheduleAct, ScheduleScenario } from "./schedule-workload.ts";

/** The clients of one schedule, from its creation to its deletion. */
export class ScheduleDriver {
  readonly #scenario: ScheduleScenario;
  readonly #client: Client;
  readonly #random: SimRandom;
  #spec: ScheduleSpec;
  /** A client wants it to be paused: it must not be resumed yet. */
  #pauses = 0;

  constructor(scenario: ScheduleScenario, client: Client, random: SimRandom) {
    this.#scenario = scenario;
    this.#client = client;
    this.#random = random;
    this.#spec = scenario.spec;
  }

  async play(): Promise<void> {
    const { id, spec, createAt, acts, deleteAt } = this.#scenario;
    await this.#client.sleep(createAt);
    const created = await this.#untilKnown("create", { spec }, (engine) => engine.schedules.create(id, spec));
    // Its end had passed when it was created: late, or by a wrong clock. An earlier try may have succeeded.
    if (created.code === "SCHEDULE_INVALID") return await this.#delete();
    await Promise.all(acts.map((act) => this.#act(act)));
    await this.#client.sleep(Math.max(0, deleteAt - this.#client.now));
    await this.#untilItGoesOn();
    await this.#delete();
  }

  /** Waits while its code is missing: due times of that period would never be decided. */
  async #delete(): Promise<void> {
    const instanceId = `schedule:${this.#scenario.id}`;
    for (;;) {
      const look = (engine: EngineNamespace): unknown => engine.getWorkflowInstanceStatus(instanceId);
      const { outcome, value } = await this.#client.call("status", { instanceId }, look);
      if (outcome === "refused" || (outcome === "ok" && (value as InstanceView).attention === undefined)) break;
      await this.#client.sleep(this.#random.within(500, 1500));
    }
    await this.#insist("delete", {}, (engine) => engine.schedules.delete(this.#scenario.id));
  }

  async #act(act: ScheduleAct): Promise<void> {
    const { id } = this.#scenario;
    await this.#client.sleep(Math.max(0, act.at - this.#client.now));
    switch (act.what) {
      case "look":
        return void (await this.#call("get", {}, (engine) => engine.schedules.get(id)));
      case "list":
        return void (await this.#call("list", {}, (engine) => engine.schedules.list()));
      case "trigger":
        return void (await this.#call("trigger", {}, (engine) => engine.schedules.trigger(id)));
      case "pause":
        return await this.#pause(act.forMs);
      case "change": {
        const change = await this.#untilKnown("change", { spec: act.spec }, (engine) => {
          return engine.schedules.change(id, act.spec);
        });
        if (change.code !== "SCHEDULE_INVALID") this.#spec = act.spec;
        return;
      }
      case "backfill":
        // Makes one try: a second backfill of the same range would request the same runs.
        return void (await this.#call("backfill", act.range, (engine) => engine.schedules.backfill(id, act.range)));
    }
  }

  async #pause(forMs: number): Promise<void> {
    const { id } = this.#scenario;
    this.#pauses++;
    await this.#call("pause", {}, (engine) => engine.schedules.pause(id));
    await this.#client.sleep(forMs);
    this.#pauses--;
    await this.#resume();
  }

  async #resume(): Promise<void> {
    await this.#insist("resume", {}, (engine) => engine.schedules.resume(this.#scenario.id));
  }

  /**
   * Deletes a schedule that is always due only after it has decided about one more due time. It may have been paused by
   * a request whose answer was lost. Of two changes at once, the one that is answered last may have come first.
   */
  async #untilItGoesOn(): Promise<void> {
    let before: number | undefined;
    let spec = this.#spec;
    while (isDueOften(spec)) {
      const view = await this.#look();
      spec = view?.spec ?? spec;
      if (view !== undefined && !view.isEnabled && this.#pauses === 0) await this.#resume();
      const decided = view === undefined ? undefined : view.runs + view.skipped;
      before ??= decided;
      if (decided !== undefined && before !== undefined && decided > before) return;
      await this.#client.sleep(this.#random.within(500, 1500));
    }
  }

  async #look(): Promise<ListedSchedule | undefined> {
    const call = await this.#call("get", {}, (engine) => engine.schedules.get(this.#scenario.id));
    return call.outcome === "ok" ? (call.value as ListedSchedule) : undefined;
  }

  /** A member that lacks the code cannot answer; retries at another. */
  async #untilKnown(what: string, given: object, act: ClientAct): Promise<ClientCall> {
    for (;;) {
      const call = await this.#insist(what, given, act);
      if (call.code !== "WORKFLOW_UNKNOWN") return call;
      await this.#client.sleep(1000);
    }
  }

  async #insist(what: string, given: object, act: ClientAct): Promise<ClientCall> {
    const about = this.#about(what, given);
    return await this.#client.insist(
      "schedule",
      () => about,
      () => act,
    );
  }

  async #call(what: string, given: object, act: ClientAct): Promise<ClientCall> {
    return await this.#client.call("schedule", this.#about(what, given), act);
  }

  #about(what: string, given: object): { instanceId: string; given: Readonly<Record<string, unknown>> } {
    return { instanceId: `schedule:${this.#scenario.id}`, given: { what, ...given } };
  }
}

function isDueOften({ every, endAt }: ScheduleSpec): boolean {
  return endAt === undefined && ("rateMs" in every || "delayMs" in every);
}
