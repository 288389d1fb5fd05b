import { T } from "../state/strings";

export function Pieces() {
  return <p class="lead">{T.comesLater}</p>;
}
