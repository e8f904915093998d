import { render } from "preact";
import { App } from "./app";
import "./style/tokens.css";
import "./style/base.css";

const root = document.getElementById("app");
if (root !== null) {
  // The link's token is now a cookie, so the address no longer needs it.
  const address = new URL(location.href);
  if (address.searchParams.has("token")) {
    address.searchParams.delete("token");
    history.replaceState(null, "", address);
  }
  render(<App />, root);
}
