import { styleText } from "node:util";

export type Colour = "red" | "green" | "yellow" | "blue" | "grey" | "bold";

/** Colours a text, if the stream is a terminal and the environment (NO_COLOR) does not forbid it. */
export type Colours = (colour: Colour, text: string) => string;

export function coloursFor(stream: NodeJS.WriteStream): Colours {
  return (colour, text) => styleText(colour, text, { stream });
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
