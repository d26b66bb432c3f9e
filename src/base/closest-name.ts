/** Maximum length of compared names: a comparison takes the product of their lengths, and names come over the wire. */
const lengthMax = 64;

/** The known name that was most likely meant: at most two letters off, and never all of them. None for long names. */
export function closestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > lengthMax) return undefined;
  let closest: string | undefined;
  let limit = Math.min(3, name.length);
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= limit) continue;
    const distance = editDistance(name, candidate);
    if (distance >= limit) continue;
    closest = candidate;
    limit = distance;
  }
  return closest;
}

/** The end of a sentence about an unknown name; empty when nothing known is close. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const closest = closestName(name, known);
  return closest === undefined ? "" : `; did you mean ${JSON.stringify(closest)}?`;
}

/** Letters to insert, remove, replace or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min(replaced, at(last, j) + 1, at(row, j - 1) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, at(beforeLast, j - 2) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
