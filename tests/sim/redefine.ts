/** Replaces a property of a class. Returns a function that restores it. */
export function redefine(prototype: object, name: string, change: PropertyDescriptor): () => void {
  if (!(name in prototype)) throw new Error(`there is no ${name} to change`);
  const before = Object.getOwnPropertyDescriptor(prototype, name);
  Object.defineProperty(prototype, name, { configurable: true, ...change });
  return () => {
    // The property was inherited, and is again.
    if (before === undefined) Reflect.deleteProperty(prototype, name);
    else Object.defineProperty(prototype, name, before);
  };
}
