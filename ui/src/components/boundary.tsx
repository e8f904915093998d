import { Component, type ComponentChildren } from "preact";

/** Shows the error of a view in its place; the rest of the page keeps working. */
export class Boundary extends Component<{ children: ComponentChildren }, { message: string | null }> {
  override state = { message: null };

  static override getDerivedStateFromError(error: unknown) {
    return { message: error instanceof Error ? error.message : String(error) };
  }

  override render() {
    if (this.state.message === null) return this.props.children;
    return (
      <p class="card error" role="alert">
        This view failed because of a bug in Headroom: {this.state.message}
      </p>
    );
  }
}
