import { hasMark, localName } from "../base/namespace.ts";
import type { InstanceAddress } from "../kernel/address.ts";
import type { Event } from "../kernel/event.ts";

/**
 * An event as it looks inside the namespace of its instance: ids and names of workflows are local. Events of `default`
 * have no others, and are returned as they are.
 */
export function localEvent(event: Event): Event {
  switch (event.type) {
    case "InstanceCreated": {
      if (!hasMark(event.workflow)) return event;
      const { parent, forkedFrom } = event;
      return {
        ...event,
        workflow: localName(event.workflow),
        ...(parent && { parent: local(parent) }),
        ...(forkedFrom && { forkedFrom: localOrigin(forkedFrom) }),
      };
    }
    case "InstanceContinued": {
      if (!hasMark(event.workflow)) return event;
      const { parent, children } = event;
      return {
        ...event,
        workflow: localName(event.workflow),
        ...(parent && { parent: local(parent) }),
        ...(children && { children: children.map((child) => ({ ...child, childId: localName(child.childId) })) }),
      };
    }
    case "ParentChanged":
      return hasMark(event.parent.id) ? { ...event, parent: local(event.parent) } : event;
    case "InstanceReopened":
      return event.parent !== undefined && hasMark(event.parent.id) ? { ...event, parent: local(event.parent) } : event;
    case "ChildStarted":
    case "ChildDetached":
      return hasMark(event.childId) ? { ...event, childId: localName(event.childId) } : event;
    case "EventSent":
    case "CancelSent":
      return hasMark(event.to) ? { ...event, to: localName(event.to) } : event;
    default:
      return event;
  }
}

function local<T extends Pick<InstanceAddress, "id">>(address: T): T {
  return { ...address, id: localName(address.id) };
}

function localOrigin<T extends { readonly id: string; readonly randomOf?: { readonly id: string } }>(origin: T): T {
  const { randomOf } = origin;
  return { ...local(origin), ...(randomOf && { randomOf: local(randomOf) }) };
}
