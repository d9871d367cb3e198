/* Copies text. Falls back to a selection where `navigator.clipboard` is missing, as in insecure webviews. */

export async function copyText(text: string): Promise<void> {
  if ("clipboard" in navigator) {
    await navigator.clipboard.writeText(text);
    return;
  }
  if (!copySelection(text)) throw new Error("The system blocked copying.");
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
