// The canvases of a drawing, and the scheduling of frames.
import { FittedText } from "./fitted_text";

export const RULER_HEIGHT = 26;

/** Draws on request, at most once per frame. */
export class Drawing {
  private image: ImageData | null = null;
  private waiting = false;
  readonly fitted = new FittedText();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly ruler: HTMLCanvasElement,
    private readonly scroller: HTMLElement,
    private readonly draw: (drawing: Drawing) => void,
  ) {}

  schedule = (): void => {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw(this);
    });
  };

  get width(): number {
    return this.scroller.clientWidth;
  }
  get height(): number {
    return this.scroller.clientHeight;
  }
  get scrollTop(): number {
    return this.scroller.scrollTop;
  }

  /** Returns both contexts, in CSS pixels, and an image with the pixels of the main canvas. */
  begin(): {
    context: CanvasRenderingContext2D;
    ruler: CanvasRenderingContext2D;
    image: ImageData;
    ratio: number;
  } | null {
    const ratio = devicePixelRatio;
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    const context = this.canvas.getContext("2d", { alpha: false });
    const ruler = this.ruler.getContext("2d", { alpha: false });
    if (context === null || ruler === null || width === 0 || height === 0) return null;
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.canvas.style.height = `${this.height}px`;
      this.ruler.width = width;
      this.ruler.height = Math.round(RULER_HEIGHT * ratio);
    }
    if (this.image?.width !== width || this.image.height !== height)
      this.image = context.createImageData(width, height);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    ruler.setTransform(ratio, 0, 0, ratio, 0, 0);
    return { context, ruler, image: this.image, ratio };
  }
}
