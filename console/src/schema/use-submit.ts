import { useState } from "react";
import type { InputForm } from "./input-editor.tsx";

interface Submit {
  readonly submit: () => void;
  readonly error: unknown;
  readonly isBusy: boolean;
}

/** Sends the input of a form once it has no problem. A refusal of the server is shown beside its fields, and as a whole. */
export function useSubmit(form: InputForm, send: (value: unknown) => Promise<void>): Submit {
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const submit = (): void => {
    const taken = form.take();
    if (taken === undefined) return;
    setBusy(true);
    setError(undefined);
    send(taken.value)
      .catch((problem: unknown) => {
        form.refuse(problem);
        setError(problem);
      })
      .finally(() => setBusy(false));
  };
  return { submit, error, isBusy };
}
