/* Copying a text. A webview that does not count its page as secure has no clipboard of its own; there the page selects the
   text and asks the browser to copy the selection, as pages did before. */

export async function copyText(text: string): Promise<void> {
  if ("clipboard" in navigator) {
    await navigator.clipboard.writeText(text);
    return;
  }
  if (!copySelection(text)) throw new Error("This system did not let Rouse copy.");
}

function copySelection(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.readOnly = true;
  field.style.position = "fixed";
  field.style.opacity = "0";
  document.body.append(field);
  field.select();
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- it has no successor where `navigator.clipboard` is missing
  const copied = document.execCommand("copy");
  field.remove();
  return copied;
}
