/** The nonce of this response; the server's policy allows style elements that carry it. */
export const styleNonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";

type Create = (tag: string, options?: ElementCreationOptions) => HTMLElement;

/**
 * Gives the nonce to every style element that a script creates. Ant Design passes it on for most of its styles, but not for
 * the one that keeps the page from scrolling behind a dialog. Style elements in markup have none, and stay forbidden.
 */
export function allowOwnStyles(): void {
  const create: Create = document.createElement.bind(document);
  const createWithNonce: Create = (tag, options) => {
    const element = create(tag, options);
    if (tag.toLowerCase() === "style") element.nonce = styleNonce;
    return element;
  };
  document.createElement = createWithNonce;
}
