/** Changes a class while it is in use. Gives back how to restore it. */
export function redefine(prototype: object, name: string, change: PropertyDescriptor): () => void {
  if (!(name in prototype)) throw new Error(`there is no ${name} to change`);
  const before = Object.getOwnPropertyDescriptor(prototype, name);
  Object.defineProperty(prototype, name, { configurable: true, ...change });
  return () => {
    // What it had from the class above, it has again.
    if (before === undefined) Reflect.deleteProperty(prototype, name);
    else Object.defineProperty(prototype, name, before);
  };
}
