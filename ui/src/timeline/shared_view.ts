// The time range that several drawings share. Kept outside the components, so that panning only redraws.
import { clamp, type Viewport } from "./viewport";

export class SharedView {
  private readonly listeners = new Set<() => void>();
  private current: Viewport;

  constructor(
    view: Viewport,
    private readonly lengthNs: number,
  ) {
    this.current = clamp(view, lengthNs);
  }

  get view(): Viewport {
    return this.current;
  }

  set(view: Viewport): void {
    this.current = clamp(view, this.lengthNs);
    for (const listener of this.listeners) listener();
  }

  /** Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
