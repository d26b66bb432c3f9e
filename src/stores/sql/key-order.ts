/**
 * Rows that several members may write at once are written in one order by all of them, so that their locks cannot
 * deadlock. Items with the same key keep their order: of several versions of a workflow the last is the latest.
 */
export function inKeyOrder<Item>(items: readonly Item[], keyOf: (item: Item) => string): readonly Item[] {
  if (items.length < 2) return items;
  return items.toSorted((a, b) => {
    const [first, second] = [keyOf(a), keyOf(b)];
    return first < second ? -1 : Number(first > second);
  });
}
