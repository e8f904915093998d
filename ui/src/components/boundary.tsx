import { Component, type ComponentChildren } from "preact";

/** What a view threw, in its place: the rest of the page goes on. */
export class Boundary extends Component<{ children: ComponentChildren }, { message: string | null }> {
  override state = { message: null };

  static override getDerivedStateFromError(error: unknown) {
    return { message: error instanceof Error ? error.message : String(error) };
  }

  override render() {
    if (this.state.message === null) return this.props.children;
    return (
      <p class="card error" role="alert">
        This view failed, which is a fault of Headroom: {this.state.message}
      </p>
    );
  }
}
