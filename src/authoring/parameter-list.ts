/**
 * The parameter list of a function, from its source text, without comments and extra spaces. An approximation, good enough to
 * compare and show signatures; empty for native code.
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

/** Splits source text: comments and quoted text are one piece each, everything else single characters. */
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
