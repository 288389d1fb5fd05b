import { T } from "../state/strings";

export function Proof() {
  return <p class="lead">{T.comesLater}</p>;
}
