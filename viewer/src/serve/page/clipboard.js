// The clipboard.

/** Copies a text to the clipboard. */
export async function copyText(text) {
  // Browsers offer the clipboard only to pages from this machine or over HTTPS.
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = Object.assign(document.createElement("textarea"), { value: text });
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (!isCopied) throw new Error("the browser does not allow it");
}
