import { render } from "preact";

function Page() {
  return <p>…</p>;
}

const root = document.getElementById("page");
if (root) render(<Page />, root);
