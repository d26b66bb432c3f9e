/** Moves the focus from the frame of an opened dialog to the first field in it. */
export function focusFirst(isOpen: boolean): void {
  if (isOpen) document.querySelector<HTMLElement>(".ant-modal-body :is(input, textarea):not([type=radio])")?.focus();
}
