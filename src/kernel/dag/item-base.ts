import { assert } from "../../base/assert.ts";
import type { ItemsAdded, MapStarted } from "../event.ts";
import { InstanceBase } from "../instance-base.ts";
import type { Payload } from "../payload.ts";
import { isInFlight, Phase, type TaskRecord } from "../task-state.ts";
import { ItemTable } from "./item-table.ts";
import { firstItemNumber, type MapItems } from "./map-items.ts";

/** The part of a DAG's state that knows items of maps: they answer to numbers above those of tasks. */
export abstract class ItemBase extends InstanceBase {
  readonly items = new ItemTable();
  /** The turn whose events are applied: items remember the turn of their end, where their result is. */
  turn = 0;

  override has(task: number): boolean {
    return super.has(task) || this.items.find(task) !== undefined;
  }

  override inFlightItems(): number[] {
    return this.items.inFlightItems();
  }

  override phase(task: number): Phase {
    return task < firstItemNumber ? super.phase(task) : this.items.get(task).phase(task);
  }

  override record(task: number): TaskRecord | undefined {
    return task < firstItemNumber ? super.record(task) : this.items.get(task).record(task);
  }

  override recordOf(task: number): TaskRecord {
    return task < firstItemNumber ? super.recordOf(task) : this.items.get(task).recordOf(task);
  }

  override attempt(task: number): number {
    return task < firstItemNumber ? super.attempt(task) : this.items.get(task).attempt(task);
  }

  override setPhase(task: number, phase: Phase): void {
    if (task < firstItemNumber) return super.setPhase(task, phase);
    this.itemsInFlight += Number(isInFlight(phase)) - Number(isInFlight(this.phase(task)));
    this.items.get(task).setPhase(task, phase);
  }

  /** The task itself, or the map that an item belongs to. */
  nodeOf(task: number): number {
    return task < firstItemNumber ? task : this.items.get(task).task;
  }

  startMap(event: MapStarted, at: number): void {
    const { task, pages, workers } = event;
    const isAgain = pages === undefined && workers === undefined;
    const items = isAgain ? this.items.ofTask(task) : this.items.add(event, this.definition(task));
    assert(items !== undefined, "a map that runs again has its items");
    this.items.start(items);
    this.recordOf(task).startedAt = at;
    this.setPhase(task, Phase.running);
  }

  addItems(event: ItemsAdded): void {
    const items = this.items.ofTask(event.task);
    assert(items !== undefined, "items are added to a map that runs");
    items.add(event);
  }

  finishItem(item: number, phase: Phase, output?: Payload): void {
    this.itemsInFlight -= Number(isInFlight(this.phase(item)));
    this.items.get(item).finish(item, phase, this.turn, output);
  }

  /** The map of the items has ended. */
  closeItems(items: MapItems): void {
    this.items.stop(items);
    this.itemsInFlight -= items.inFlight;
    for (const item of items.close()) this.retryWaits.delete(item);
  }
}
