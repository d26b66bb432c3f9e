import { flag, message, type Message, optional, optionalText, text } from "./message.ts";

/** `innerFailure` is nested up to the depth that the codec reads. */
export interface FailureDetails {
  errorType: string;
  errorMessage: string;
  stackTrace: string | undefined;
  innerFailure: FailureDetails | undefined;
  isNonRetriable: boolean;
}

export const failureDetails: Message<FailureDetails> = message<FailureDetails>({
  errorType: text(1),
  errorMessage: text(2),
  stackTrace: optionalText(3),
  innerFailure: optional<FailureDetails>(4, {
    decode: (bytes) => failureDetails.decode(bytes),
    encode: (value) => failureDetails.encode(value),
    readFrom: (reader) => failureDetails.readFrom(reader),
  }),
  isNonRetriable: flag(5),
});
