import type { ReactNode } from "react";
import "../styles/schema.css";

interface FormRowProps {
  /** Of the control. */
  readonly id: string;
  readonly label: ReactNode;
  readonly hint?: string | undefined;
  readonly problem?: string | undefined;
  readonly children: ReactNode;
}

/** A control with its label, and what is wrong with it next to it. */
export function FormRow({ id, label, hint, problem, children }: FormRowProps) {
  return (
    <div className="schema-row">
      <label htmlFor={id}>{label}</label>
      {children}
      {hint !== undefined && <p className="quiet small">{hint}</p>}
      {problem !== undefined && (
        <p className="schema-problem" id={`${id}-problem`} role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
