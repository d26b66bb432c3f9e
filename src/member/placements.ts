import { type PlacementEvent, type PlacementState, placementStep } from "../attempts/placement.ts";
import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { RecentMap } from "../cluster/recent-map.ts";
import { describeAttempt } from "../dispatch/attempt-descriptor.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { PlacingAttempt } from "../dispatch/slot-exchange.ts";
import type { TaskInputs } from "../dispatch/task-run.ts";
import type { Hint } from "../runtime/call.ts";
import { InstanceTaskRun } from "../runtime/instance-task-run.ts";
import type { Region } from "../runtime/region.ts";
import { delegate } from "./delegate.ts";
import type { AskSlots, SlotAnswerOf, SlotQuestionOf } from "./slot-question.ts";

/** Starts that may be recorded, or granted, at a time. */
const placementsMax = 256;

/** Longer than copies of an offer are under way. */
const answeredMs = 60_000;

export interface PlacementsParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dispatcher: Pick<Dispatcher, "exchange" | "isShutDown">;
  readonly region: () => Pick<Region, "find" | "shardOf">;
  readonly isLeaseValid: () => boolean;
  readonly ask: AskSlots;
  readonly hint: (member: string, hint: Hint) => void;
  /** Time for which the host is asked to take the attempt. */
  readonly grantMs: number;
}

interface Placement {
  readonly host: string;
  readonly ticket: string;
  readonly worker: string;
  readonly placing: PlacingAttempt;
  readonly run: InstanceTaskRun;
  state: PlacementState;
}

/**
 * The owner's side of slots on other members: binds offered slots to waiting attempts, has the starts recorded, and grants
 * the attempts. `attempts/placement.ts` decides; this class carries out.
 */
export class Placements {
  readonly #parts: PlacementsParts;
  readonly #placements = new Map<string, Placement>();
  /** Answers to offers: a copy of one that was declined must not be bound. */
  readonly #answers: RecentMap<SlotAnswerOf<"OfferSlot">>;

  constructor(parts: PlacementsParts) {
    this.#parts = parts;
    this.#answers = new RecentMap({ clock: parts.clock, ageMsMax: answeredMs, countMax: 10_000 });
  }

  /** The tickets under which starts are being recorded, by host. */
  get held(): ReadonlyMap<string, readonly string[]> {
    const recording = [...this.#placements.values()].filter(({ state }) => state === "recording");
    const byHost = Map.groupBy(recording, ({ host }) => host);
    return new Map([...byHost].map(([host, placements]) => [host, placements.map(({ ticket }) => ticket)]));
  }

  offer(question: SlotQuestionOf<"OfferSlot">): SlotAnswerOf<"OfferSlot"> {
    const before = this.#answers.get(question.ticket);
    if (before !== undefined) return before;
    const answer = this.#bind(question) ? "bound" : "declined";
    this.#answers.set(question.ticket, answer);
    return answer;
  }

  #bind({ host, ticket, class: offered, worker }: SlotQuestionOf<"OfferSlot">): boolean {
    const { dispatcher, isLeaseValid } = this.#parts;
    if (dispatcher.isShutDown || !isLeaseValid() || this.#placements.size >= placementsMax) return false;
    const placing = dispatcher.exchange.place(offered, worker);
    if (placing === undefined || !(placing.run instanceof InstanceTaskRun)) return false;
    const placement: Placement = { host, ticket, worker, placing, run: placing.run, state: "recording" };
    this.#placements.set(ticket, placement);
    void this.#record(placement);
    return true;
  }

  async #record(placement: Placement): Promise<void> {
    const { placing, run, worker } = placement;
    try {
      await run.confirmStart();
    } catch {
      // The instance is gone from here, and needs no report.
      placing.finish();
      return this.#step(placement, "Cancelled");
    }
    const inputs = placing.isWanted ? await this.#inputsOf(placement) : undefined;
    const isWanted = placing.isWanted;
    placing.finish();
    if (!isWanted) return this.#step(placement, "Cancelled");
    // A pause does not withdraw what is on its way to another member.
    if (inputs === undefined || run.isPaused) return this.#step(placement, "Held");
    delegate(run, { worker, isLost: false });
    this.#step(placement, "Recorded");
    await this.#grant(placement, inputs);
  }

  async #inputsOf({ run }: Placement): Promise<TaskInputs | undefined> {
    try {
      return await run.inputs();
    } catch (error) {
      const { attemptId } = run;
      this.#parts.logger.warn({ attemptId, error: messageOf(error) }, "the inputs of an attempt could not be read");
      return undefined;
    }
  }

  async #grant(placement: Placement, inputs: TaskInputs): Promise<void> {
    const { ask, grantMs, logger } = this.#parts;
    const { host, ticket, placing, run } = placement;
    const { params, completionToken, fence } = run;
    const descriptor = describeAttempt(run, placing.startedAt);
    const granted = { ticket, descriptor, params, inputs, completionToken, fence };
    try {
      const answer = await ask(host, { type: "GrantAttempt", ...granted }, grantMs);
      this.#step(placement, this.#eventOf(placement, answer));
    } catch (error) {
      const { attemptId } = run;
      logger.debug({ attemptId, host, error: messageOf(error) }, "a grant was not answered; the lease decides");
      this.#step(placement, "Unanswered");
    }
  }

  /** The answer, as far as it concerns this member: the next owner of the shard asks the host itself. */
  #eventOf({ run }: Placement, answer: SlotAnswerOf<"GrantAttempt">): PlacementEvent {
    const { region } = this.#parts;
    const shard = region().find(region().shardOf(run.instanceId));
    if (shard?.token !== run.actor.shard.token) return "Unanswered";
    const isDelegated = shard.delegatedAttempts.isDelegated(run);
    if (answer === "accepted") return isDelegated ? "Accepted" : "AcceptedLate";
    return isDelegated ? "Refused" : "RefusedLate";
  }

  #step(placement: Placement, event: PlacementEvent): void {
    const { host, ticket, run } = placement;
    const { state, actions } = placementStep(placement.state, event);
    placement.state = state;
    if (state === "over") this.#placements.delete(ticket);
    const { hint, region } = this.#parts;
    for (const action of actions) {
      if (action === "free") hint(host, { type: "FreeSlot", ticket });
      else if (action === "abort") hint(host, { type: "AbortAttempts", attemptIds: [run.attemptId] });
      else if (action === "withdraw" && event === "Held") run.actor.onWithdrawn(run);
      else if (action === "withdraw") {
        region().find(region().shardOf(run.instanceId))?.delegatedAttempts.takeBack(run);
      }
    }
  }
}
