import { T } from "../state/strings";

export function Heads() {
  return <p class="lead">{T.comesLater}</p>;
}
