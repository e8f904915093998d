// Texts that fit their place.

/** Cuts texts to a width. Measures each character once, because measuring every text would cost more than the frame. */
export class FittedText {
  private readonly widths = new Map<string, number>();

  fit(context: CanvasRenderingContext2D, text: string, width: number): string {
    const dots = this.widthOf(context, "…");
    let used = 0;
    let kept = 0; // Characters that leave room for the ellipsis.
    for (let i = 0; i < text.length; ++i) {
      used += this.widthOf(context, text.charAt(i));
      if (used + dots <= width) kept = i + 1;
      if (used > width) return `${text.slice(0, kept)}…`;
    }
    return text;
  }

  private widthOf(context: CanvasRenderingContext2D, character: string): number {
    let width = this.widths.get(character);
    if (width === undefined) {
      width = context.measureText(character).width;
      this.widths.set(character, width);
    }
    return width;
  }
}
