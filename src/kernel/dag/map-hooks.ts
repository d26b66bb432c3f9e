import type { Payload } from "../payload.ts";
import type { MapHook } from "../task-definition.ts";

/** The hooks of a map, jobs that run once, by number. */
export class MapHooks {
  /** The number of the hook that runs before the items, of the one that hands them in, and of the one after them. */
  readonly before: number | undefined;
  readonly source: number | undefined;
  readonly after: number | undefined;
  /** Their numbers, in the order in which they run. */
  readonly numbers: readonly number[];
  /** The hook that failed, which fails the map. */
  failure: { readonly name: MapHook["name"]; readonly message: string } | undefined;
  /** The output of the hook after the items. */
  output: Payload | undefined;
  readonly #hooks: readonly MapHook[];
  readonly #first: number;

  constructor(hooks: readonly MapHook[], first: number) {
    this.#hooks = hooks;
    this.#first = first;
    this.numbers = hooks.map((_, place) => first + place);
    const numberOf = (wanted: MapHook["name"]): number | undefined =>
      this.numbers.find((number) => this.of(number)?.name === wanted);
    this.before = numberOf("before");
    this.source = numberOf("source");
    this.after = numberOf("after") ?? numberOf("reduce");
  }

  /** The hook of that number; undefined for an item. A negative index of a list would be looked up as a name. */
  of(number: number): MapHook | undefined {
    return number < this.#first ? undefined : this.#hooks[number - this.#first];
  }

  finish(number: number, failed: string | undefined, output: Payload | undefined): void {
    const hook = this.of(number);
    if (hook !== undefined && failed !== undefined) this.failure = { name: hook.name, message: failed };
    else if (number === this.after) this.output = output;
  }
}
