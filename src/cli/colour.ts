/** Only for eyes: on a terminal, and unless NO_COLOR asks for none. */
export interface Colours {
  (colour: Colour, text: string): string;
}

export type Colour = "red" | "green" | "yellow" | "blue" | "grey" | "bold";

const codes: Readonly<Record<Colour, readonly [on: number, off: number]>> = {
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  grey: [90, 39],
  bold: [1, 22],
};

export function coloursFor(stream: { isTTY?: boolean }, environment: NodeJS.ProcessEnv): Colours {
  if (stream.isTTY !== true || (environment["NO_COLOR"] ?? "") !== "") return (_colour, text) => text;
  return (colour, text) => {
    const [on, off] = codes[colour];
    return `\u001B[${on}m${text}\u001B[${off}m`;
  };
}

const ofStatus: Readonly<Record<string, Colour>> = {
  Success: "green",
  Running: "blue",
  Failed: "red",
  TimeoutFailed: "red",
  Terminated: "yellow",
  Stopped: "yellow",
  Paused: "yellow",
  Canceled: "grey",
  Skipped: "grey",
  Pending: "grey",
  Ready: "grey",
};

export function statusColour(status: string): Colour {
  return ofStatus[status] ?? "bold";
}
