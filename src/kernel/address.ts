/** The address of an instance, for messages between instances. Messages of an older generation are dropped. */
export interface InstanceAddress {
  readonly id: string;
  readonly key: number;
  readonly generation: number;
}

export function addressOf(
  { id, key }: { readonly id: string; readonly key: number },
  { generation }: { readonly generation: number },
): InstanceAddress {
  return { id, key, generation };
}

/** The nested-workflow task that a child instance reports its end to. */
export interface ParentAddress extends InstanceAddress {
  readonly task: number;
  readonly attempt: number;
  /** Number of instances above the child; capped, so that no definition can nest for ever. */
  readonly depth: number;
}

/**
 * The stable name of one attempt: users' idempotency key. An attempt that was lost with its process runs again under
 * the same name; a retry after a failure has a new one.
 */
export function attemptId(instance: InstanceAddress, task: number, attempt: number): string {
  return `${instance.id}:${instance.generation}:${task}:${attempt}`;
}

/**
 * The id of a child for which none was chosen. A task's name, or number, is unique within a generation, and a task
 * starts a new child only if it has none, so no two children share an id.
 */
export function childIdOf({ id, generation }: InstanceAddress, task: string | number): string {
  return generation === 1 ? `${id}/${task}` : `${id}/${task}~${generation}`;
}

/** The ids of the current attempts of these tasks. */
export function attemptIds(
  instance: InstanceAddress,
  tasks: readonly number[],
  state: { attempt(task: number): number },
): string[] {
  return tasks.map((task) => attemptId(instance, task, state.attempt(task)));
}
