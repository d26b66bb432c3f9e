import type { Command } from "commander";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** The completions that can follow a sequence of command words. */
interface Place {
  /** `schedule create`; empty at the beginning. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly { readonly flag: string; readonly description: string }[];
}

export function completionScript(shell: Shell, program: Command): string {
  const places = placesOf(program, []);
  return { bash, zsh, fish }[shell](places);
}

function placesOf(command: Command, path: readonly string[]): Place[] {
  const help = command.createHelp();
  const place: Place = {
    path: path.join(" "),
    commands: command.commands.map((each) => ({ name: each.name(), description: each.description() })),
    options: help
      .visibleOptions(command)
      .flatMap(({ long, description }) => (long == null ? [] : [{ flag: long, description }])),
  };
  return [place, ...command.commands.flatMap((each) => placesOf(each, [...path, each.name()]))];
}

function wordsOf({ commands, options }: Place): string {
  return [...commands.map(({ name }) => name), ...options.map(({ flag }) => flag)].join(" ");
}

/** The `case` branches of bash and zsh, which find the place by walking over the command words. */
function cases(places: readonly Place[]): string {
  return places.map((place) => `    "${place.path}") words="${wordsOf(place)}" ;;`).join("\n");
}

function known(places: readonly Place[]): string {
  return places
    .filter(({ path }) => path !== "")
    .map(({ path }) => `"${path}"`)
    .join("|");
}

function bash(places: readonly Place[]): string {
  return `_heddle() {
  local current="\${COMP_WORDS[COMP_CWORD]}" place="" next="" word="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    next="\${place:+$place }$word"
    case "$next" in
      ${known(places)}) place="$next" ;;
    esac
  done
  case "$place" in
${cases(places)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ \${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "$current"))
}
complete -o filenames -F _heddle heddle
`;
}

function zsh(places: readonly Place[]): string {
  return `#compdef heddle
_heddle() {
  local place="" next="" word="" words_here=""
  for word in "\${words[@]:1:$((CURRENT - 2))}"; do
    next="\${place:+$place }$word"
    case "$next" in
      ${known(places)}) place="$next" ;;
    esac
  done
  case "$place" in
${cases(places).replaceAll(" words=", " words_here=")}
  esac
  compadd -- \${=words_here} || _files
}
if [ "$funcstack[1]" = "_heddle" ]; then _heddle "$@"; else compdef _heddle heddle; fi
`;
}

function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, commands, options }) => {
    const names = commands.map(({ name }) => name).join(" ");
    const seen = path
      .split(" ")
      .filter((word) => word !== "")
      .map((word) => `__fish_seen_subcommand_from ${word}`);
    const none = names === "" ? [] : [`not __fish_seen_subcommand_from ${names}`];
    const here = [...seen, ...none].join("; and ");
    return [
      ...commands.map(
        ({ name, description }) => `complete -c heddle -n '${here}' -f -a ${name} -d '${quote(description)}'`,
      ),
      ...options.map(
        ({ flag, description }) => `complete -c heddle -n '${here}' -l ${flag.slice(2)} -d '${quote(description)}'`,
      ),
    ];
  });
  return `${lines.join("\n")}\n`;
}

function quote(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
}
