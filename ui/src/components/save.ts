/** Lets the browser save a file. */
export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Lets the browser save a drawing as PNG, on the colour of a card. */
export function savePicture(name: string, drawing: HTMLCanvasElement): void {
  const copy = document.createElement("canvas");
  copy.width = drawing.width;
  copy.height = drawing.height;
  const context = copy.getContext("2d");
  if (context === null) return;
  drawing.style.backgroundColor = "var(--card)";
  context.fillStyle = getComputedStyle(drawing).backgroundColor;
  drawing.style.backgroundColor = "";
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(drawing, 0, 0);
  copy.toBlob((content) => content !== null && save(name, content), "image/png");
}
