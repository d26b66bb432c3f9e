import type { InstanceContinued, UpdateAnswered } from "../../../src/kernel/event.ts";
import { type Added, code, type DeskInput } from "../code-workflows.ts";
import { type ClientCall, type Evidence, isBefore, type Moment } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { type CommitHistory, commitHistoryOf, eventsOf, type InstanceCommits } from "./commit-history.ts";

/**
 * An update is accepted once and has one answer, which is durable when the client receives it; an update that the
 * code's validator rejects leaves no record. Sums follow from each other, and no query returns an older sum than an
 * answer before it.
 */
export const checkUpdates: Checker = (evidence) =>
  [...commitHistoryOf(evidence).instances.values()]
    .filter(({ workflow }) => workflow === code.desk.name)
    .flatMap((instance) => new Desk(evidence, instance).wrong);

interface Answer {
  readonly event: UpdateAnswered;
  readonly landed: Moment;
  /** The sum after it. */
  readonly sum: number;
}

class Desk {
  readonly wrong: string[] = [];
  readonly #commitHistory: CommitHistory;
  readonly #instance: InstanceCommits;
  /** Keyed by id. */
  readonly #requested = new Map<string, Added>();
  readonly #answers = new Map<string, Answer>();
  #sum = 0;

  constructor(evidence: Evidence, instance: InstanceCommits) {
    this.#commitHistory = commitHistoryOf(evidence);
    this.#instance = instance;
    this.#follow();
    const calls = evidence.calls.filter(({ instanceId }) => instanceId === instance.id);
    for (const call of calls) if (call.operation === "update") this.#compare(call);
    for (const call of calls) if (call.operation === "query" && call.outcome === "ok") this.#compareQuery(call, calls);
    for (const { operation, outcome, number, value } of calls) {
      if (operation === "query" && outcome === "refused" && /beg(in|an) anew/.test(String(value)))
        this.#say(`query ${number} was refused because the code began anew: ${String(value)}`);
    }
  }

  #follow(): void {
    for (const { event, landed } of eventsOf(this.#instance)) {
      if (event.type === "UpdateRequested") {
        if (this.#requested.has(event.update)) this.#say(`update ${event.update} was let in twice`);
        this.#requested.set(
          event.update,
          JSON.parse(this.#commitHistory.textOf(this.#instance.key, event.data ?? "{}")) as Added,
        );
      }
      if (event.type === "InstanceContinued") this.#continue(event, landed);
      if (event.type !== "UpdateAnswered") continue;
      const added = this.#requested.get(event.update);
      if (added === undefined) this.#say(`update ${event.update} was answered, and had not been let in`);
      if (this.#answers.has(event.update)) this.#say(`update ${event.update} was answered twice`);
      if (event.failure === undefined) this.#sum += added?.value ?? 0;
      this.#answers.set(event.update, { event, landed, sum: this.#sum });
      this.#compareSum(event);
    }
  }

  /**
   * The next generation requests the updates again that the last one has not handled, and has the answers of its last
   * turn.
   */
  #continue({ input, answers = [] }: InstanceContinued, landed: Moment): void {
    const { sum = 0 } = JSON.parse(this.#commitHistory.textOf(this.#instance.key, input ?? "{}")) as DeskInput;
    const sums = [this.#sum];
    for (const event of answers) {
      if (this.#answers.has(event.update)) continue;
      this.#requested.set(event.update, { marker: event.update, value: 0 });
      // Several updates may be answered in that turn: a query between two of them returns the sum of the first.
      const sumThen = this.#answeredSum(event) ?? this.#sum;
      sums.push(sumThen);
      this.#answers.set(event.update, { event, landed, sum: sumThen });
    }
    for (const update of this.#requested.keys()) if (!this.#answers.has(update)) this.#requested.delete(update);
    if (sum !== Math.max(...sums)) this.#say(`it began anew with the sum ${sum}, not ${Math.max(...sums)}`);
    this.#sum = sum;
  }

  #compareSum(event: UpdateAnswered): void {
    const sum = this.#answeredSum(event) ?? this.#sum;
    if (sum !== this.#sum) this.#say(`update ${event.update} was answered with the sum ${sum}, not ${this.#sum}`);
  }

  /** Undefined if it failed. */
  #answeredSum({ output, failure }: UpdateAnswered): number | undefined {
    if (failure !== undefined || output === undefined) return undefined;
    return (JSON.parse(this.#commitHistory.textOf(this.#instance.key, output)) as { sum: number }).sum;
  }

  #compare({ marker = "", outcome, code: refusal, value, answered, given }: ClientCall): void {
    const isLetIn = this.#requested.has(marker);
    if (outcome === "refused" && /beg(in|an) anew/.test(String(value)))
      this.#say(`update ${marker} was refused because the code began anew: ${String(value)}`);
    if (isLetIn && Number(given["value"]) < 0) this.#say(`update ${marker} was let in, and should have been refused`);
    if (outcome === "refused" && refusal === "INPUT_INVALID" && isLetIn)
      this.#say(`update ${marker} was refused and let in`);
    if (outcome !== "ok" || answered === undefined) return;
    const answer = this.#answers.get(marker);
    if (answer === undefined) return this.#say(`update ${marker} was answered, and that is not on record`);
    if (!isBefore(answer.landed, answered)) this.#say(`update ${marker} was answered before that was durable`);
    const { output, failure } = answer.event;
    const recorded =
      failure === undefined
        ? (JSON.parse(this.#commitHistory.textOf(this.#instance.key, output ?? "null")) as unknown)
        : { failed: failure.message };
    if (JSON.stringify(recorded) !== JSON.stringify(value))
      this.#say(`update ${marker} was answered with ${JSON.stringify(value)}, not ${JSON.stringify(recorded)}`);
  }

  #compareQuery({ number, value, invoked, answered }: ClientCall, calls: readonly ClientCall[]): void {
    const known = calls.filter(
      (call) =>
        call.operation === "update" &&
        call.outcome === "ok" &&
        call.answered !== undefined &&
        isBefore(call.answered, invoked),
    );
    const least = Math.max(0, ...known.map(({ marker = "" }) => this.#answers.get(marker)?.sum ?? 0));
    const durable = [...this.#answers.values()].filter(
      ({ landed }) => answered !== undefined && isBefore(landed, answered),
    );
    const possible = [0, ...durable.map(({ sum }) => sum)].filter((sum) => sum >= least);
    if (!possible.includes(Number(value)))
      this.#say(`query ${number} was answered with ${String(value)}, not with one of ${possible.join(" ")}`);
  }

  #say(what: string): void {
    this.wrong.push(`${this.#instance.id}: ${what}`);
  }
}
