/**
 * What stands between the parentheses of a function's declaration, without comments and needless spaces. Read from the
 * source text, so it is a likeness, good for telling signatures apart and for showing them; empty for native code.
 */
export function parameterList(source: string): string {
  const arrow = /^\s*(?:async\s+)?([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*=>/u.exec(source);
  if (arrow?.[1] !== undefined) return arrow[1];

  let depth = 0;
  let list = "";
  for (const piece of pieces(source)) {
    if (piece.startsWith("//") || piece.startsWith("/*")) continue;
    if (depth > 0 && closes.has(piece) && --depth === 0) break;
    if (depth > 0) list += piece;
    if (piece === "(" || (depth > 0 && opens.has(piece))) depth++;
  }
  return tidy(list);
}

const opens = new Set(["(", "[", "{"]);
const closes = new Set([")", "]", "}"]);

/** Comments and quoted text in one piece each, whatever brackets they hold; everything else letter by letter. */
function pieces(source: string): string[] {
  return source.match(/\/\/.*|\/\*[^]*?\*\/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\[^]|[^`\\])*`|[^]/g) ?? [];
}

function tidy(list: string): string {
  return list
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ ?([,:=[\](){}]) ?/g, "$1")
    .replace(/,$/, "")
    .trim();
}
